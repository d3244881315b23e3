from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import lexproof as lp
from lexproof.asking import Item, answer_all
from lexproof.attacks.random_search import RandomSearch
from lexproof.errors import EvidenceError, InputError, UnknownName
from lexproof.evidence import recheck
from lexproof.goal import Goal
from lexproof.points import FloatArray, IntArray
from lexproof.questions import Find
from lexproof.search import Search, Seed
from lexproof.space import Space
from lexproof.statistics.intervals import clopper_pearson, hoeffding, hoeffding_samples
from lexproof.victims.base import Bound, Job
from toys import Additive, brute_minimum, random_space, weight

SPACE = Space("a b c d", [["a1", "a2"], ["b1"], ["c1", "c2", "c3"], []], 3)


@pytest.mark.parametrize("seed", range(40))
def test_minimum_and_proof_match_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space, victim = random_space(rng), Additive(seed, quadratic=0.5)
    label = int(victim.predict([str(space.original)])[0])
    exact = brute_minimum(victim, space, label)
    answer = lp.minimize(victim, space, label)
    proof = lp.prove(victim, space, label)
    if exact is None:
        assert isinstance(answer, lp.Bracket)
        assert (answer.lower, answer.upper) == (space.max_swaps + 1, None)
        assert isinstance(proof, lp.Robust)
        assert proof.certificate.points == space.size
        recheck(proof.certificate, victim, space, label)
    else:
        assert isinstance(answer, lp.Minimum)
        assert answer.swaps == exact == len(answer.changed)
        assert isinstance(proof, lp.Broken)
        assert proof.swaps == exact


@pytest.mark.parametrize("seed", range(60))
def test_a_predicate_takes_texts_out_of_every_answer(seed: int) -> None:
    victim, rng = Additive(seed, quadratic=0.5), np.random.default_rng(seed)
    whole = random_space(rng)
    space = Space(
        whole.original, whole.choices, whole.max_swaps, lambda texts: np.array([len(t) % 3 > 0 for t in texts])
    )
    label = int(victim.predict([str(space.original)])[0])
    inside = np.array([point for point in space.points() if space.contains(point)])
    flipped = inside[victim.predict(space.render(inside)) != label]
    answer, proof = lp.minimize(victim, space, label), lp.prove(victim, space, label)
    if not len(flipped):
        assert isinstance(answer, lp.Bracket)
        assert (answer.lower, answer.upper) == (space.max_swaps + 1, None)
        assert isinstance(proof, lp.Robust)
        assert proof.certificate.margin > 0
        recheck(proof.certificate, victim, space, label)
    else:
        least = np.count_nonzero(flipped, axis=1).min()
        assert isinstance(answer, lp.Minimum)
        assert isinstance(proof, lp.Broken)
        assert answer.swaps == proof.swaps == least


class Compiled(Bound):
    """A space in a form of the victim's own."""


class Shaky(Additive):
    """Scores points by 4e-4 less sure than their texts, which its rounding of 1e-3 allows."""

    rounding = 1e-3

    def bind(self, space: Space) -> Bound:
        return Compiled(space)

    def score(self, jobs: Sequence[Job]) -> list[FloatArray]:
        pairs = zip(jobs, super().score(jobs), strict=True)
        return [scores + np.array([2e-4, -2e-4]) * isinstance(bound, Compiled) for (bound, _), scores in pairs]


def test_a_text_within_rounding_as_a_point_is_proven_by_its_text() -> None:
    space = Space("x b", [["a"], []])
    victim = Shaky(0, bias=2.4e-3 - weight("a", 0) - weight("b", 0))
    negative, positive = victim.scores(["a b"])[0]
    assert victim.rounding < positive - negative < victim.rounding + 4e-4
    proof = lp.prove(victim, space, 1)
    assert isinstance(proof, lp.Robust)
    assert proof.certificate.margin > victim.rounding


