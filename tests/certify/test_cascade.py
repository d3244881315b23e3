"""The provers one after the other: against every text, at limits, and where there is no rule."""

import time
from pathlib import Path

import numpy as np
import pytest
import torch

import lexproof as lp
from lexproof.answers import Certificate
from lexproof.certify import cascade
from lexproof.certify.cascade import PROVERS, check_provers
from lexproof.errors import EvidenceError, InputError, UnknownName
from lexproof.goal import Goal
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.base import Victim
from small_victims import SHAPES, lean, room, transformer_victim, true_minimum, word_space, word_victim
from toys import Additive

DEEP = ["cnn-deep", "lstm", "bilstm"]  # their bounds take long


@pytest.fixture(params=[True, False], ids=["bounds first", "as usual"])
def bounds_first(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Small spaces are scored sooner than bounded; to try the bounds on them, that is turned off."""
    if request.param:
        monkeypatch.setattr(cascade, "_SMALL", 0)
        monkeypatch.setattr(cascade, "_TEXTS_A_PASS", 0)
    return bool(request.param)


def cases(shape: str, count: int, words: int = 4, **settings: int) -> list[tuple[Victim, Space, Goal]]:
    found = []
    for seed in range(count):
        victim, space = word_victim(shape, seed, scale=0.7), word_space(seed + 30, words=words, **settings)
        label = int(victim.predict([str(space.original)])[0])
        found.append((victim, space, Goal(label, (label + 2) % 3 if seed % 3 == 1 else None, victim.rounding)))
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_radius_and_flips_are_those_of_every_text(shape: str, bounds_first: bool) -> None:
    kinds = set()
    for victim, space, goal in cases(shape, *((4, 3) if shape in DEEP else (7, 4)), max_swaps=2):
        exact = true_minimum(victim, space, goal)
        if room(victim, space, goal) <= 2 * victim.rounding:
            continue
        proof = lp.prove(victim, space, goal.label, target=goal.target)
        kinds.add(proof.kind)
        if exact is None:
            assert isinstance(proof, lp.Robust)
            assert proof.radius == space.max_swaps
            lp.recheck(proof.certificate, victim, space, goal.label)
        else:
            assert isinstance(proof, lp.Broken)
            assert proof.swaps == exact
        answer = lp.minimize(victim, space, goal.label, target=goal.target)
        assert answer.upper == exact
        assert answer.lower == (space.max_swaps + 1 if exact is None else exact)
    assert kinds == {"robust", "broken"}


@pytest.mark.parametrize("prover", [*PROVERS, "milp"])
@pytest.mark.parametrize("shape", SHAPES)
def test_no_prover_claims_more_than_the_truth(shape: str, prover: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cascade, "_SMALL", 0)
    monkeypatch.setattr(cascade, "_TEXTS_A_PASS", 0)
    for victim, space, goal in cases(shape, 2 if shape in DEEP else 6):
        exact = true_minimum(victim, space, goal)
        proof = lp.prove(victim, space, goal.label, target=goal.target, provers=(prover,))
        assert not (isinstance(proof, lp.Robust) and exact is not None)
        assert not isinstance(proof, lp.Broken) or (exact is not None and proof.swaps >= exact)
        if isinstance(proof, lp.Robust):
            assert set(proof.certificate.method.split(" + ")) <= {prover, "enumeration"}
            lp.recheck(proof.certificate, victim, space, goal.label)


def test_provers_are_checked() -> None:
    assert check_provers(["enumeration", "interval"]) == ("interval", "enumeration")
    with pytest.raises(UnknownName, match="unknown prover 'crown'; available: branch-and-bound, enumeration"):
        check_provers(["crown"])
    with pytest.raises(InputError, match="expected at least one prover, got none; choose from interval"):
        check_provers([])


# ---------------------------------------------------------------------- limits


@pytest.mark.parametrize("shape", SHAPES)
def test_no_time_at_all(shape: str) -> None:
    victim, space = word_victim(shape, 1), word_space(1, words=6, max_swaps=4)
    label = int(victim.predict([str(space.original)])[0])
    assert isinstance(lp.prove(victim, space, label, time_limit=0), lp.Unknown | lp.Robust | lp.Broken)
    answer = lp.minimize(victim, space, label, time_limit=0)
    exact = true_minimum(victim, space, Goal(label))
    assert answer.lower <= (space.max_swaps + 1 if exact is None else exact)
    assert answer.upper is None or (exact is not None and exact <= answer.upper)


@pytest.mark.parametrize("shape", SHAPES)
def test_more_swaps_than_words(shape: str, bounds_first: bool) -> None:
    victim = word_victim(shape, 2)
    text = Text.parse("w1 w2 w3")
    most = Space(text, [["w4"], [], ["w5", "w6"]], 99)
    label = int(victim.predict([str(text)])[0])
    exact = true_minimum(victim, most, Goal(label))
    answer = lp.minimize(victim, most, label)
    assert (answer.lower, answer.upper) == ((most.max_swaps + 1, None) if exact is None else (exact, exact))


@pytest.mark.parametrize(
    ("shape", "provers"),
    [
        *((shape, PROVERS) for shape in ("mlp", "cnn", "cnn-deep", "lstm")),
        *(("cnn-deep", provers) for provers in (("interval", "linear"), ("branch-and-bound",))),
    ],
)
def test_a_space_of_more_than_1e300_texts(shape: str, provers: tuple[str, ...]) -> None:
    """Answered in about the time allowed, with a proof or a bracket."""
    words = 60 if shape == "lstm" else 330
    options = [[f"w{j}" for j in range(20) if j != i % 20] for i in range(words)]
    space = Space(" ".join(f"w{i % 20}" for i in range(words)), options, words)
    assert shape == "lstm" or space.size > 10**300
    victim = word_victim(shape, 0, scale=0.5, max_length=400)
    label = int(victim.predict([str(space.original)])[0])
    begun = time.perf_counter()
    answer = lp.minimize(victim, space, label, provers=provers, time_limit=1)
    assert time.perf_counter() - begun < 20  # the machine may be busy; what is excluded are hours
    assert answer.lower >= 0
    proof = lp.prove(lean(victim, label, 1e4), space, label, provers=provers, time_limit=1)
    assert isinstance(proof, lp.Robust | lp.Unknown)
    assert isinstance(proof, lp.Robust) or proof.reason


def test_a_bound_proves_what_can_not_be_enumerated() -> None:
    words = 330
    space = Space(" ".join(["w1"] * words), [["w2", "w3", "w4", "w5", "w6", "w7", "w8", "w9"]] * words, words)
    for shape in ("mlp-mean", "cnn", "cnn-flat"):
        victim = lean(word_victim(shape, 0, scale=0.3, max_length=words), 0, 1e3)
        proof = lp.prove(victim, space, 0, time_limit=60)
        assert isinstance(proof, lp.Robust)
        assert proof.radius == words
        assert proof.certificate.points < 10_000


# ---------------------------------------------------------------------- no rule


ODD = {
    "a substitute of two tokens": (Space("w1 w2", [["w3 w4"], ["w5"]]), "the substitute 'w3 w4' of word 0, 'w1'"),
    "words that run together": (
        Space(Text(("w1", "w2"), ("", "-", "")), [["w3"], ["w4"]]),
        "words that run together with their neighbors",
    ),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("shape", SHAPES)
def test_substitutes_without_a_rule_are_named_and_enumerated(shape: str, odd: str) -> None:
    space, named = ODD[odd]
    victim = word_victim(shape, 0)
    label = int(victim.predict([str(space.original)])[0])
    for prover in ("interval", "linear", "branch-and-bound"):
        answer = lp.prove(victim, space, label, provers=(prover,))
        assert isinstance(answer, lp.Unknown)
        assert answer.reason.startswith(f"no bound rule for {named}")
    exact = true_minimum(victim, space, Goal(label))
    assert lp.prove(victim, space, label).kind == ("robust" if exact is None else "broken")
    assert lp.minimize(victim, space, label).upper == exact


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"layers": 2}, "convolutions of several widths and several layers"),
        ({"pooling": "flatten"}, "convolutions of several widths that are flattened"),
    ],
)
def test_networks_without_a_rule_are_named_and_enumerated(settings: dict[str, object], named: str) -> None:
    victim, space = word_victim("cnn-widths", 3, **settings), word_space(1, max_swaps=2)
    label = int(victim.predict([str(space.original)])[0])
    answer = lp.prove(victim, space, label, provers=("linear",))
    assert isinstance(answer, lp.Unknown)
    assert answer.reason == f"no bound rule for {named}; proven up to 0 swaps"
    exact = true_minimum(victim, space, Goal(label))
    assert lp.prove(victim, space, label).kind == ("robust" if exact is None else "broken")


def test_a_black_box_without_enumeration_is_named() -> None:
    victim = lp.BlackBox(lambda texts: Additive(3, bias=9.0).scores(texts), labels=["no", "yes"])
    space = Space("a b", [["c"], ["d"]])
    for provers in (("linear",), ("interval", "linear", "branch-and-bound")):
        answer = lp.prove(victim, space, 1, provers=provers)
        assert isinstance(answer, lp.Unknown)
        assert answer.reason == (
            "no bound rule for a 'blackbox' victim: it does not show its operations; proven up to 0 swaps"
        )
    assert isinstance(lp.prove(victim, space, 1), lp.Robust)


def test_what_the_milp_has_no_rule_for_is_named_and_left_to_others() -> None:
    victim, space = word_victim("lstm", 1), word_space(2, max_swaps=2)
    label = int(victim.predict([str(space.original)])[0])
    answer = lp.prove(victim, space, label, provers=("milp",))
    assert isinstance(answer, lp.Unknown)
    assert answer.reason.startswith("no exact solver for a 'lstm' victim")
    exact = true_minimum(victim, space, Goal(label))
    proof = lp.prove(victim, space, label, provers=("milp", "enumeration"))
    assert proof.kind == ("robust" if exact is None else "broken")


# ---------------------------------------------------------------------- numbers that are not


@pytest.mark.parametrize("size", [1e4, 1e30])
@pytest.mark.parametrize("shape", SHAPES)
def test_weights_that_overflow_never_prove_what_is_not_so(shape: str, size: float, bounds_first: bool) -> None:
    victim = word_victim(shape, 4)
    with torch.no_grad():
        for name, weight in victim.net.named_parameters():  # type: ignore[attr-defined]
            if not name.startswith("last"):
                weight *= size
    space = Space("w1 w2 w3", [["w4"], [], ["w5", "w20"]])
    try:
        label = int(victim.predict([str(space.original)])[0])
        exact = true_minimum(victim, space, Goal(label))
    except lp.ModelError:  # the scores themselves are not numbers
        return
    for provers in (("interval",), ("linear",), ("branch-and-bound",), PROVERS)[2 if shape in DEEP else 0 :]:
        answer = lp.prove(victim, space, label, provers=provers)
        assert not (isinstance(answer, lp.Robust) and exact is not None)


def test_a_stated_margin_that_is_not_a_number_is_refused() -> None:
    victim, space = word_victim("cnn-flat", 0), Space("w1 w2", [["w3"], []])
    label = int(victim.predict([str(space.original)])[0])
    steps = [{"method": "linear", "first": 0, "last": 1, "margin": float("nan")}]
    certificate = Certificate(
        label=label, target=None, radius=1, rounding=victim.rounding, victim=victim.fingerprint,
        space=space.fingerprint, steps=tuple(lp.answers.Step(**step) for step in steps),
    )  # fmt: skip
    with pytest.raises(EvidenceError, match="a bound for 1 swaps is nan, within rounding"):
        lp.recheck(certificate, victim, space, label)


# ---------------------------------------------------------------------- transformers


def test_transformers_agree_with_every_text(tmp_path: Path, bounds_first: bool) -> None:
    kinds = set()
    for seed in range(2):
        victim = transformer_victim(tmp_path / str(seed), seed)
        for number in range(2):
            space = word_space(seed * 10 + number, words=3, options=2, max_swaps=2)
            label = int(victim.predict([str(space.original)])[0])
            exact = true_minimum(victim, space, Goal(label))
            for provers in (("interval",), ("linear",), PROVERS):
                proof = lp.prove(victim, space, label, provers=provers)
                assert not (isinstance(proof, lp.Robust) and exact is not None)
                kinds.add(proof.kind)
            if room(victim, space, Goal(label)) > 2 * victim.rounding:
                assert proof.kind == ("robust" if exact is None else "broken")
    assert "robust" in kinds
    assert np.isfinite(victim.rounding)
