"""Transformers as programs for the bound engine: every swap must change one word piece for one other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lexproof.bounds.program import Program
from lexproof.errors import NoRule, require
from lexproof.space import Space
from lexproof.victims.transformer_graph import transformer_graph
from lexproof.victims.word_candidates import TokenCandidates
from lexproof.victims.word_slots import region_of, slots_of

if TYPE_CHECKING:
    import torch

    from lexproof.victims.transformer import Transformer
else:
    torch = require("torch", "transformers", "a transformer victim")


def transformer_program(victim: Transformer, space: Space) -> Program:
    """The program of one text; NoRule if a substitute is not one piece for one piece, or an operation has no rule."""
    candidates, types = _candidates(victim, space)
    graph, features = transformer_graph(victim.model, len(candidates.ids))
    slots = slots_of([candidates])
    kinds = torch.tensor(types)
    ids = torch.from_numpy(candidates.ids)[None]
    original = features(ids, torch.arange(ids.shape[1]), kinds)
    places, tokens = torch.from_numpy(slots.places), torch.from_numpy(slots.tokens)
    new = features(tokens, places[:, :, None].expand_as(tokens), kinds[places][:, :, None].expand_as(tokens))
    return Program(graph, region_of(original, new, slots, space.max_swaps), slots.swaps)


def _candidates(victim: Transformer, space: Space) -> tuple[TokenCandidates, list[int]]:
    """The single swaps as changes of one piece each, and the types of the text's tokens."""
    bound = victim.bind(space)
    if not bound.is_local:
        raise NoRule("no bound rule for words that run together with their neighbors in this text")
    (row,) = bound.rows(space.origin[None])
    singles = space.singles()
    found: list[tuple[int, int, int, int]] = []
    ids = np.array(row.ids, np.int64)
    for swapped, word, choice in zip(bound.rows(singles.dense()), singles.positions, singles.choices, strict=True):
        moved = np.flatnonzero(np.array(swapped.ids) != ids) if len(swapped.ids) == len(ids) else None
        if moved is None or len(moved) > 1:
            substitute = space.choices[word][choice - 1]
            raise NoRule(
                f"no bound rule for the substitute {substitute!r} of word {word}, {space.original.words[word]!r}: "
                "expected one word piece for one word piece"
            )
        found += [(int(word), int(choice), int(at), swapped.ids[at]) for at in moved.tolist()]
    table = np.array(found, np.int64).reshape(-1, 4)
    return TokenCandidates(ids, table[:, 0], table[:, 1], table[:, 2], table[:, 3]), list(row.types)
