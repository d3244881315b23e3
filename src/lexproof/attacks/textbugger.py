"""TextBugger: the sentences that carry the label first, in each the words that carry it, each for its worst bug.

Black box (`rank="sentence"`): a sentence s has importance F(s), the label's score of the sentence standing alone; those
that alone have another label are left out.  Within a sentence word w has importance F(s) - F(s without w).  White box
(`rank="gradient"`): words by the gradient of the label's score.  `rank="word"`: words by F(x) - F(x without w) in the
whole text, as TextAttack and the Defender paper's benchmark do.  In that order each word is swapped for the bug that
lowers the label's score most, until the label flips.

Reference: Li, Ji, Du, Li, Wang 2019, TextBugger: Generating Adversarial Text Against Real-world Applications.
Deviations: the bugs are the space's substitutes, fixed beforehand (the paper draws a character at random as it goes); a
bug is kept only if it hurts; a text that is too dissimilar is passed over, where the paper gives up; the words of all
kept sentences are ranked in one request, where the paper ranks a sentence when it comes to it.  A sentence ends at
. ! ? … with what closes a quotation, or at an empty line; one standing alone is the text with all other words deleted,
so that punctuation between those stays.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from lexproof.attacks.base import Hunt
from lexproof.attacks.greedy import by_gradient, by_hiding, check_option, walk
from lexproof.goal import Goal
from lexproof.points import DELETED, IntArray, Swaps
from lexproof.search import Search, Seed
from lexproof.space import Space
from lexproof.text import Text

Rank = Literal["sentence", "word", "gradient"]

_END = re.compile(r"[.!?…][\"'”’»)\]]*\s|[。！？]|\n\s*\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBugger:
    """Greedy search over sentences, then words.

    `rank`: by `sentence` then word (paper, black box), by `word` alone, or by `gradient` (paper, white box).
    `discard`: leave out sentences that alone do not have the label (paper); otherwise they come last.
    """

    rank: Rank = "sentence"
    discard: bool = True
    needs_scores: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {},
        "code": {},
        "white-box": {"rank": "gradient"},
        "benchmark": {"rank": "word"},
    }

    def __post_init__(self) -> None:
        check_option("rank", self.rank, Rank)

    @property
    def needs_gradients(self) -> bool:
        """Only the white-box ranking asks for gradients."""
        return self.rank == "gradient"

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Hunt:
        """Deterministic: `seed` is not used."""
        del seed
        start = yield space.origin[None]
        if self.rank == "gradient":
            order = yield from by_gradient(space, goal)
        elif self.rank == "word":
            order = yield from by_hiding(space, goal, start, "deleted")
        else:
            order = yield from by_sentence(space, goal, discard=self.discard)
        return (yield from walk(space, goal, start, order, prefer="harmful"))


def by_sentence(space: Space, goal: Goal, *, discard: bool) -> Search[IntArray]:
    """Open positions by sentence, then by word: one query a sentence and one a word of those kept."""
    number = sentences(space.original)
    present, row = np.unique(number[space.open], return_inverse=True)  # sentences with something to swap
    alone = np.where(number[None] == present[:, None], 0, DELETED).astype(np.int32)
    scores = yield alone
    label_score = -goal.progress(scores)
    lost = goal.reached(scores)
    place = np.empty(len(present), np.int64)
    place[np.lexsort((-label_score, lost))] = np.arange(len(present))
    kept = ~lost[row] if discard else np.ones(len(row), np.bool_)
    own: IntArray = row[kept].astype(np.int32)
    positions = space.open[kept].astype(np.int32)
    scores = yield Swaps(alone, own, positions, np.full(len(own), DELETED, np.int32))
    drop = goal.progress(scores) + label_score[own]
    return positions[np.lexsort((-drop, place[own]))]


def sentences(text: Text) -> IntArray:
    """The number of the sentence that each word belongs to, counted from 0."""
    ends = [bool(_END.search(gap)) for gap in text.gaps[1:-1]]
    return np.cumsum([0, *ends], dtype=np.int32)[: len(text)]
