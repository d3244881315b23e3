"""Whether a graph made of a model's parts is the model: what its parts are named and configured does not prove it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from lexproof.errors import NoRule
from lexproof.victims.noise import largest_difference
from lexproof.victims.transformer_encoding import Row

if TYPE_CHECKING:
    from lexproof.victims.transformer import Transformer

_ROUNDING = 1e-3  # of logits in float32; what a part that was left out does to them is far more


def check_modules(model: Any, parts: Sequence[Any]) -> None:
    """NoRule if a part is no plain layer (an adapter, a quantized or reparametrized one), or if the model has hooks."""
    for part in parts:
        if type(part) not in (torch.nn.Linear, torch.nn.LayerNorm):
            raise NoRule(f"no bound rule for a layer of type {type(part).__name__!r} in this model")
    if any(module._forward_hooks or module._forward_pre_hooks for module in model.modules()):
        raise NoRule("no bound rule for a model with forward hooks")


def check_logits(victim: Transformer, rows: Sequence[Row], logits: Tensor) -> None:
    """NoRule unless these logits (N, classes) are, up to rounding, what the victim itself gives for these rows."""
    keys = [(tuple(row.ids), tuple(row.types)) for row in rows]
    distinct = list(dict.fromkeys(keys))
    given = [Row(list(ids), list(types)) for ids, types in distinct]
    own = torch.empty(len(distinct), victim.classes, dtype=torch.float64)
    with torch.no_grad():
        for batch in victim.batches(given):
            own[batch] = victim.run([given[b] for b in batch]).double()
    numbers = {key: number for number, key in enumerate(distinct)}
    wanted = own[[numbers[key] for key in keys]]
    if largest_difference(logits.detach() - wanted) > _ROUNDING * (1 + float(wanted.abs().max())):
        raise NoRule("no bound rule for this model: it computes something else than its parts say")
