"""Enumeration for recurrent networks: texts that begin alike share their states.

Guarantee: as `enumeration.sweep_stratum`, but for swaps that change no token.  These are left out: to the network such
a text is one with fewer swaps.  So those must have been scored before, and nothing but tokens may tell texts apart.
"""

from __future__ import annotations

import numpy as np
import torch

from lexproof.certify.enumeration import Sweep, judge
from lexproof.errors import NoRule
from lexproof.goal import Goal
from lexproof.points import Charge, IntArray
from lexproof.search import Search
from lexproof.space import Space
from lexproof.victims.lstm import BiLstm, Lstm
from lexproof.victims.lstm_tree import Candidates, has_keys, stratum_logits
from lexproof.victims.word_candidates import TokenCandidates, token_candidates

_FEWEST, _MOST, _MOST_STATES = 2_000, 2_000_000, 50_000


def shares_states(victim: object, space: Space, swaps: int, *, may_leave_out: bool) -> bool:
    """Whether the texts with so many swaps are worth enumerating as a tree, and its states fit into memory.

    `may_leave_out`: whether swaps that change no token may be left out; if not, there must be none.
    """
    if not isinstance(victim, Lstm | BiLstm) or swaps < 2 or space.stratum(swaps - 1) > _MOST_STATES:
        return False
    try:
        found = token_candidates(victim.bind(space))
    except NoRule:
        return False
    if not has_keys(len(found), swaps) or not (may_leave_out or len(found) == space.sizes.sum()):
        return False
    return _FEWEST <= space.stratum(swaps) <= _MOST


def sweep_tree(victim: Lstm | BiLstm, space: Space, goal: Goal, swaps: int) -> Search[Sweep]:
    """Score all texts with exactly so many swaps, up to the first part with a flip."""
    found = token_candidates(victim.bind(space))
    text = Candidates(*(torch.from_numpy(part) for part in (found.ids, found.at, found.token)))
    least, tied = float("inf"), False
    parts = stratum_logits(victim.net, text, swaps)  # type: ignore[arg-type]
    while True:
        with torch.inference_mode():
            part = next(parts, None)
        if part is None:
            return Sweep(least, None, tied)
        yield Charge(len(part.picks))
        scores = victim.probabilities(part.logits.numpy())
        margins = goal.margin(scores)
        near = margins <= goal.slack
        least = min(least, float(margins[~near].min(initial=np.inf)))
        if near.any():
            points = _points(found, part.picks.numpy()[near], space.n)
            sweep = yield from judge(space, goal, points, scores[near])
            least, tied = min(least, sweep.margin), tied or sweep.tied
            if sweep.flip is not None:
                return Sweep(least, sweep.flip, tied)


def _points(found: TokenCandidates, picks: np.ndarray[tuple[int, int], np.dtype[np.int64]], n: int) -> IntArray:
    points: IntArray = np.zeros((len(picks), n), np.int32)
    points[np.arange(len(picks))[:, None], found.word[picks]] = found.choice[picks]
    return points
