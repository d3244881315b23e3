"""What single words do to one text: which of a vocabulary flip it, which provably cannot, and where they stand."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexproof.answers import Cost
from lexproof.points import BoolArray

Positions = NDArray[np.int32]

NOWHERE = -1
"""Position of a word that is not known to flip the text."""


@dataclass(frozen=True, slots=True)
class TextFlips:
    """One correctly classified text: row i of the SP paper's matrix A, as a bracket.

    `position[w]` is a place where word w is known to flip the text, NOWHERE if none is known.  `possible[w]` is false
    only if it is proven that w flips the text at no place; every word that is known to flip it is possible.
    """

    label: int
    position: Positions  # (V,)
    possible: BoolArray  # (V,)
    cost: Cost

    @property
    def known(self) -> BoolArray:
        """Words that are known to flip the text."""
        found: BoolArray = self.position != NOWHERE
        return found

    @property
    def is_exact(self) -> bool:
        """Whether every word is settled."""
        return bool((self.known == self.possible).all())

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; `flips_from` gives back an equal object."""
        known = self.known
        return {
            "label": self.label,
            "words": len(self.position),
            "flips": int(known.sum()),
            "known": _packed(np.packbits(known)),
            "position": _packed(self.position[known].astype("<i4")),
            "possible": None if self.is_exact else _packed(np.packbits(self.possible)),
            "queries": self.cost.queries,
            "cached": self.cost.cached,
            "seconds": self.cost.seconds,
        }


def flips_from(record: Mapping[str, Any]) -> TextFlips:
    """What `TextFlips.to_json` wrote."""
    words = int(record["words"])
    known = np.unpackbits(_unpacked(record["known"], np.uint8), count=words).astype(np.bool_)
    position = np.full(words, NOWHERE, np.int32)
    position[known] = _unpacked(record["position"], np.dtype("<i4"))
    possible = known
    if record["possible"] is not None:
        possible = np.unpackbits(_unpacked(record["possible"], np.uint8), count=words).astype(np.bool_)
    cost = Cost(queries=record["queries"], cached=record["cached"], seconds=record["seconds"])
    return TextFlips(int(record["label"]), position, possible, cost)


def _packed(array: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(array.tobytes())).decode("ascii")


def _unpacked(text: str, kind: Any) -> NDArray[Any]:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), kind)
