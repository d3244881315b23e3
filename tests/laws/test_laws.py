"""The laws (DESIGN, section 4) over every registered attack, prover and victim kind."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from scipy.stats import chisquare
from tables import KINDS, SLOW, space_of
from torch import Tensor

import lexproof as lp
from lexproof import registry
from lexproof.asking import Item, answer_all
from lexproof.attacks.specs import from_spec
from lexproof.bounds.backward import Check
from lexproof.bounds.program import Program
from lexproof.certify import curve
from lexproof.engine import Engine
from lexproof.points import DELETED, MASKED, FirstOrder, Sensitivity, Swaps, dense
from lexproof.questions import Find, Minimize
from lexproof.space import Space
from lexproof.victims.base import Victim
from toys import brute_minimum

ATTACKS = sorted(registry.entries("attacks"))


def seeds(victim: Victim, count: int) -> range:
    """Fewer cases for victims that take long to ask."""
    return range(count // 5 if victim.kind in SLOW else count)


def prediction(victim: Victim, space: Space) -> int:
    return int(victim.predict([space.original.input])[0])


_TRUTHS: dict[tuple[int, int], tuple[int, int | None]] = {}


def truth(victim: Victim, seed: int) -> tuple[int, int | None]:
    """What the victim predicts for the text of `space_of(seed)`, and the least number of swaps that changes it.

    By scoring every text, once for all attacks: they are asked about the same spaces of the same victims.
    """
    key = (id(victim), seed)  # victims of the zoo live as long as the session
    if key not in _TRUTHS:
        space = space_of(seed)
        label = prediction(victim, space)
        _TRUTHS[key] = label, brute_minimum(victim, space, label)
    return _TRUTHS[key]


def least_margin(victim: Victim, space: Space, label: int) -> float:
    """Distance of the space from a tie, which floating point may decide either way."""
    scores = victim.scores(space.render(space.points()))
    return float(np.abs(scores[:, label] - np.delete(scores, label, axis=1).max(axis=1)).min())


def test_every_victim_kind_is_in_the_table() -> None:
    assert set(registry.entries("victims")) <= set(KINDS)


# ---------------------------------------------------------------------- binding


def test_a_point_scores_as_its_text(victim: Victim) -> None:
    for seed in seeds(victim, 30):
        space = space_of(seed)
        points = space.points()
        bound = victim.bind(space)
        (scores,) = victim.score([(bound, points)])
        assert np.abs(scores - victim.scores(space.render(points))).max() <= max(victim.rounding, 1e-12)


def test_single_swaps_score_as_their_points(victim: Victim) -> None:
    rng = np.random.default_rng(0)
    for seed in seeds(victim, 30):
        space = space_of(seed)
        bases = space.sample(rng, 4)
        singles = space.singles()
        if not len(singles):
            continue
        rows = np.repeat(np.arange(4, dtype=np.int32), len(singles))
        swaps = Swaps(bases, rows, np.tile(singles.positions, 4), np.tile(singles.choices, 4))
        bound = victim.bind(space)
        (by_delta,) = victim.score([(bound, swaps)])
        (in_full,) = victim.score([(bound, swaps.dense())])
        assert np.abs(by_delta - in_full).max() <= max(victim.rounding, 1e-12)


def test_probes_score_alike_as_swaps_and_as_points(victim: Victim) -> None:
    for seed in seeds(victim, 20):
        space = space_of(seed)
        positions = np.arange(space.n, dtype=np.int32)
        for probe in (MASKED, DELETED):
            swaps = Swaps.of(space.origin, positions, np.full(space.n, probe, np.int32))
            bound = victim.bind(space)
            (by_delta,) = victim.score([(bound, swaps)])
            (in_full,) = victim.score([(bound, swaps.dense())])
            assert np.abs(by_delta - in_full).max() <= max(victim.rounding, 1e-12)


def test_canonical_points_cannot_be_told_apart(victim: Victim) -> None:
    for seed in seeds(victim, 20):
        space = space_of(seed)
        points = space.points()
        bound = victim.bind(space)
        canonical = dense(bound.canonical(points))
        assert (np.count_nonzero(canonical, axis=1) <= np.count_nonzero(points, axis=1)).all()
        assert (canonical == dense(bound.canonical(canonical))).all()
        ours, theirs = victim.score([(bound, points), (bound, canonical)])
        assert np.abs(ours - theirs).max() <= max(victim.rounding, 1e-12)
        singles = space.singles(points[-1])
        assert (dense(bound.canonical(singles)) == dense(bound.canonical(singles.dense()))).all()


def test_merged_batches_change_nothing(victim: Victim) -> None:
    spaces = [space_of(seed) for seed in seeds(victim, 20)]
    jobs = [(victim.bind(space), space.points(0, min(space.size, 40))) for space in spaces]
    together = victim.score(jobs)
    for job, scores in zip(jobs, together, strict=True):
        (alone,) = victim.score([job])
        assert np.abs(alone - scores).max() <= max(victim.rounding, 1e-12)


def test_sensitivity_is_the_gradient(victim: Victim) -> None:
    space = space_of(11)
    request = Sensitivity(space.points(0, min(5, space.size)), 0)
    if not victim.has_gradients:
        with pytest.raises(lp.InputError, match="expected a victim with gradients"):
            victim.sensitivity(victim.bind(space), request)
        return
    norms = victim.sensitivity(victim.bind(space), request)
    assert norms.shape == request.points.shape
    assert np.isfinite(norms).all()
    assert (norms >= 0).all()
    assert norms.max() > 0


def test_first_order_is_an_estimate_for_every_single_swap(victim: Victim) -> None:
    space = space_of(11)
    request = FirstOrder(space.points(0, min(5, space.size)), 0)
    if not victim.has_gradients:
        with pytest.raises(lp.InputError, match="expected a victim with gradients"):
            victim.first_order(victim.bind(space), request)
        return
    estimates = victim.first_order(victim.bind(space), request)
    assert estimates.shape == (len(request.points), len(space.singles()))
    assert np.isfinite(estimates).all()
    assert np.abs(estimates).max() > 0


# ---------------------------------------------------------------------- 1 witness, 2 soundness, 3 agreement


def can_serve(victim: Victim, attack: str) -> bool:
    """Whether the victim gives what the attack needs; if not, the attack says so before it starts."""
    method = from_spec(attack)
    if (victim.has_gradients or not method.needs_gradients) and (victim.has_scores or not method.needs_scores):
        return True
    missing = "gradients" if method.needs_gradients and not victim.has_gradients else "scores"
    with pytest.raises(lp.InputError, match=f"attack '{attack}' needs {missing}"):
        lp.find(victim, space_of(1), 0, attack=attack)
    return False


@pytest.mark.parametrize("attack", ATTACKS)
def test_witness(victim: Victim, attack: str) -> None:
    if not can_serve(victim, attack):
        return
    broken = 0
    for seed in seeds(victim, 30):
        space, (label, exact) = space_of(seed), truth(victim, seed)
        answer = lp.find(victim, space, label, attack=attack, seed=seed)
        if isinstance(answer, lp.Broken):
            broken += 1
            changes = {change.position: change.new for change in answer.changed}
            assert space.contains(space.original.swap(changes))
            assert answer.witness == str(space.original.swap(changes))
            assert victim.predict([answer.witness])[0] == answer.witness_predicted != label
            assert exact is not None
            assert answer.swaps >= exact
    assert broken, "no space was broken: the law was not tried"


def test_soundness_and_agreement(victim: Victim) -> None:
    kinds = set()
    for seed in seeds(victim, 40):
        space, (label, exact) = space_of(seed), truth(victim, seed)
        if least_margin(victim, space, label) <= 2 * victim.rounding:
            continue
        proof = lp.prove(victim, space, label)
        answer = lp.minimize(victim, space, label)
        kinds.add(proof.kind)
        if exact is None:
            assert isinstance(proof, lp.Robust)
            assert isinstance(answer, lp.Bracket)
            assert (answer.lower, answer.upper) == (space.max_swaps + 1, None)
            lp.recheck(proof.certificate, victim, space, label)
        else:
            assert isinstance(proof, lp.Broken)
            assert proof.swaps == exact
            assert isinstance(answer, lp.Minimum)
            assert answer.swaps == exact
    assert kinds == {"robust", "broken"}


@pytest.mark.slow
@pytest.mark.parametrize("batch", [7, 16_384])
def test_soundness_on_larger_spaces(victim: Victim, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lexproof.certify.enumeration._BATCH", batch)  # few spaces here would need a second request
    largest = 0
    for seed in range(1000, 1006):
        space = space_of(seed, words=9, max_swaps=5)
        if not space.is_within(100_000):
            continue
        largest = max(largest, space.size)
        label = prediction(victim, space)
        proof = lp.prove(victim, space, label)
        points = space.points()
        scores = np.concatenate(
            [victim.scores(space.render(block)) for block in np.array_split(points, 1 + len(points) // 4096)]
        )
        flips = scores.argmax(axis=1) != label
        if isinstance(proof, lp.Robust):
            assert not flips.any()
        elif isinstance(proof, lp.Broken):
            assert proof.swaps == np.count_nonzero(points[flips], axis=1).min()
    assert largest > 1000


@pytest.fixture
def known_slopes(victim: Victim, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ascent of slopes made once, since all attacks are asked about the same spaces; all else is asked anew."""
    ascend = curve._ascended

    def known(program: Program, form: Tensor, radius: int, theta: float, steps: int, check: Check | None) -> float:
        region = program.region
        tensors = (region.original, region.places, region.changes, region.budget, form)
        key = (victim.fingerprint, *(own.numpy().tobytes() for own in tensors), program.swaps.tobytes())
        key = (*key, radius, theta, steps)
        if key not in _SLOPES:
            _SLOPES[key] = ascend(program, form, radius, theta, steps, check)
        return _SLOPES[key]

    monkeypatch.setattr(curve, "_ascended", known)


