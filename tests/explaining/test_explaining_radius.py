"""Saliency by safe radii: what it is made of, and when it is left out."""

from __future__ import annotations

import math

import pytest

import lexproof as lp
from lexproof.explaining import Explainer, SafeRadius
from lexproof.safe_radius.question import Asked, radii
from lexproof.safe_radius.settings import Settings
from lexproof.text import Text
from small_victims import word_victim

TEXT = "w0 w1 never w3 w4 w5 w6 w7 w8"  # the last two are not read: the victims read 7 tokens


@pytest.mark.parametrize("norm", [1, 2, "inf"])
@pytest.mark.parametrize("shape", ["mlp", "cnn"])
def test_saliency_is_the_least_radius_over_that_of_the_word(shape: str, norm: float | str) -> None:
    victim = word_victim(shape, 1)
    found = lp.explain(victim, TEXT, methods=["radius"], norm=norm)
    settings = Settings(norm=float(norm), uppers=())
    brackets = next(radii(victim, [Asked(Text.parse(TEXT), [(word,) for word in range(9)])], settings))
    lower = [math.inf if own.any_replacement else own.lower for own in brackets]
    assert found.norm == float(norm) and len(set(lower)) > 2
    assert found["radius"].values == pytest.approx([min(lower) / own for own in lower])
    assert max(own for own in found["radius"].values if own is not None) == 1.0
    for detail, own in zip(found["radius"].details, brackets, strict=True):
        assert isinstance(detail, SafeRadius)
        assert (detail.lower, detail.diameter, detail.any_replacement) == (own.lower, own.diameter, own.any_replacement)
        assert detail.normalized == own.normalized


def test_a_long_text_tells_how_far_it_is() -> None:
    victim, text = word_victim("cnn", 1), " ".join(["w0 w1 never w3"] * 40)
    told: list[float] = []
    space = lp.Space(Text.parse(text), [()] * 160, 0)
    found = Explainer(methods=("radius",), progress=told.append).explain(victim, space)
    assert len(told) > 1 and told == sorted(told) and told[-1] == 1.0
    assert found["radius"].values[:7] == lp.explain(victim, text, methods=["radius"])["radius"].values[:7]


def test_words_that_are_not_read_may_be_anything() -> None:
    found = lp.explain(word_victim("cnn", 1), TEXT, methods=["radius"])["radius"]
    assert found.values[7:] == (0.0, 0.0)
    assert all(isinstance(own, SafeRadius) and own.any_replacement for own in found.details[7:])


def test_a_text_without_words_has_no_radii() -> None:
    found = lp.explain(word_victim("mlp", 1), "...", methods=["radius"])["radius"]
    assert (found.values, found.reason) == ((), "")


def test_another_label_than_the_predicted_one_has_no_safe_ball() -> None:
    victim = word_victim("mlp", 1)
    predicted = int(victim.predict([TEXT])[0])
    other = (predicted + 1) % 3
    found = lp.explain(victim, TEXT, other, methods=["radius", "deletion"])
    expected = f"no ball is safe: the text is read as class {predicted}, not as class {other}"
    assert found["radius"].reason == expected
    assert [own.method for own in found.answered] == ["deletion"]


def test_radii_that_are_not_found_in_time_are_not_compared() -> None:
    found = lp.explain(word_victim("cnn-deep", 1), TEXT, methods=["radius"], time_limit=0)["radius"]
    assert "not all radii were found: the time limit was reached" in found.reason
    assert found.values == ()


def test_a_text_whose_label_is_a_tie_has_no_certified_ball() -> None:
    import torch

    victim = word_victim("mlp", 1)
    with torch.no_grad():
        victim.net.last.weight.zero_()  # type: ignore[attr-defined]
        victim.net.last.bias.zero_()  # type: ignore[attr-defined]
    found = lp.explain(victim, TEXT, methods=["radius"])["radius"]
    assert "no ball is certified: the label wins by less than rounding" in found.reason
