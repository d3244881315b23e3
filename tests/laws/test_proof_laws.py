"""The laws of proofs over every victim kind: never contradicted, exact where closed, monotone, and checked again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tables import SLOW, space_of

import lexproof as lp
from lexproof.certify import cascade
from lexproof.certify.cascade import PROVERS
from lexproof.goal import Goal
from lexproof.space import Space
from lexproof.victims.base import Victim

ALONE = [*PROVERS, "milp"]


def takes_long(victim: Victim) -> bool:
    """Whether its scores take long, or bounds through its many operations."""
    is_deep = getattr(getattr(victim, "settings", None), "layers", 1) > 1
    return is_deep or victim.kind in SLOW | {"lstm", "bilstm", "transformer"}


@pytest.fixture(autouse=True)
def bounds_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spaces as small as these are scored sooner than bounded: that is turned off, or no bound would be tried."""
    monkeypatch.setattr(cascade, "_SMALL", 0)
    monkeypatch.setattr(cascade, "_TEXTS_A_PASS", 0)


class Truth:
    """A space with the scores of all its texts."""

    def __init__(self, victim: Victim, space: Space, target: int | None = None) -> None:
        self.space, self.points = space, space.points()
        self.scores = victim.scores(space.render(self.points))
        self.label = int(self.scores[np.count_nonzero(self.points, axis=1) == 0][0].argmax())
        self.goal = Goal(self.label, target if target != self.label else (self.label + 1) % victim.classes)
        if target is None:
            self.goal = Goal(self.label)
        self.is_clear = bool((np.abs(self.goal.margin(self.scores)) > 2 * victim.rounding).all())

    @property
    def minimum(self) -> int | None:
        flips = self.points[self.goal.reached(self.scores)]
        return min(np.count_nonzero(flips, axis=1).tolist(), default=None)


def truths(victim: Victim, count: int, *, target: int | None = None, start: int = 0) -> list[Truth]:
    """Random spaces of at least two texts; fewer and smaller ones for victims that take long."""
    words, number = (3, max(2, count // 4)) if takes_long(victim) else (5, count)
    spaces = (space_of(seed, words=words) for seed in range(start, start + 10 * count))
    return [Truth(victim, space, target) for space in [s for s in spaces if 1 < s.size <= 500][:number]]


@pytest.mark.parametrize("prover", ALONE)
def test_no_proof_is_contradicted(victim: Victim, prover: str) -> None:
    for truth in truths(victim, 16):
        proof = lp.prove(victim, truth.space, truth.label, provers=(prover,))
        exact = truth.minimum
        assert not (isinstance(proof, lp.Robust) and exact is not None)
        assert not isinstance(proof, lp.Broken) or (exact is not None and proof.swaps >= exact)
        if isinstance(proof, lp.Unknown):
            assert proof.reason
        bracket = lp.minimize(victim, truth.space, truth.label, provers=(prover,))
        assert bracket.lower <= (truth.space.max_swaps + 1 if exact is None else exact)
        assert bracket.upper is None or (exact is not None and exact <= bracket.upper)


def test_a_closed_bracket_is_the_minimum(victim: Victim) -> None:
    closed = 0
    for truth in truths(victim, 24, start=100):
        answer = lp.minimize(victim, truth.space, truth.label)
        if isinstance(answer, lp.Minimum):
            assert answer.swaps == truth.minimum
            closed += 1
        elif truth.is_clear:
            assert truth.minimum is None
            assert (answer.lower, answer.upper) == (truth.space.max_swaps + 1, None)
    assert closed


def test_targeted_goals(victim: Victim) -> None:
    for target in range(victim.classes):
        for truth in truths(victim, 8, target=target, start=200):
            proof = lp.prove(victim, truth.space, truth.label, target=truth.goal.target)
            assert not (isinstance(proof, lp.Robust) and truth.minimum is not None)
            if truth.is_clear:
                assert proof.kind == ("robust" if truth.minimum is None else "broken")
            if isinstance(proof, lp.Robust):
                assert proof.certificate.target == truth.goal.target
                lp.recheck(proof.certificate, victim, truth.space, truth.label)


def test_robust_with_more_swaps_is_robust_with_fewer(victim: Victim) -> None:
    for truth in truths(victim, 6, start=300):
        for provers in (("linear",), PROVERS):
            kinds = [
                lp.prove(victim, truth.space.restrict(max_swaps=r), truth.label, provers=provers).kind
                for r in range(truth.space.max_swaps + 1)
            ]
            proven = [kind == "robust" for kind in kinds]
            if provers is PROVERS and truth.is_clear:
                assert proven == sorted(proven, reverse=True)
            first = next((r for r, kind in enumerate(kinds) if kind == "broken"), len(kinds))
            assert not any(proven[first:])


def test_certificates_are_accepted_and_forged_ones_are_not(victim: Victim) -> None:
    accepted = refused = 0
    for truth in truths(victim, 12, start=400):
        bracket = lp.minimize(victim, truth.space, truth.label)
        proof = lp.prove(victim, truth.space, truth.label)
        for certificate in (bracket.certificate, getattr(proof, "certificate", None)):
            if certificate is None:
                continue
            lp.recheck(certificate, victim, truth.space, truth.label)
            accepted += 1
            last = certificate.steps[-1]
            with pytest.raises(lp.EvidenceError, match="has no proof that goes so far"):
                lp.recheck(replace(certificate, radius=certificate.radius + 1), victim, truth.space, truth.label)
            if truth.minimum is None or certificate.radius + 1 < truth.minimum:
                continue  # a larger radius may be true
            for method in ALONE:
                points = sum(truth.space.stratum(k) for k in range(last.first, last.last + 2))
                forged = replace(last, method=method, last=last.last + 1, points=points)
                longer = replace(certificate, radius=forged.last, steps=(*certificate.steps[:-1], forged))
                with pytest.raises(lp.EvidenceError, match="does not hold"):
                    lp.recheck(longer, victim, truth.space, truth.label)
                refused += 1
    assert accepted
    assert refused
