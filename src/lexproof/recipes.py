"""Recipes: a published attack as a whole, its search with the candidates and constraints it was published with.

    recipe("textfooler", "paper")      .attack .candidates .constraints .space(text) .describe()

`paper` is what the paper says, `code` what its released code does, `benchmark` the frame that the Defender paper gives
every attack (its constraints, and 50 counter-fitted neighbors a word; typos, masked language models and lists of words
keep their own substitutes).  Settings of the search are the attack's own variants; here are its substitutes and limits.

Everything runs offline on the embedded lexicon, with these deviations, which `describe` repeats where they apply: the
lexicon has fewer neighbors than K = 50 (`neighbors=FILE` takes vectors of your own), WordNet stands in for HowNet
unless `sememes=FILE` is given, and no recipe offers antonyms, which some of the published ones do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import pi
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lexproof import registry
from lexproof.attacks.base import Attack
from lexproof.attacks.specs import make, variants
from lexproof.candidates.similarity import Encoder, SentenceEncoder
from lexproof.candidates.specs import from_spec
from lexproof.constraints import PRESETS, Constraints, preset
from lexproof.errors import InputError, UnknownName
from lexproof.space import Candidates, Space
from lexproof.text import Text

VARIANTS = ("paper", "code", "benchmark")


@dataclass(frozen=True, slots=True)
class Row:
    """Substitutes as a line of `from_spec` in which files are still to be filled in, and limits."""

    candidates: str
    constraints: Constraints = field(default=Constraints())
    left_out: str = ""  # of what was published


_FILTERS = "filters=stop-words,no-antonyms"
_SAME_PART = "filters=stop-words,same-part-of-speech,no-antonyms"
_TYPOS = "typos?kinds=swap,substitute,delete,insert&filters=stop-words,no-antonyms"
_BUGS = "typos?kinds=split,delete,swap,homoglyph&per_word=4&filters=stop-words,no-antonyms"
_BENCHMARK = PRESETS["agnews"]
_NEAREST = Row("neighbors?k=50&floor=0", _BENCHMARK)


def _angle(most: float, short: float | None = None) -> Constraints:
    """At most such an angle between 15 words around each swap and what stood there; another for shorter texts."""
    short_floor = None if short is None else 1 - short / pi
    return Constraints(floor=1 - most / pi, measure="angular", window=15, short_floor=short_floor)


TABLE: Mapping[str, Mapping[str, Row]] = MappingProxyType({
    "textfooler": {
        "paper": Row("neighbors?k=50&floor=0.7", Constraints(floor=0.84)),
        "code": Row("neighbors?k=50&floor=0.5", _angle(0.5, short=0.9)),
        "benchmark": _NEAREST,
    },
    "pwws": {
        "paper": Row(f"wordnet?k=100&{_FILTERS}", left_out="named entities are not replaced"),
        "benchmark": _NEAREST,
    },
    "textbugger": {
        "paper": Row(f"{_BUGS} | neighbors?k=5&floor=0", Constraints(floor=0.8)),
        "benchmark": _NEAREST,
    },
    "deepwordbug": {
        "paper": Row(f"{_TYPOS}&per_word=4", Constraints(max_swaps=30)),
        "benchmark": Row(f"{_TYPOS}&per_word=50", _BENCHMARK),
    },
    "bert-attack": {
        "paper": Row(f"masked-lm?masked=0&k=48&{_FILTERS}", Constraints(max_share=0.4), "words made of word pieces"),
        "benchmark": Row(f"masked-lm?masked=0&k=50&{_FILTERS}", _BENCHMARK, "words made of word pieces"),
    },
    "bae": {
        "paper": Row(f"masked-lm?masked=1&k=50&{_SAME_PART}", Constraints(floor=0.8, window=15), "insertions"),
        "code": Row(f"masked-lm?masked=1&k=50&{_SAME_PART}", _angle(0.2), "insertions"),
        "benchmark": Row(f"masked-lm?masked=1&k=50&{_SAME_PART}", _BENCHMARK, "insertions"),
    },
    "clare": {
        "paper": Row(f"masked-lm?masked=1&k=50&{_FILTERS}", Constraints(floor=0.7, window=15),
                     "insertions, merges and the least probability of a substitute"),
        "benchmark": Row(f"masked-lm?masked=1&k=50&{_FILTERS}", _BENCHMARK, "insertions and merges"),
    },
    "a2t": {
        "paper": Row("neighbors?k=20&floor=0.8", Constraints(max_share=0.1, least_swaps=4, floor=0.9)),
        "benchmark": _NEAREST,
    },
    "genetic": {  # a squared distance of unit vectors below 0.5 is a cosine above 0.75
        "paper": Row("neighbors?k=8&floor=0.75", Constraints(max_share=0.2), "the language model's choice of 4"),
        "code": Row("neighbors?k=8&floor=0.75", Constraints(max_share=0.4), "the language model's choice of 4"),
        "benchmark": _NEAREST,
    },
    "sempso": {"paper": Row("sememes?k=50"), "benchmark": _NEAREST},
    "pdp": {"paper": Row("sememes?k=5", Constraints(max_share=0.25)), "benchmark": _NEAREST},
    "sp-attack": {
        "paper": Row("vocabulary", Constraints(max_candidates=50, max_swaps=1)),
        "benchmark": Row("vocabulary", _BENCHMARK),
    },
})  # fmt: skip
"""Attack, variant: what belongs to it besides the search."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """An attack with the substitutes and limits it is to be used with."""

    name: str
    variant: str
    attack: Attack
    candidates: Candidates
    constraints: Constraints
    spec: str  # of the candidates
    encoder: Encoder | None = None
    remarks: tuple[str, ...] = ()

    def space(self, text: Text | str) -> Space:
        """The space around a text."""
        return self.constraints.space(text, self.candidates, self.encoder)

    def max_queries(self, space: Space) -> int | None:
        """The budget of model inputs for a text."""
        return self.constraints.max_queries(space)

    def describe(self) -> str:
        """What is used, and how it differs from what was published; a line each."""
        limits = "; ".join(self.constraints.describe()) or "none"
        lines = [f"{self.name} ({self.variant})", f"search: {self.attack}", f"candidates: {self.spec}"]
        return "\n".join([*lines, f"limits: {limits}", *(f"note: {remark}" for remark in self.remarks)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What the recipes' substitutes come from, where it is not embedded."""

    masked_lm: str | Path | None = None
    neighbors: str | Path | None = None
    sememes: str | Path | None = None
    words: str | Path | None = None


