"""Segments: a text cut into what stays, what is swapped and what is long, so that the page only has to draw it.

Guarantee: the old sides of the segments, joined, are the original text with hidden characters made visible; the new
sides are the same text with the new words in place of the swapped ones.

| segment | JSON | shown as |
|---|---|---|
| Plain | "…" | text |
| Fold | {"fold": "…", "words": 80} | a long passage without swaps, closed until opened |
| Swap | [old, new] | old word struck out, new word marked |
| Fragile | [word] | a word whose swap flips the label on its own |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lexproof.report.visible import visible
from lexproof.text import Text

_FOLD_ABOVE = 600  # characters without a swap that are still shown whole
_FOLD_KEEPS = 140  # characters kept on either side of a fold


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of a text: `kind` is plain, fold, swap or fragile; old and new differ only in a swap."""

    kind: str
    old: str
    new: str

    @property
    def words(self) -> int:
        """Number of words, as white space separates them."""
        return len(self.old.split())

    def to_json(self) -> Any:
        """The compact form of the table above."""
        if self.kind == "plain":
            return self.old
        if self.kind == "fold":
            return {"fold": self.old, "words": self.words}
        return [self.old, self.new] if self.kind == "swap" else [self.old]


def after_swaps(segments: Iterable[Segment]) -> str:
    """The text after the swaps."""
    return "".join(segment.new for segment in segments)


def segments(
    surface: str, changed: Sequence[Mapping[str, Any]], fragile: Sequence[Mapping[str, Any]]
) -> tuple[Segment, ...]:
    """Cut a text at its swapped and fragile words.

    Swaps that do not fit the words of the text (another way of splitting made them) are left to the evidence: then no
    word is marked rather than a wrong one.
    """
    if not changed and not fragile:
        return _plain(surface)
    text = Text.parse(surface)
    swaps = _fitting(text, changed)
    alone = _fitting(text, fragile)
    cut: list[Segment] = []
    run, before = text.gaps[0], ""
    for i, (word, gap) in enumerate(zip(text.words, text.gaps[1:], strict=True)):
        if i in swaps or i in alone:
            cut += _plain(run, before)
            cut.append(_marked(word, swaps.get(i)))
            run, before = gap, word[-1]
        else:
            run += word + gap
    return (*cut, *_plain(run, before))


def _fitting(text: Text, changes: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    for change in changes:
        if not 0 <= change["position"] < len(text) or text.words[change["position"]] != change["old"]:
            return {}
    return {change["position"]: change["new"] for change in changes}


def _marked(word: str, new: str | None) -> Segment:
    if new is None:
        return Segment("fragile", visible(word), visible(word))
    return Segment("swap", visible(word), visible(new))


def _plain(run: str, before: str = "") -> tuple[Segment, ...]:
    shown = visible(run, before)
    if not shown:
        return ()
    if len(shown) <= _FOLD_ABOVE:
        return (Segment("plain", shown, shown),)
    start = shown.find(" ", _FOLD_KEEPS) + 1
    end = shown.rfind(" ", 0, len(shown) - _FOLD_KEEPS)
    if not 0 < start < end:
        return (Segment("plain", shown, shown),)
    head, middle, tail = shown[:start], shown[start:end], shown[end:]
    return Segment("plain", head, head), Segment("fold", middle, middle), Segment("plain", tail, tail)
