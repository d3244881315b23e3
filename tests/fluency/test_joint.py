"""The joint cost: both weightings as written, parts left out, and settings that make no sense."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from lexproof.errors import InputError
from lexproof.fluency.joint import Joint
from lexproof.points import FloatArray
from toys import Letters


class Longer:
    """Thinks long texts less fluent: the perplexity is the number of characters."""

    name = "longer"

    def perplexity(self, texts: Sequence[str]) -> FloatArray:
        return np.array([float(len(text)) for text in texts])


def cosine(one: str, other: str) -> float:
    first, second = Letters().encode([one, other]).astype(float)
    return float(first @ second)


TEXTS = ["abd", "xyzabc", "a", "abc"]


def test_the_two_weightings_are_those_of_code_and_paper() -> None:
    for text in TEXTS:
        ratio, same = len(text) / 3, cosine("abc", text)
        code = Joint(encoder=Letters(), fluency=Longer())
        paper = Joint(encoder=Letters(), fluency=Longer(), weights="paper")
        assert code.costs("abc", [text])[0] == pytest.approx(3 * ratio + 20 * (1 - same), rel=1e-4)
        assert paper.costs("abc", [text])[0] == pytest.approx(-(3 * same - 20 * ratio), rel=1e-4)
        own = Joint(encoder=Letters(), fluency=Longer(), alpha=0.5, beta=7)
        assert own.costs("abc", [text])[0] == pytest.approx(0.5 * ratio + 7 * (1 - same), rel=1e-4)


def test_they_choose_differently() -> None:
    """A short text that keeps few letters, and a longer one that keeps all: the paper takes the more fluent one."""
    texts = ["abx", "abcab"]
    chosen = {
        weights: texts[int(np.argmin(Joint(encoder=Letters(), fluency=Longer(), weights=weights).costs("abc", texts)))]
        for weights in ("code", "paper")
    }
    assert chosen == {"code": "abcab", "paper": "abx"}


def test_a_part_that_is_not_given_adds_nothing() -> None:
    same = [cosine("abc", text) for text in TEXTS]
    similar = Joint(encoder=Letters()).costs("abc", TEXTS)
    assert similar - similar[3] == pytest.approx([20 * (1 - s) for s in same], abs=1e-3)
    fluent = Joint(fluency=Longer()).costs("abc", TEXTS)
    assert fluent - fluent[3] == pytest.approx([3 * (len(text) / 3 - 1) for text in TEXTS], abs=1e-3)
    blind = Joint()
    assert blind.is_blind
    assert len(set(blind.costs("abc", TEXTS).tolist())) == 1
    assert not Joint(encoder=Letters()).is_blind


def test_refusals() -> None:
    with pytest.raises(InputError, match="expected weights out of code, paper, got 'mine'"):
        Joint(weights="mine")  # type: ignore[arg-type]
    for name, value in (("alpha", -1.0), ("beta", float("nan")), ("beta", float("inf"))):
        with pytest.raises(InputError, match=f"expected {name} >= 0, got {value}"):
            Joint(**{name: value})  # type: ignore[arg-type]