def test_label_defaults_to_the_prediction() -> None:
    victim = Additive(2)
    label = int(victim.predict([str(SPACE.original)])[0])
    default, given = lp.minimize(victim, SPACE), lp.minimize(victim, SPACE, label)
    assert (default.kind, default.upper, default.witness) == (given.kind, given.upper, given.witness)
    assert default.kind == "minimum"


def test_misclassified_text_has_minimum_zero() -> None:
    victim = Additive(2)
    wrong = 1 - int(victim.predict([str(SPACE.original)])[0])
    answer = lp.minimize(victim, SPACE, wrong)
    assert isinstance(answer, lp.Minimum)
    assert (answer.swaps, answer.witness, answer.certificate) == (0, "a b c d", None)
    broken = lp.find(victim, SPACE, wrong)
    assert isinstance(broken, lp.Broken)
    assert broken.swaps == 0
    assert isinstance(lp.prove(victim, SPACE, wrong), lp.Broken)


def test_minimize_with_few_points_gives_an_honest_bracket() -> None:
    found = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        space, victim = random_space(rng, words=8), Additive(seed, bias=1.2)
        if victim.predict([str(space.original)])[0] != 1:
            continue
        exact = brute_minimum(victim, space, 1)
        answer = lp.minimize(victim, space, 1, max_points=0)
        if isinstance(answer, lp.Bracket):
            assert answer.lower <= (space.max_swaps + 1 if exact is None else exact)
            assert answer.upper is None or (exact is not None and exact <= answer.upper)
            found += answer.upper is not None
            if answer.reason:
                assert "exceed max_points=0" in answer.reason
    assert found > 3  # the test saw what it is about


def test_time_and_query_limits_keep_what_is_known() -> None:
    space = Space(" ".join("abcdefghij"), [[f"{c}{i}" for i in range(5)] for c in "abcdefghij"])
    victim = Additive(0, bias=30)  # never flips
    answer = lp.minimize(victim, space, 1, max_queries=60)
    assert isinstance(answer, lp.Bracket)
    assert (answer.lower, answer.upper) == (2, None)
    assert answer.reason == "budget of 60 queries used up"
    assert answer.queries == 60
    assert answer.certificate is not None
    assert (answer.certificate.radius, answer.certificate.points) == (1, 51)
    proof = lp.prove(victim, space, 1, max_queries=60)
    assert isinstance(proof, lp.Unknown)
    assert proof.reason == "budget of 60 queries used up; proven up to 1 swaps"
    assert isinstance(lp.find(victim, space, 1, max_queries=3), lp.Unknown)


def test_targeted_goal() -> None:
    victim = Additive(2)
    label = int(victim.predict([str(SPACE.original)])[0])
    assert lp.find(victim, SPACE, label, target=1 - label).to_json()["answer"] == "broken"
    with pytest.raises(InputError, match="expected a target from 0 to 1, got 5"):
        lp.find(victim, SPACE, label, target=5)


class Lies:
    """An attack that claims what is not so."""

    needs_gradients = False
    needs_scores = False

    def __init__(self, point: list[int]) -> None:
        self.point = np.array(point, np.int32)

    def __call__(self, space: Space, goal: Goal, seed: Seed) -> Search[IntArray | None]:
        yield space.origin[None]
        return self.point


def test_a_method_that_lies_is_caught() -> None:
    steady = Additive(0, bias=30)
    with pytest.raises(EvidenceError, match="does not fool the victim: 'a1 b c d'"):
        lp.find(steady, SPACE, 1, attack=Lies([1, 0, 0, 0]))
    with pytest.raises(EvidenceError, match="lies outside the space"):
        lp.find(steady, SPACE.restrict(max_swaps=1), 1, attack=Lies([1, 1, 0, 0]))