_SLOPES: dict[tuple[object, ...], float] = {}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.usefixtures("known_slopes")
def test_brackets_hold_the_minimum(victim: Victim, attack: str) -> None:
    if not can_serve(victim, attack):
        return
    for seed in seeds(victim, 20):
        space, (label, exact) = space_of(seed), truth(victim, seed)
        answer = lp.minimize(victim, space, label, attack=attack, max_points=seed * 3, seed=seed)
        assert answer.lower <= (space.max_swaps + 1 if exact is None else exact)
        if answer.upper is not None:
            assert exact is not None
            assert exact <= answer.upper


# ---------------------------------------------------------------------- 4 monotone


def test_monotone(victim: Victim) -> None:
    for seed in seeds(victim, 20):
        whole = space_of(seed, max_swaps=6)
        label = prediction(victim, whole)
        if least_margin(victim, whole, label) <= 2 * victim.rounding:
            continue
        kinds = [lp.prove(victim, whole.restrict(max_swaps=r), label).kind for r in range(whole.max_swaps + 1)]
        assert kinds == sorted(kinds, key=lambda kind: kind == "broken")  # robust first, broken ever after


# ---------------------------------------------------------------------- 5 edges


EDGES = {
    "empty text": Space("", []),
    "one word": Space("w0", [["w0s0", "w0s1"]]),
    "one word without substitutes": Space("w0", [[]]),
    "no words": Space(" ,. \n", []),
    "no substitutes": Space("w0 w1 w2", [[], [], []]),
    "no swaps allowed": Space("w0 w1", [["w0s0"], ["w1s0"]], 0),
    "more swaps than words": Space("w0 w1", [["w0s0"], ["w1s0"]], 99),
    "repeated words": Space("w0 w0 w0", [["w0s0"]] * 3),
    "emoji and marks": Space("w0 😀 e\u0301 w1", [["w0s0"], [], ["w1s0"]]),
    "right to left": Space("שלום w0", [[], ["w0s1"]]),
    "markup": Space("<script>w0</script>", [[], ["w0s0"], []]),
    "past the length a model reads": Space(" ".join(["w0"] * 40), [["w0s0"]] * 40, 1),
}


