"""Checkpoints of a training: one file of tensors and JSON, replaced as a whole, that nothing in it can run code."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lexproof.errors import RunError, require
from lexproof.victims.folder import write_tensors

_FORMAT = 1
SECONDS = 30.0
"""How often a checkpoint is written within an epoch."""


@dataclass(frozen=True, slots=True)
class Saved:
    """Tensors by name, and what JSON can write."""

    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    rest: Mapping[str, Any] = field(default_factory=dict)

    def part(self, prefix: str) -> dict[str, Tensor]:
        """The tensors under a prefix, without it."""
        start = f"{prefix}."
        return {name.removeprefix(start): tensor for name, tensor in self.tensors.items() if name.startswith(start)}


def named(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors with a prefix."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """What an optimizer remembers of each parameter: `number.name`."""
    state = optimizer.state_dict()["state"]
    return {f"{number}.{name}": torch.as_tensor(value) for number, own in state.items() for name, value in own.items()}


class Checkpoint:
    """Where a training writes how far it has come, at the end of each epoch and every half minute.

    `fingerprint` says which training it is: RunError if the file belongs to another one.
    """

    def __init__(self, path: Path | str, fingerprint: str = "") -> None:
        self.path, self.fingerprint = Path(path), fingerprint
        if self.path.is_dir():
            raise RunError(f"expected a file for the checkpoint, got the folder {str(self.path)!r}")
        self._written = time.monotonic()

    def is_due(self) -> bool:
        """Whether it is time to write again."""
        return time.monotonic() - self._written >= SECONDS

    def write(self, saved: Saved) -> None:
        """Replace the file; it is always complete."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f".{self.path.name}.{os.getpid()}.new")
        head = {"format": _FORMAT, "fingerprint": self.fingerprint, "rest": saved.rest}
        # a copy of each tensor: some networks share one under two names, which the format refuses
        tensors = {name: tensor.detach().clone().contiguous() for name, tensor in saved.tensors.items()}
        try:
            write_tensors(tensors, temporary, {"lexproof": json.dumps(head)})
            temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)
        self._written = time.monotonic()

    def read(self) -> Saved | None:
        """What was written last, None if nothing was."""
        if not self.path.is_file():
            return None
        safetensors = require("safetensors", "torch", "a checkpoint")
        try:
            with safetensors.safe_open(self.path, framework="pt") as file:
                head = json.loads((file.metadata() or {}).get("lexproof", "null"))
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (it is no mapping)
        except (safetensors.SafetensorError, ValueError, OSError) as error:
            raise RunError(
                f"expected a checkpoint in {str(self.path)!r}, got {error}; remove it to start anew"
            ) from error
        if not isinstance(head, dict) or head.get("format") != _FORMAT:
            raise RunError(f"expected a checkpoint of this version in {str(self.path)!r}, got another; remove it")
        if head["fingerprint"] != self.fingerprint:
            raise RunError(
                f"expected the checkpoint {str(self.path)!r} to be of this training, got one with other data, model or "
                "settings; repeat that command, or remove the file (on the command line: --fresh) to start anew"
            )
        return Saved(tensors, head["rest"])
