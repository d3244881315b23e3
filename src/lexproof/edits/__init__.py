"""Edits: replace, insert and merge words by a masked language model, as CLARE does.  Outside of the swap space.

    answer = lexproof.edit(victim, "a charming and often affecting journey", label=1, masked_lm="models/mlm")

A text with a word more or less is in no Omega_r(x), so what is found here says nothing about R, the fewest swaps that
fool a victim: neither a lower nor an upper bound.  That nothing is found proves nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from lexproof.answers import Answer, Unknown
from lexproof.candidates.guesses import Guesser
from lexproof.edits.actions import KINDS, Actions, Draft, Edit, Kind
from lexproof.edits.driver import Running, run
from lexproof.edits.search import hunt
from lexproof.edits.similar import Similar
from lexproof.errors import EvidenceError, InputError
from lexproof.goal import Goal
from lexproof.text import Input, Text
from lexproof.victims.base import Victim

__all__ = ["KINDS", "Actions", "Answered", "Edit", "Edited", "Editor", "Item", "Kind", "Similar", "edit", "edit_all"]

SPACE = "edits"
"""What records say instead of a space of swaps."""

_SHARE = 0.25  # of the words may be edited, where nothing else is said


@dataclass(frozen=True, slots=True, kw_only=True)
class Edited(Answer):
    """Edits fool the victim: `witness` is the text with all of them made, scored afresh.

    It lies outside of the space of swaps and bounds nothing about R, the fewest swaps.  No edits: the text is
    misclassified as it stands.
    """

    kind: ClassVar[str] = "edited"
    witness: str
    edits: tuple[Edit, ...]
    witness_predicted: int

    @property
    def predicted(self) -> int:
        """What the victim reads the witness as."""
        return self.witness_predicted

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {**Answer.to_json(self), "space": SPACE}


@dataclass(frozen=True, slots=True)
class Editor:
    """The attack: a masked language model, which edits are tried, and how many are made.

    `max_edits` None: a quarter of the words, at least one.  `similar` None: no condition of similarity.
    """

    guesser: Guesser
    actions: Actions = field(default=Actions())
    max_edits: int | None = None
    similar: Similar | None = None
    max_queries: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_edits", "max_queries"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise InputError(f"expected {name} >= 0, got {value}")

    def start(self, item: Item, goal: Goal) -> Running:
        """The search about one text."""
        draft = Draft(item.text)
        most = max(1, int(_SHARE * len(item.text))) if self.max_edits is None else self.max_edits
        search = hunt(draft, goal, lambda: self.actions(draft, self.guesser), most, self.similar)
        return Running(item.key, draft, goal, search, self.max_queries, self.similar)


@dataclass(frozen=True, slots=True)
class Item:
    """A text to ask about; without a label, about leaving what the victim predicts."""

    key: int
    text: Text
    label: int | None = None
    target: int | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer about an item, or the error that kept it from being answered; `predicted` is of the text as it is."""

    key: int
    label: int | None
    predicted: int | None
    answer: Edited | Unknown | None
    error: InputError | None = None


def edit(
    victim: Victim,
    text: Text | Input,
    label: int | None = None,
    *,
    masked_lm: str | Path | Guesser,
    target: int | None = None,
    actions: Actions | None = None,
    max_edits: int | None = None,
    similar: Similar | None = None,
    max_queries: int | None = None,
) -> Edited | Unknown:
    """Replacements, insertions and merges that fool the victim, or Unknown.  They bound nothing about R.

    `masked_lm`: a Hugging Face folder or name.  `label` defaults to the victim's own prediction.  `max_edits` defaults
    to a quarter of the words.  Nothing is drawn at random: there is no seed.
    """
    editor = Editor(as_guesser(masked_lm), actions or Actions(), max_edits, similar, max_queries)
    answered = next(edit_all(editor, victim, [Item(0, as_text(text), label, target)]))
    if answered.error is not None:
        raise answered.error
    assert answered.answer is not None
    return answered.answer


def edit_all(editor: Editor, victim: Victim, items: Iterable[Item]) -> Iterator[Answered]:
    """Answers about many texts, as they are finished; `key` tells whose."""
    unread: list[Answered] = []

    def searches() -> Iterator[Running]:
        for item in items:
            try:
                yield editor.start(item, _goal(victim, item))
            except InputError as error:  # this text's trouble, not that of the others
                unread.append(Answered(item.key, item.label, None, None, error))

    for ended in run(victim, searches()):
        yield from unread
        unread.clear()
        answer = None if ended.error else _answer(victim, ended)
        yield Answered(ended.key, ended.goal.label, ended.predicted, answer, ended.error)
    yield from unread


def as_guesser(model: str | Path | Guesser) -> Guesser:
    """The masked language model of a folder or name, or the one given."""
    return model if isinstance(model, Guesser) else Guesser(model)


def as_text(given: Text | Input) -> Text:
    """A text, string or pair as a text."""
    if isinstance(given, Text):
        return given
    return Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])


def _goal(victim: Victim, item: Item) -> Goal:
    label = int(victim.predict([item.text.input])[0]) if item.label is None else item.label
    goal = Goal(label, item.target, victim.rounding)
    goal.check(victim.classes)
    return goal


def _answer(victim: Victim, ended: Running) -> Edited | Unknown:
    """What was claimed, checked on the text itself."""
    if ended.claim is None:
        return Unknown(reason=ended.stopped or "no edits found that fool the victim", cost=ended.cost)
    edits = tuple(sorted(ended.claim, key=lambda one: one.start))
    witness = ended.draft.write(edits)
    scores = victim.scores([ended.draft.input(edits)])
    if ended.goal.strict.reached(scores)[0]:
        return Edited(witness=witness, edits=edits, witness_predicted=int(scores[0].argmax()), cost=ended.cost)
    if ended.goal.margin(scores)[0] <= ended.goal.slack:
        return Unknown(reason="the flip found is a tie within rounding", cost=ended.cost)
    raise EvidenceError(f"a claimed witness does not fool the victim: {witness!r} has scores {scores[0].tolist()}")
