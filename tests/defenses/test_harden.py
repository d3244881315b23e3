"""lp.harden refuses what it cannot use, in one line and before training."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

import lexproof as lp
from lexproof.defenses.rand import Rand
from lexproof.errors import InputError
from lexproof.victims.smoothed import RanMask
from small_training import reviews, victim_for


@pytest.mark.parametrize(
    ("defense", "options", "message"),
    [
        (None, {}, "expected a defense by name, such as 'freelb++', or a Defense, got None"),
        (Rand, {}, "or a Defense, got <class"),
        ("rand", {"model": 3}, "as a victim or its folder, got int"),
        (
            "rand",
            {"model": lp.BlackBox(lambda texts: [[1, 0]] * len(texts), labels=["n", "y"])},
            "got one of kind 'bla",
        ),
        ("rand", {"train": [("a", 1), ("b", 0), ("c", 1)]}, r"expected train=\(texts, labels\), got"),
        ("ascc", {"synonyms": ""}, "unknown candidate ''"),
    ],
)
def test_refusals(defense: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("+", r"\+")):
        lp.harden(defense, **{"train": reviews(32), **options})


def test_a_smoothed_model_is_gone_on_from_by_its_base() -> None:
    with pytest.raises(InputError, match="a smoothed one; give its base"):
        lp.harden("rand", train=reviews(32), model=RanMask(victim_for("cnn")))


def test_a_checkpoint_is_a_file(tmp_path: Any) -> None:
    with pytest.raises(InputError, match="expected a file for the checkpoint, got the folder"):
        lp.harden("rand", train=reviews(32), model=victim_for("cnn"), checkpoint=tmp_path)