def test_a_false_certificate_is_caught() -> None:
    victim, space = Additive(0, bias=30), SPACE
    proof = lp.prove(victim, space, 1)
    assert isinstance(proof, lp.Robust)
    record = proof.to_json()
    (step,) = record["certificate"]["steps"]
    for key, value, error, match in (
        ("steps", [{**step, "points": 3}], EvidenceError, "covered 3 of"),
        ("steps", [{**step, "first": 1}], EvidenceError, "where 0 come next"),
        ("steps", [{**step, "method": "magic"}], InputError, "unknown prover 'magic'"),
        ("steps", [{**step, "method": "linear", "margin": -1.0}], EvidenceError, "within rounding"),
        ("steps", [{**step, "method": "linear"}], EvidenceError, "does not hold: no bound rule"),
        ("steps", [], EvidenceError, "has no proof that goes so far"),
        ("radius", 9, EvidenceError, "has no proof that goes so far"),
        ("victim", "x", InputError, "expected victim"),
        ("space", "x", InputError, "expected space"),
        ("label", 0, InputError, "expected label 1"),
    ):
        forged = lp.from_json({**record, "certificate": {**record["certificate"], key: value}})
        assert isinstance(forged, lp.Robust)
        with pytest.raises(error, match=match):
            recheck(forged.certificate, victim, space, 1)
    with pytest.raises(InputError, match="expected label 0, got a certificate about 1"):
        recheck(proof.certificate, victim, space, 0)
    forged = lp.from_json({**record, "certificate": {**record["certificate"], "label": 0}})
    assert isinstance(forged, lp.Robust)
    with pytest.raises(EvidenceError, match="does not hold"):
        recheck(forged.certificate, victim, space)


def test_a_targeted_certificate_is_about_its_target() -> None:
    victim = lp.BlackBox(lambda texts: [[0.1, 0.8, 0.1] if "x" in t else [0.1, 0.1, 0.8] for t in texts], labels="abc")
    space = Space("a b", [["x"], ["y"]])
    proof = lp.prove(victim, space, 2, target=0)
    assert isinstance(proof, lp.Robust)
    assert (proof.certificate.label, proof.certificate.target) == (2, 0)
    again = lp.from_json(proof.to_json())
    assert isinstance(again, lp.Robust)
    recheck(again.certificate, victim, space, 2)
    assert isinstance(lp.prove(victim, space, 2), lp.Broken)
    untargeted = lp.from_json({**proof.to_json(), "certificate": {**proof.to_json()["certificate"], "target": None}})
    assert isinstance(untargeted, lp.Robust)
    with pytest.raises(EvidenceError, match="does not hold"):
        recheck(untargeted.certificate, victim, space)


@pytest.mark.parametrize("budget", range(1, 9))
def test_a_misclassified_text_is_proven_broken_by_one_query(budget: int) -> None:
    answer = lp.prove(Additive(0, bias=-9), SPACE, 1, max_queries=budget)
    assert isinstance(answer, lp.Broken)
    assert (answer.swaps, answer.queries) == (0, 1)


def test_queries_are_distinct_inputs_of_a_small_space() -> None:
    victim = Additive(4, bias=1.0)
    space = Space(" ".join("abcdef"), [[f"{c}{i}" for i in range(2)] for c in "abcdef"], 4)
    for answer in (
        lp.minimize(victim, space, 1, attack=RandomSearch(draws=300)),
        lp.count(victim, space, 1, samples=200),
        lp.count(victim, space, 1, samples=5000),
    ):
        assert answer.queries <= space.size


def test_a_space_too_large_for_an_attack_is_that_texts_trouble() -> None:
    space = Space("w " * 12_000, [["x"]] * 12_000, 3000)
    victim = lp.BlackBox(lambda texts: np.tile([0.1, 0.9], (len(texts), 1)), ["no", "yes"])
    found = lp.find(victim, space, 1, attack="random")
    assert isinstance(found, lp.Unknown)
    assert "cannot sample 3000 swaps over 12000 words" in found.reason
    bracket = lp.minimize(victim, space, 1, attack="random", max_points=0)
    assert isinstance(bracket, lp.Bracket)
    assert (bracket.lower, bracket.upper) == (2, None)
    assert "exceed max_points=0" in bracket.reason


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InputError, match="expected seed >= 0, got -1"):
        lp.count(Additive(), SPACE, 1, samples=2, seed=-1)


