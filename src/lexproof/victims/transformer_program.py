"""Transformers as programs for the bound engine: every swap must change one word piece for one other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from lexproof.bounds.program import Program
from lexproof.errors import NoRule, require
from lexproof.points import IntArray
from lexproof.space import Space
from lexproof.victims.transformer_bind import UnitBound, units
from lexproof.victims.transformer_encoding import Row
from lexproof.victims.transformer_graph import transformer_graph
from lexproof.victims.transformer_guard import check_logits
from lexproof.victims.word_candidates import TokenCandidates
from lexproof.victims.word_slots import region_of, slots_of

if TYPE_CHECKING:
    import torch

    from lexproof.victims.transformer import Transformer
else:
    torch = require("torch", "transformers", "a transformer victim")

_MOST_TOGETHER = 4_096  # ways to write words that run together, all of which are looked at


def transformer_program(victim: Transformer, space: Space) -> Program:
    """The program of one text; NoRule if a substitute is not one piece for one piece, or an operation has no rule."""
    candidates, types = _candidates(victim, space)
    graph, features = transformer_graph(victim.model, len(candidates.ids))
    slots = slots_of([candidates])
    kinds = torch.tensor(types)
    ids = torch.from_numpy(candidates.ids)[None]
    original = features(ids, torch.arange(ids.shape[1]), kinds)
    check_logits(victim, [Row(candidates.ids.tolist(), types)], graph.value(original))
    places, is_swap = torch.from_numpy(slots.places), torch.from_numpy(slots.swaps[..., 1] > 0)
    tokens = torch.where(is_swap, torch.from_numpy(slots.tokens), ids.gather(1, places)[:, :, None])
    new = features(tokens, places[:, :, None].expand_as(tokens), kinds[places][:, :, None].expand_as(tokens))
    return Program(graph, region_of(original, new, slots, space.max_swaps), slots.swaps)


def _candidates(victim: Transformer, space: Space) -> tuple[TokenCandidates, list[int]]:
    """The single swaps as changes of one piece each, and the types of the text's tokens.

    Guarantee: the pieces of every point are those of the original with the pieces of its swaps put in, one for one.
    Proof: a text is the sum of its units, so swaps in different units do not know of each other, and those in one unit
    are tried together.  No swap changes the number of pieces before the text is cut, but for words that are never read:
    so the same places are read for every point.
    """
    bound = victim.bind(space)
    if not bound.is_local:
        raise NoRule("no bound rule for words that run together with their neighbors in this text")
    (row,), (whole,) = bound.rows(space.origin[None]), bound.whole(space.origin[None])
    singles = space.singles()
    points = np.asarray(bound.canonical(singles.dense()))
    moves: dict[tuple[int, int], list[tuple[int, int]]] = {}
    found: list[tuple[int, int, int, int]] = []
    swaps = list(zip(singles.positions.tolist(), singles.choices.tolist(), strict=True))
    for (word, choice), swapped, read in zip(swaps, bound.whole(points), bound.rows(points), strict=True):
        moves[word, choice] = _differences(whole, swapped)
        if len(swapped) != len(whole) or len(moves[word, choice]) > 1:
            raise NoRule(
                f"no bound rule for the substitute {space.choices[word][choice - 1]!r} of word {word}, "
                f"{space.original.words[word]!r}: expected one word piece for one word piece"
            )
        found += [(word, choice, *move) for move in _differences(row.ids, read.ids)]
    _check_together(bound, whole, moves)
    table = np.array(found, np.int64).reshape(-1, 4)
    ids = np.array(row.ids, np.int64)
    return TokenCandidates(ids, table[:, 0], table[:, 1], table[:, 2], table[:, 3]), list(row.types)


def _differences(old: list[int], new: list[int]) -> list[tuple[int, int]]:
    """Where two rows differ, as far as both go, and what the new one has there."""
    return [(at, b) for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b]


def _check_together(bound: UnitBound, whole: list[int], moves: Mapping[tuple[int, int], list[tuple[int, int]]]) -> None:
    """That words without a space between them change together the pieces that each changes alone; NoRule if not."""
    space = bound.space
    for unit in units(space.original):
        open_ = [i for i in range(unit.first, unit.stop) if space.sizes[i]]
        if len(open_) < 2:
            continue
        points = _together(space, open_)
        if points is not None:
            points = np.asarray(bound.canonical(points))
            made = [[move for i in open_ for move in moves.get((i, point[i]), [])] for point in points.tolist()]
            if all(
                len(dict(own)) == len(own) and len(found) == len(whole) and _differences(whole, found) == sorted(own)
                for own, found in zip(made, bound.whole(points), strict=True)
            ):
                continue
        words = ", ".join(repr(space.original.words[i]) for i in open_)
        raise NoRule(f"no bound rule for the words {words} that run together in this text")


def _together(space: Space, words: list[int]) -> IntArray | None:
    """All points with 2 … max_swaps swaps at these words and none elsewhere; None if they are too many to look at."""
    if prod(int(space.sizes[i]) + 1 for i in words) > _MOST_TOGETHER:
        return None
    chosen = np.array(list(product(*(range(space.sizes[i] + 1) for i in words))), np.int32)
    swaps = np.count_nonzero(chosen, axis=1)
    chosen = chosen[(swaps > 1) & (swaps <= space.max_swaps)]
    points: IntArray = np.zeros((len(chosen), space.n), np.int32)
    points[:, words] = chosen
    return points
