"""CLARE's search over edits: all single edits are scored, the best at each word is made, in order of score.

    drop(e) = progress of the text with e alone - progress of the text as it is
    plan    = the edit with the largest drop at each word, those with a drop > 0, largest first
    text_t  = the original with the first t edits of the plan that do not overlap, t = 1, 2, …, until it flips

Then edits that the flip does not need are taken back.  Edits come from the original text, once; they are not guessed
again after each step.

Reference: Li et al. 2021, Contextualized Perturbation for Textual Adversarial Attack (CLARE).  Deviations: an edit that
brings nothing by itself is not made, a single edit that flips is taken even where another has a larger drop, and
similarity is checked on each edit alone, from the best down, not on all.

A search is a generator as in `lexproof.search`; its points are tuples of edits.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence

import numpy as np

from lexproof.edits.actions import Draft, Edit
from lexproof.edits.similar import Similar
from lexproof.goal import Goal
from lexproof.points import FloatArray

Edits = tuple[Edit, ...]
Hunt = Generator[Sequence[Edits], FloatArray, Edits | None]


def hunt(
    draft: Draft, goal: Goal, edits: Callable[[], Iterable[Edit]], max_edits: int, similar: Similar | None
) -> Hunt:
    """Edits, at most `max_edits`, that reach the goal, each of them needed; None if there are none on this way.

    `edits` are made only if the text does not reach the goal as it stands.
    """
    start = yield [()]
    if goal.reached(start)[0]:
        return ()
    tried = list(edits()) if max_edits else []
    if not tried:
        return None
    scores = yield [(edit,) for edit in tried]
    progress = goal.progress(scores)
    reached = goal.reached(scores)
    flips = _similar(draft, tried, _ranked(np.flatnonzero(reached), progress), similar)
    if flips is not None:
        return (tried[flips],)
    chosen: Edits = ()
    for edit in _plan(draft, tried, progress, goal.progress(start)[0], similar):
        if {at for other in chosen for at in other.words}.isdisjoint(edit.words):
            chosen = (*chosen, edit)
            scores = yield [chosen]
            if goal.reached(scores)[0]:
                return (yield from take_back(goal, chosen))
            if len(chosen) == max_edits:
                break
    return None


def take_back(goal: Goal, edits: Edits) -> Generator[Sequence[Edits], FloatArray, Edits]:
    """Undo edits one at a time, the least needed first, while the text stays a flip; each one left is needed."""
    while len(edits) > 1:
        fewer = [edits[:at] + edits[at + 1 :] for at in range(len(edits))]
        scores = yield fewer
        rows = np.flatnonzero(goal.reached(scores))
        if not len(rows):
            break
        edits = fewer[int(_ranked(rows, goal.progress(scores))[0])]
    return edits


def _ranked(rows: np.ndarray[tuple[int], np.dtype[np.intp]], progress: FloatArray) -> Sequence[int]:
    """Rows by progress, the largest first, the earliest among equals."""
    order: list[int] = rows[np.argsort(-progress[rows], kind="stable")].tolist()
    return order


def _similar(draft: Draft, tried: Sequence[Edit], order: Sequence[int], similar: Similar | None) -> int | None:
    """The first of these rows whose edit leaves the text similar."""
    if similar is None:
        return order[0] if order else None
    return next((row for row in order if similar(draft, [tried[row]])[0]), None)


def _plan(
    draft: Draft, tried: Sequence[Edit], progress: FloatArray, start: float, similar: Similar | None
) -> list[Edit]:
    """The best edit at each word that brings something and leaves the text similar; the best word first."""
    queues: dict[int, list[int]] = {}
    for row in _ranked(np.flatnonzero(progress > start), progress):
        queues.setdefault(tried[row].position, []).append(row)
    best: list[int] = []
    while queues:  # the similarity of one edit a word at a time, in one call
        front = {at: queue.pop(0) for at, queue in queues.items()}
        asked = [tried[row] for row in front.values()]
        passed = [True] * len(asked) if similar is None else similar(draft, asked)
        done = {at for at, is_similar in zip(front, passed, strict=True) if is_similar}
        best += [front[at] for at in front if at in done]
        queues = {at: queue for at, queue in queues.items() if queue and at not in done}
    return [tried[row] for row in _ranked(np.array(best, np.intp), progress)]
