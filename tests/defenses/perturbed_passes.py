"""What a defense does to a batch, seen from outside: the vectors of each pass, the gradients it leaves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from lexproof.training.defense import Defense
from lexproof.training.learner import Batch
from small_training import batch_of, learner_for, reviews, setting_for

QUIET = {"dropout": 0.0}


def begun(defense: Defense, kind: str, **settings: Any) -> tuple[Any, Batch]:
    """The defense at the start of training a network of this kind, and a batch with padding."""
    torch.manual_seed(0)
    learner = learner_for(kind, **settings)
    defense.begin(setting_for(learner))
    batch = batch_of(learner, *reviews(6))
    assert not batch.real.all()
    return learner, batch


def gradients(defense: Defense, learner: Any, batch: Batch, seed: int = 1) -> dict[str, Tensor]:
    """What `backward` leaves in the network's parameters."""
    torch.manual_seed(seed)
    learner.module.zero_grad()
    defense.backward(batch)
    named = learner.module.named_parameters()
    return {name: weight.grad.clone() for name, weight in named if weight.grad is not None}


def watched(learner: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Tensor, Tensor]]:
    """A list that receives the word vectors and the logits of each pass."""
    seen: list[tuple[Tensor, Tensor]] = []
    for name in ("logits", "states"):
        own = getattr(learner, name)

        def watching(batch: Batch, vectors: Tensor, own: Any = own) -> Any:
            found = own(batch, vectors)
            logits = found if isinstance(found, Tensor) else found.logits
            seen.append((vectors.detach().clone(), logits.detach().clone()))
            return found

        monkeypatch.setattr(learner, name, watching)
    return seen


def counted(learner: Any) -> list[int]:
    """A list that grows by one each time a gradient of the network's last layer is computed."""
    calls: list[int] = []
    weight = list(learner.module.parameters())[-1]
    weight.register_hook(lambda gradient: calls.append(1))
    return calls


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Same gradients up to rounding; a parameter without one has 0."""
    assert expected
    for name in found.keys() | expected.keys():
        one = found.get(name, torch.zeros(1))
        torch.testing.assert_close(one, expected.get(name, torch.zeros_like(one)), rtol=1e-4, atol=1e-6)