def test_an_empty_name_is_not_the_default() -> None:
    with pytest.raises(UnknownName, match="unknown attack ''; available: a2t"):
        lp.find(Additive(), Space("w0", [["w0s0"]]), 1, attack="")


@pytest.mark.parametrize(("attack", "shown"), [(5, "5"), (RandomSearch, "<class '.*RandomSearch'>")])
def test_what_is_no_attack_is_refused(attack: Any, shown: str) -> None:
    with pytest.raises(InputError, match=f"expected the name of an attack or an attack object, got {shown}"):
        lp.find(Additive(), Space("w0", [["w0s0"]]), 1, attack=attack)


@pytest.mark.parametrize(("name", "value"), [("max_queries", -1), ("time_limit", -0.5), ("time_limit", float("nan"))])
def test_limits_are_checked(name: str, value: float) -> None:
    with pytest.raises(InputError, match=f"expected {name} >= 0, got {value}"):
        lp.find(Additive(), Space("w0", [["w0s0"]]), 1, **{name: value})


def test_needs_gradients_is_said_before_anything_runs() -> None:
    class Sloped(Lies):
        needs_gradients = True
        needs_scores = True

    victim = Additive()
    with pytest.raises(InputError, match="needs gradients, which 'additive' victims do not have"):
        lp.find(victim, SPACE, 1, attack=Sloped([0, 0, 0, 0]))


class Table(Additive):
    """Scores by text, for exact ties."""

    def __init__(self, margins: dict[str, float]) -> None:
        super().__init__()
        self.margins = margins

    def scores(self, inputs) -> FloatArray:  # type: ignore[no-untyped-def]
        half = np.array([self.margins.get(given, 0.5) for given in inputs]) / 2
        return np.stack([0.5 - half, 0.5 + half], axis=1)


def test_ties_are_flips_for_certificates_and_decided_by_the_victim_for_witnesses() -> None:
    space = Space("a", [["x", "y"]])
    tie_lost = Table({"x": 0.0})  # the first class wins a tie, so label 1 loses it
    assert isinstance(lp.prove(tie_lost, space, 1), lp.Broken)
    tie_won = Table({"x": 0.0, "a": -0.5, "y": -0.5})  # label 0 wins its ties: no witness, but no proof either
    proof = lp.prove(tie_won, space, 0)
    assert isinstance(proof, lp.Unknown)
    assert proof.reason == "a tie within rounding at 1 swaps; proven up to 0 swaps"
    bracket = lp.minimize(tie_won, space, 0)
    assert isinstance(bracket, lp.Bracket)
    assert (bracket.lower, bracket.upper) == (1, None)


def test_what_lies_within_rounding_is_never_certified() -> None:
    space = Space("a", [["x", "y"]])
    close = Table({"x": 1e-7})
    close.rounding = 1e-5
    assert isinstance(lp.prove(close, space, 1), lp.Unknown)
    close.rounding = 1e-9
    assert isinstance(lp.prove(close, space, 1), lp.Robust)
    text_is_close = Table({"a": 1e-7})
    text_is_close.rounding = 1e-5
    answer = lp.minimize(text_is_close, space, 1)
    assert isinstance(answer, lp.Bracket)
    assert (answer.lower, answer.upper) == (0, None)
    assert answer.reason == "the text itself is a tie within rounding"


@pytest.mark.parametrize("seed", range(10))
def test_exact_share_matches_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space, victim = random_space(rng), Additive(seed)
    flips = victim.predict(space.render(space.points())) != 1
    share = lp.count(victim, space, 1)
    assert isinstance(share, lp.Share)
    assert (share.method, share.n, share.flips) == ("exact", space.size, int(flips.sum()))
    assert share.low == share.value == share.high == flips.mean()