@pytest.mark.parametrize("edge", EDGES)
def test_edges(victim: Victim, edge: str) -> None:
    space = EDGES[edge]
    label = prediction(victim, space)
    exact = brute_minimum(victim, space, label)
    for attack in (name for name in ATTACKS if can_serve(victim, name)):
        found = lp.find(victim, space, label, attack=attack)
        assert isinstance(found, lp.Broken | lp.Unknown)
        assert not (isinstance(found, lp.Broken) and exact is None)
    proof = lp.prove(victim, space, label)
    assert isinstance(proof, lp.Robust if exact is None else lp.Broken)
    answer = lp.minimize(victim, space, label)
    assert answer.upper == exact
    share = lp.count(victim, space, label)
    assert isinstance(share, lp.Share)
    assert (share.value > 0) == (exact is not None)
    wrong = (label + 1) % victim.classes
    assert lp.minimize(victim, space, wrong).upper == 0


# ---------------------------------------------------------------------- 6 coverage


@pytest.mark.parametrize("interval", ["anytime", "clopper-pearson", "hoeffding"])
def test_coverage(victim: Victim, interval: Literal["anytime", "clopper-pearson", "hoeffding"]) -> None:
    runs, confidence = (30 if victim.kind in SLOW else 120), 0.9
    space = next(s for s in map(space_of, range(100)) if 60 <= s.size <= 2000)
    label = prediction(victim, space)
    truth = float((victim.predict(space.render(space.points())) != label).mean())
    covered = 0
    for seed in range(runs):
        share = lp.count(
            victim, space, label, samples=40, confidence=confidence, interval=interval, exact_points=0, seed=seed
        )
        assert isinstance(share, lp.Share)
        assert share.method == interval
        covered += share.low <= truth <= share.high
    assert covered >= runs * confidence - 3 * np.sqrt(runs * confidence * (1 - confidence))