def recipe(
    name: str,
    variant: str = "paper",
    *,
    candidates: str | None = None,
    masked_lm: str | Path | None = None,
    neighbors: str | Path | None = None,
    sememes: str | Path | None = None,
    words: str | Path | None = None,
    encoder: Encoder | str | Path | None = None,
    limits: str | None = None,
    **settings: Any,
) -> Recipe:
    """A published attack by name and variant; `settings` are the search's own and override those of the variant.

    `candidates`: a line of `candidates.from_spec` instead of the recipe's own.
    `masked_lm`: folder of a masked language model, which bert-attack, bae and clare need.
    `neighbors`, `sememes`: files to use instead of the embedded lexicon.
    `words`: file of the words that sp-attack puts into texts, one a line, the most dangerous first.
    `encoder`: a sentence encoder or its folder instead of MiniLM.
    `limits`: a preset of constraints that goes before those of the recipe, such as `imdb`.
    """
    files = Files(masked_lm=masked_lm, neighbors=neighbors, sememes=sememes, words=words)
    plan = plan_of(name, variant, files, candidates)
    made: Encoder | None = SentenceEncoder(encoder) if isinstance(encoder, str | Path) else encoder
    constraints = plan.constraints if limits is None else plan.constraints.updated(preset(limits))
    attack = make(name, plan.search, **settings)
    return Recipe(name, variant, attack, from_spec(plan.candidates), constraints, plan.candidates, made, plan.remarks)


@dataclass(frozen=True, slots=True)
class Plan:
    """A recipe in words: the search's variant, the line of candidates, the limits, and what is to be said of them."""

    search: str | None
    candidates: str
    constraints: Constraints
    remarks: tuple[str, ...]


def plan_of(name: str, variant: str, files: Files, candidates: str | None = None) -> Plan:
    """What a recipe consists of; where the released code agrees with the paper, they share a row of the table.

    A line of candidates that is given goes before the recipe's own.
    """
    if name not in TABLE:
        raise UnknownName("recipe", name, TABLE)
    if variant not in VARIANTS:
        raise UnknownName(f"variant of recipe {name}", variant, VARIANTS)
    rows = TABLE[name]
    row = rows.get(variant, rows["paper"])
    remarks = [] if variant in rows else [f"{variant}: substitutes and limits as in the paper"]
    if row.left_out:
        remarks.append(f"left out: {row.left_out}")
    if candidates is None:
        candidates = fill(row.candidates, files, name)
        remarks += _shortcomings(row.candidates, candidates)
    return Plan(search_variant(name, variant), candidates, row.constraints, tuple(remarks))


def search_variant(name: str, variant: str) -> str | None:
    """The search's variant of this name, or the paper's where it makes no difference to the search."""
    known = variants(registry.get("attacks", name))
    return next((choice for choice in (variant, "paper") if choice in known), None)


def fill(template: str, files: Files, name: str) -> str:
    """The line of candidates with the files in place, or what is embedded instead of them."""
    return " | ".join(_filled(part, files, name) for part in template.split(" | "))


def _filled(part: str, files: Files, name: str) -> str:
    kind, _, query = part.partition("?")
    if kind == "masked-lm":
        if files.masked_lm is None:
            raise InputError(
                f"expected a masked language model for {name}, got none; "
                "give --masked-lm FOLDER (masked_lm= in Python), "
                "any from Hugging Face or one that scripts/train_masked_lm.py trained"
            )
        return f"masked-lm:{files.masked_lm}?{query}"
    if kind == "vocabulary":
        if files.words is None:
            raise InputError(
                f"expected a list of words for {name}, got none; give --words FILE (words= in Python), "
                "one word a line, the most dangerous first, as `lexproof words` finds them"
            )
        return f"vocabulary:{files.words}"
    if kind == "neighbors":
        return f"default?{query}" if files.neighbors is None else f"neighbors:{files.neighbors}?{query}&{_SAME_PART}"
    if kind == "sememes":
        return f"wordnet?{query}" if files.sememes is None else f"sememes:{files.sememes}?{query}"
    return part


def _shortcomings(template: str, spec: str) -> list[str]:
    """What the embedded lexicon cannot give."""
    remarks = []
    if "neighbors?k=50" in template and "default?" in spec:
        remarks.append(
            "the embedded lexicon has about 7 neighbors of a word, seldom 50; candidates neighbors:FILE take more"
        )
    if "sememes?" in template and "wordnet?" in spec:
        remarks.append("WordNet stands in for HowNet; candidates sememes:FILE take sememes")
    return remarks