@pytest.mark.parametrize("interval", ["clopper-pearson", "hoeffding"])
def test_sampled_share_covers_the_truth(interval: str) -> None:
    space = Space(" ".join("abcdefgh"), [[f"{c}{i}" for i in range(3)] for c in "abcdefgh"], 4)
    victim = Additive(4, bias=1.0)
    truth = (victim.predict(space.render(space.points())) != 1).mean()
    assert 0.02 < truth < 0.98
    covered = 0
    for seed in range(300):
        share = lp.count(victim, space, 1, samples=150, confidence=0.9, interval=interval, seed=seed)  # type: ignore[arg-type]
        assert isinstance(share, lp.Share)
        covered += share.low <= truth <= share.high
    assert covered >= 300 * 0.9 - 3 * np.sqrt(300 * 0.09)


def test_share_with_a_predicate_counts_accepted_texts_only() -> None:
    space = Space("a b", [["x", "y"], ["z"]], predicate=lambda texts: np.array(["x" not in text for text in texts]))
    victim = Additive(1)
    inside = [space.text(point) for point in space.points() if space.contains(point)]
    share = lp.count(victim, space, 1)
    assert isinstance(share, lp.Share)
    assert (share.n, share.flips) == (len(inside), int((victim.predict(inside) != 1).sum()))


def test_bad_counts() -> None:
    with pytest.raises(InputError, match="expected at least 1 sample, got 0"):
        lp.count(Additive(), SPACE, 1, samples=0)
    with pytest.raises(InputError, match=r"expected a confidence in \(0, 1\), got 1.5"):
        lp.count(Additive(), SPACE, 1, confidence=1.5)
    with pytest.raises(InputError, match=r"expected a half width in \(0, 1\), got 0"):
        lp.count(Additive(), SPACE, 1, half_width=0)
    with pytest.raises(InputError, match="expected interval anytime, clopper-pearson or hoeffding, got 'wilson'"):
        lp.count(Additive(), SPACE, 1, interval="wilson")  # type: ignore[arg-type]


def test_intervals_against_known_values() -> None:
    assert hoeffding_samples(0.025, 0.995) == 4794
    assert clopper_pearson(0, 10, 0.95) == (0.0, pytest.approx(1 - 0.025**0.1))
    assert clopper_pearson(10, 10, 0.95) == (pytest.approx(0.025**0.1), 1.0)
    low, high = clopper_pearson(5, 20, 0.95)
    assert (low, high) == (pytest.approx(0.08657, abs=1e-5), pytest.approx(0.49105, abs=1e-5))
    assert clopper_pearson(0, 0, 0.95) == hoeffding(0, 0, 0.95) == (0.0, 1.0)
    assert hoeffding(50, 100, 0.95) == (pytest.approx(0.5 - 0.13581, abs=1e-4), pytest.approx(0.63581, abs=1e-4))
    with pytest.raises(InputError, match="expected 0 <= successes <= n, got 3 of 2"):
        clopper_pearson(3, 2, 0.95)


class Weights(Additive):
    """The sum of word weights chosen by hand."""

    def __init__(self, **weights: float) -> None:
        super().__init__()
        self.weights = weights

    def scores(self, inputs) -> FloatArray:  # type: ignore[no-untyped-def]
        sums = np.array([sum(self.weights.get(word, 0.0) for word in given.split()) for given in inputs])
        positive = 1 / (1 + np.exp(-sums))
        return np.stack([1 - positive, positive], axis=1)


def test_random_search_puts_needless_swaps_back() -> None:
    victim = Weights(a=1.0, x=-3.0)
    space = Space("a b c d", [["x"], ["y"], ["z"], ["w"]])
    answer = lp.find(victim, space, 1, attack=RandomSearch(draws=200))
    assert isinstance(answer, lp.Broken)
    assert answer.witness == "x b c d"


def test_answer_all_keeps_keys_and_matches_one_by_one() -> None:
    rng = np.random.default_rng(0)
    spaces = [random_space(rng) for _ in range(30)]
    victim = Additive(7)
    answered = {a.item.key: a.answer for a in answer_all(Find(), victim, (Item(k, s) for k, s in enumerate(spaces)))}
    for key, space in enumerate(spaces):
        alone = lp.find(victim, space)
        together = answered[key]
        assert together is not None
        assert (alone.kind, alone.queries) == (together.kind, together.queries)