def test_exact_counts(victim: Victim) -> None:
    """By enumeration, by bounds where they settle it, and by number of swaps: the flips of every text, scored alone."""
    for space in map(space_of, seeds(victim, 10)):
        points, label = space.points(), prediction(victim, space)
        flips = victim.predict(space.render(points)) != label
        for samples in (None, 1):  # all texts are scored; more than one are not, but bounds may settle them
            share = lp.count(victim, space, label, samples=samples)
            assert isinstance(share, lp.Share)
            assert share.method != "exact" or (share.flips, share.n) == (int(flips.sum()), space.size)
            assert samples or share.method == "exact"
            curve = lp.count_curve(victim, space, label, samples=samples)
            assert isinstance(curve, lp.ShareCurve)
            for k, own in enumerate(curve.strata):
                stratum = flips[np.count_nonzero(points, axis=1) == k]
                assert own.method != "exact" or (own.flips, own.n) == (int(stratum.sum()), len(stratum))
            exact = all(own.method == "exact" for own in curve.strata)
            assert curve.radii[-1].value == pytest.approx(flips.mean()) or not exact
            assert samples or exact


# ---------------------------------------------------------------------- 7 space


@pytest.mark.parametrize("seed", range(40))
def test_space(seed: int) -> None:
    space = space_of(seed)
    points = space.points()
    assert space.size == len(list(space)) == len(points)
    assert len(set(map(bytes, points))) == len(points)  # unranking is a bijection
    assert all(space.contains(point) for point in points)
    draws = space.sample(np.random.default_rng(seed), 30 * len(points))
    counts = np.unique(np.concatenate([points, draws]), axis=0, return_counts=True)[1] - 1
    assert len(counts) == len(points)
    assert len(counts) == 1 or chisquare(counts).pvalue > 1e-5


# ---------------------------------------------------------------------- 8 determinism


def essence(answer: object) -> tuple[object, ...]:
    return tuple(getattr(answer, name, None) for name in ("kind", "witness", "lower", "upper", "queries"))


@pytest.mark.parametrize("attack", ATTACKS)
def test_same_seed_same_answers_for_any_batch(victim: Victim, attack: str) -> None:
    if not can_serve(victim, attack):
        return
    spaces = [space_of(seed) for seed in seeds(victim, 15)]
    labels = [truth(victim, seed)[0] for seed in seeds(victim, 15)]
    seen = []
    for width, max_rows in ((1, 7), (4, 1000), (64, 33)):
        for question in (Find(attack=attack, seed=3), Minimize(attack=attack, seed=3)):
            items = (Item(key, space, label) for key, (space, label) in enumerate(zip(spaces, labels, strict=True)))
            engine = Engine(victim, width=width, max_rows=max_rows)
            answers = {a.item.key: essence(a.answer) for a in answer_all(question, victim, items, engine)}
            seen.append((type(question).__name__, sorted(answers.items())))
    for name in ("Find", "Minimize"):
        first, *others = [answers for kind, answers in seen if kind == name]
        assert all(other == first for other in others)
