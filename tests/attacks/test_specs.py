"""Attacks from a line of text: names, variants, settings of each type, and what is wrong with the rest."""

import pytest

import lexproof as lp
from lexproof import registry
from lexproof.attacks.pdp import Pdp
from lexproof.attacks.random_search import RandomSearch
from lexproof.attacks.specs import from_spec, make, variants
from lexproof.attacks.textfooler import TextFooler
from lexproof.attacks.worst import Worst


def test_settings_of_every_type() -> None:
    assert from_spec("pdp") == Pdp()
    assert from_spec("pdp?beam=3&samples=7") == Pdp(beam=3, samples=7)
    assert from_spec("pdp?variant=white-box&beam=2") == Pdp(look="gradient", beam=2)
    assert from_spec("pdp?variant=white-box&look=scores") == Pdp()
    assert from_spec("random?draws=5") == RandomSearch(draws=5)
    assert from_spec("textfooler?hide=deleted&bonus=0") == TextFooler(hide="deleted", bonus=False)
    assert from_spec("worst?members=best,pdp?beam=2") == Worst(members=("best", "pdp?beam=2"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("pdq", "unknown attack 'pdq'; did you mean 'pdp'"),
        ("pdp?bean=3", "unknown setting 'bean' of attack 'pdp'; available: beam, look, samples, variant"),
        ("pdp?beam=three", "expected beam to be a number, got 'three'"),
        ("pdp?beam=1&beam=2", "expected beam once, got it twice"),
        ("pdp?look=far", "expected look out of scores, gradient, got 'far'"),
        ("pdp?variant=released", "unknown variant of pdp 'released'; available: paper, white-box"),
        ("best?variant=paper", "expected no variant of attack 'best', which has none, got 'paper'"),
        ("textfooler?bonus=yes", "expected bonus=0 or bonus=1, got 'yes'"),
    ],
)
def test_mistakes_are_told(spec: str, message: str) -> None:
    with pytest.raises((lp.InputError, lp.UnknownName), match=message.replace("?", r"\?")):
        from_spec(spec)


@pytest.mark.parametrize("name", sorted(registry.entries("attacks")))
def test_every_attack_can_be_made_and_says_what_it_needs(name: str) -> None:
    attack = from_spec(name)
    assert isinstance(attack.needs_gradients, bool)
    assert isinstance(attack.needs_scores, bool)
    for variant in variants(registry.get("attacks", name)):
        assert make(name, variant) is not None


@pytest.mark.parametrize(
    "name", ["textfooler", "pwws", "textbugger", "deepwordbug", "bert-attack", "bae", "clare", "a2t"]
)
def test_the_greedy_family_has_its_three_variants(name: str) -> None:
    assert {"paper", "code", "benchmark"} <= set(variants(registry.get("attacks", name)))
