"""Saliency: what the methods of an explanation say of each word of a text, cut so that a page only has to draw it.

Guarantee: the texts of the pieces of a line, joined, are the text with hidden characters made visible.

Colors go from none to full as a word's saliency goes to the largest of the text; what full stands for is said beside
the line.  Orange: the word matters, in the sense of the method (its vector may move least, a swap of it or its absence
costs most, ...).  Purple: the word speaks against the label.  Underlined in blue: any replacement of the word is proven
safe.  Gray: the method says nothing of the word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from lexproof.report.embed import asset
from lexproof.report.evidence import label_name
from lexproof.report.numerals import at_least, percent, signed, small
from lexproof.report.visible import visible
from lexproof.text import Text

LEVELS = 8
"""Steps of each color."""

NAMES = {
    "radius": "safe radius",
    "swaps": "single swaps",
    "deletion": "deletion",
    "gradient": "gradient",
    "lime": "LIME",
}
"""How methods are called on a page."""

_OPEN_UP_TO = 60  # words of a text whose lines are shown at once, without a click


@dataclass(frozen=True, slots=True)
class Piece:
    """A gap (no `kind`) or a word: `kind` is its color as a class of the style sheet, `tip` what is known of it."""

    text: str
    kind: str = ""
    tip: str = ""

    def to_json(self) -> Any:
        """A gap as a string, a word as a list."""
        return [self.text, self.kind, self.tip] if self.kind else self.text


@dataclass(frozen=True, slots=True)
class Line:
    """The text as one method sees it; without pieces if it says nothing, then `legend` is the reason."""

    method: str
    pieces: tuple[Piece, ...]
    legend: str

    @property
    def name(self) -> str:
        """The method as it is called on a page."""
        return NAMES.get(self.method, visible(self.method))

    def to_json(self) -> list[Any]:
        """What the script needs."""
        return [self.name, self.legend, [piece.to_json() for piece in self.pieces]]


def score_shown(value: float) -> str:
    """A score to three digits; a probability is not rounded to certainty."""
    if 0 < value < 1:
        return "<0.001" if value < 0.0005 else ">0.999" if value >= 0.9995 else f"{value:.3f}"
    return f"{value:z.3f}"


def change(value: float | None) -> str:
    """A change with its sign; a zero has none of its own."""
    return signed(value if value is None else value + 0.0)


def agreed(own: Mapping[str, Any]) -> str:
    """How far two methods agree on a text, or why that cannot be said."""
    names = both_names(own["first"], own["second"])
    if own["spearman"] is None:
        return f"{names}: {'too few words to compare' if own['n'] < 2 else 'one of them tells no words apart'}"
    return f"{names}: Spearman {own['spearman']:+z.2f}, Kendall {own['kendall']:+z.2f} over {own['n']} words"


def both_names(first: str, second: str) -> str:
    """Two methods as they are called on a page."""
    return " and ".join(NAMES.get(name, visible(name)) for name in (first, second))


def saliency_css(records: Iterable[Mapping[str, Any]]) -> Markup:
    """The style of colored words, empty if no record has an explanation."""
    return asset("saliency.css") if any(record.get("explanation") for record in records) else Markup("")


def is_short(surface: str) -> bool:
    """Whether a text is short enough for its lines to be shown at once."""
    return len(surface.split()) <= _OPEN_UP_TO


def lines(surface: str, explanation: Mapping[str, Any] | None, labels: Sequence[str]) -> tuple[Line, ...]:
    """The lines of a text, one a method; none if there is no explanation.  `labels` are the names of all labels."""
    if not explanation:
        return ()
    words = list(explanation.get("words") or ())
    text = Text.parse(surface)
    if list(text.words) != words:  # split in another way: gaps are not known
        text = Text.from_words(words)
    label, norm = label_name(labels, explanation.get("label")), explanation.get("norm")
    return tuple(_line(text, name, method, label, norm) for name, method in explanation["methods"].items())


def shares(method: str, values: Sequence[float | None]) -> list[float | None]:
    """How strong the color of each word is, in [-1, 1]; negative where a word speaks against the label.

    The largest saliency of the text has full color.  A word all of whose substitutes raise the label's score has no
    drop, 0: that does not speak against it.  Radii of a text often differ little: their colors begin at the largest
    one, not at an infinite one.
    """
    if method == "radius":
        least = min((value for value in values if value), default=0.0)
        return [value and (1.0 if least == 1 else (value - least) / (1 - least)) for value in values]
    shown = [max(0.0, value) if value is not None and method == "swaps" else value for value in values]
    largest = max((abs(value) for value in shown if value is not None), default=0.0)
    return [value if value is None or not largest else value / largest for value in shown]


def _line(text: Text, name: str, method: Mapping[str, Any], label: str, norm: float | str | None) -> Line:
    if method.get("saliency") is None:
        return Line(name, (), visible(method.get("reason") or "no answer"))
    pieces, before = [Piece(visible(text.gaps[0]))], text.gaps[0][-1:]
    shown = shares(name, method["saliency"])
    for i, (word, gap) in enumerate(zip(text.words, text.gaps[1:], strict=True)):
        kind = _kind(shown[i], _at(method, "any_replacement", i))
        pieces.append(Piece(visible(word, before), kind, tip(name, method, i)))
        pieces.append(Piece(visible(gap, word[-1:])))
        before = (gap or word)[-1:]
    return Line(name, tuple(piece for piece in pieces if piece.text), legend(name, method, label, norm))


def _kind(share: float | None, is_safe: bool | None) -> str:
    if share is None:
        return "lex-none"
    if is_safe:
        return "lex-safe"
    level = round(LEVELS * abs(share))
    return f"lex-{'n' if share < 0 and level else 'p'}{level}"


def tip(name: str, method: Mapping[str, Any], i: int) -> str:
    """What a method knows of word i, in a few words."""
    value = method["saliency"][i]
    if value is None:
        return "no substitutes" if name == "swaps" else "not known"
    if name == "radius":
        if _at(method, "any_replacement", i):
            return "any replacement is safe"
        lower, diameter = method["lower"][i], method["diameter"][i]
        return f"safe within {at_least(lower)}, {percent(lower / diameter)} of the diameter"
    if name == "swaps":
        flips = ", flips" if _at(method, "flips", i) else ""
        return f"→ {visible(method['substitute'][i])}: {change(-value)}{flips}"
    return change(value)


def _at(method: Mapping[str, Any], column: str, i: int) -> Any:
    """Entry i of a column, None if the method has no such column."""
    found: Sequence[Any] | None = method.get(column)
    return None if found is None else found[i]


def legend(name: str, method: Mapping[str, Any], label: str, norm: float | str | None) -> str:
    """What full color stands for."""
    known = [value for value in method["saliency"] if value is not None]
    if name == "radius":
        return _radius_legend(method, norm)
    if not known:
        return "no word can be swapped" if name == "swaps" else "no words"
    if name != "swaps" and not any(known):
        return "0 for every word"
    most, size = max(known), small(max(map(abs, known)))
    if name == "lime":
        return f"full color: weight ±{size}; orange speaks for {label}, purple against it"
    if name == "deletion":
        return f"full color: the score of {label} changes by {size}; orange falls, purple rises"
    if name == "gradient":
        return f"full color: norm {size}"
    return (
        f"full color: the score of {label} falls by {small(most)}"
        if most > 0
        else f"nothing lowers the score of {label}"
    )


def _radius_legend(method: Mapping[str, Any], norm: float | str | None) -> str:
    safe = list(method.get("any_replacement") or ())
    radii = [lower for lower, is_safe in zip(method.get("lower") or (), safe, strict=True) if not is_safe]
    underlined = "underlined: any replacement is safe"
    if not radii:
        return underlined if safe else "no words"
    least, most = at_least(min(radii)), at_least(max(radii))
    other = "" if least == most else f", no color: within {most}"
    ends = f"full color: safe within {least} only{other} (L{float(norm or 2):g})"
    return f"{ends}; {underlined}" if any(safe) else ends
