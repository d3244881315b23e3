"""Checks one certificate, step by step.

| step | how it is verified |
|---|---|
| enumeration | every text is written out and scored |
| branch-and-bound with a proof tree, `mlp` or one-layer max-pool `cnn` | every case and bound of it is recomputed |
| any other | every text is scored, if there are not too many |

What cannot be verified so is derived again by the method that made it, and said to be: that is no independent check.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from lexproof.answers import Step
from lexproof.certificates import Stated, read_certificate
from lexproof.checker.convolution_tree import check_convolution
from lexproof.checker.networks import Network, Perceptron, network_of
from lexproof.checker.perceptron_tree import check_perceptron
from lexproof.checker.texts import count_texts, least_margins
from lexproof.checker.tokens import TokenSwaps, Unread, token_swaps
from lexproof.checker.verdicts import Checked, CheckedStep, Status
from lexproof.errors import EvidenceError, InputError, LexproofError, ModelError
from lexproof.victims.base import Victim

if TYPE_CHECKING:
    from lexproof.victims.words import WordVictim

MAX_TEXTS = 200_000
"""Texts of one step that are scored, unless more are allowed."""

_NETWORKS = ("mlp", "cnn", "lstm", "bilstm", "transformer")
_COMPARED = 50  # texts with one swap whose scores are compared with the weights
_NOISE = 1e-9  # by which a margin may differ in the last digits


def check(record: Any, victim: Victim, *, max_points: int = MAX_TEXTS) -> Checked:
    """Whether a certificate, as `export_certificate` made it or as it was read from JSON, holds for a victim.

    Whatever the record is, the answer is a `Checked`; one that is no certificate is refused.  `max_points` texts are
    scored for a step at most.  Raises ModelError if the victim fails.
    """
    begun = time.perf_counter()
    try:
        stated = read_certificate(record)
        _check_subject(stated, victim)
    except InputError as error:
        return _refused(str(error), begun)
    steps = tuple(_Checker(stated, victim, max_points).steps())
    radius = stated.certificate.radius
    for status in ("refused", "too large"):
        for step in steps:
            if step.status == status:
                reason = f"{step.method} of {step.first} to {step.last} swaps: {step.reason}"
                return _refused(reason, begun, radius, steps)
    derived = next((step for step in steps if step.status == "derived again"), None)
    return Checked(
        status="verified" if derived is None else "derived again",
        reason="" if derived is None else derived.reason,
        radius=radius,
        steps=steps,
        seconds=time.perf_counter() - begun,
    )


def _refused(reason: str, begun: float, radius: int | None = None, steps: tuple[CheckedStep, ...] = ()) -> Checked:
    seconds = time.perf_counter() - begun
    return Checked(status="refused", reason=reason, radius=radius, steps=steps, seconds=seconds)


def _check_subject(stated: Stated, victim: Victim) -> None:
    """Raise InputError unless the certificate is about this victim and its classes."""
    certificate = stated.certificate
    if certificate.victim != victim.fingerprint:
        raise InputError(f"expected a certificate about the model {victim.fingerprint}, got {certificate.victim!r:.40}")
    for name, label in (("label", certificate.label), ("target", certificate.target)):
        if label is not None and label >= victim.classes:
            raise InputError(f"expected a {name} from 0 to {victim.classes - 1}, got {label}")
    if certificate.target == certificate.label:
        raise InputError(f"expected a target other than the label, got {certificate.label} for both")
    if certificate.rounding < victim.rounding:
        raise InputError(f"expected a rounding of at least {victim.rounding:g}, got {certificate.rounding:g}")


class _Checker:
    """One certificate of one victim."""

    def __init__(self, stated: Stated, victim: Victim, max_points: int) -> None:
        self._stated, self._victim, self._max_points = stated, victim, max_points
        self._derived: str | None = None

    def steps(self) -> list[CheckedStep]:
        """All steps; those after one that is refused are not looked at."""
        found: list[CheckedStep] = []
        for step in self._stated.certificate.steps:
            found.append(self._step(step))
            if found[-1].status == "refused":
                break
        return found

    def _step(self, step: Step) -> CheckedStep:
        rounding = self._stated.certificate.rounding
        least = rounding if step.method == "enumeration" else 2 * rounding
        if step.margin < least or (step.method == "enumeration" and step.margin == least):
            return _said(step, "refused", "its margin", f"expected a margin above {least:g}, got {step.margin:g}")
        try:
            return self._tree(step) or self._texts(step) or self._again(step)
        except ModelError:  # says nothing about the certificate
            raise
        except LexproofError as error:
            return _said(step, "refused", "its evidence", str(error))

    # ------------------------------------------------------------------ by every text

    def _texts(self, step: Step) -> CheckedStep | None:
        count = count_texts(self._stated.space.choices, step.first, step.last)
        if step.method == "enumeration" and step.points != count:
            raise EvidenceError(f"expected all {count} texts to be scored, got {step.points}")
        if count > self._max_points:
            if step.method != "enumeration":
                return None
            reason = f"{count} texts are more than max_points={self._max_points}; allow more to check them"
            return _said(step, "too large", "not scored", reason)
        self._score(step)
        return _said(step, "verified", "every text was scored", texts=count)

    def _score(self, step: Step) -> None:
        """Raise EvidenceError unless the texts of a step have the margins that it states."""
        certificate, victim = self._stated.certificate, self._victim
        if step.method == "enumeration":
            least, _ = least_margins(self._stated.space, certificate, victim, step, certificate.rounding)
            if abs(step.margin - least) > certificate.rounding + _NOISE:
                raise EvidenceError(f"expected a least margin of {step.margin:g}, got {least:g}")
            return
        if victim.kind not in _NETWORKS:
            raise EvidenceError(
                f"expected the enumeration of a {victim.kind!r} victim, which has no logits, got a bound"
            )
        _, least = least_margins(self._stated.space, certificate, victim, step, 0.0)
        # the rounding of a margin of scores is half of that of a margin of logits
        if step.margin > least + 2 * certificate.rounding + _NOISE:
            raise EvidenceError(f"expected margins of logits above {step.margin:g}, got {least:g}")

    # ------------------------------------------------------------------ by a proof tree

    def _tree(self, step: Step) -> CheckedStep | None:
        """The verdict on a step with a proof tree; None if there is none, or none of a kind that is known here."""
        proof = step.detail.get("proof")
        if step.method != "branch-and-bound" or proof is None or self._victim.kind not in ("mlp", "cnn"):
            return None
        net = self._network()
        if net is None:
            return None
        certificate = self._stated.certificate
        label, target = certificate.label, certificate.target
        rivals = [k for k in range(self._victim.classes) if k != label] if target is None else [target]
        with np.errstate(over="ignore", invalid="ignore"):  # what is not a number proves nothing
            if isinstance(net, Perceptron):
                regions = check_perceptron(net, label, rivals, proof, step.last, step.margin)
            else:
                regions = check_convolution(net, label, rivals, proof, step.last, step.margin)
        return _said(step, "verified", "every bound of its proof tree was recomputed", regions=regions)

    def _network(self) -> Network | None:
        victim: WordVictim = self._victim  # type: ignore[assignment]
        try:
            swaps = token_swaps(self._stated.space, victim.vocabulary, victim.settings.max_length)
        except Unread:
            return None
        found = network_of(victim, swaps)
        if found is None:
            return None
        self._compare(*found)
        return found[0]

    def _compare(self, net: Network, swaps: TokenSwaps) -> None:
        """Raise EvidenceError unless the weights give the text, and some with one swap, the scores of the victim."""
        space = self._stated.space
        some = [[], *([c] for c in range(0, len(swaps.at), 1 + len(swaps.at) // _COMPARED))]
        texts = [
            space.original.swap({int(swaps.word[c]): space.choices[swaps.word[c]][swaps.choice[c] - 1] for c in chosen})
            for chosen in some
        ]
        logits = np.array([net.weight @ net.features(chosen) + net.bias for chosen in some])
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        scores = self._victim.scores([text.input for text in texts])
        off = float(np.abs(powers / powers.sum(axis=1, keepdims=True) - scores).max())
        if not off <= self._stated.certificate.rounding + _NOISE:
            raise EvidenceError(f"expected scores of the model within its rounding of its weights, got {off:g} beyond")

    # ------------------------------------------------------------------ by the method that made it

    def _again(self, step: Step) -> CheckedStep:
        """Derive the whole certificate again, once."""
        from lexproof.evidence import recheck

        if self._derived is None:
            recheck(self._stated.certificate, self._victim, self._stated.space)
            self._derived = "derived again by the same code that made it, not verified independently"
        return _said(step, "derived again", "the same code was run again", self._derived)


def _said(step: Step, status: Status, how: str, reason: str = "", *, texts: int = 0, regions: int = 0) -> CheckedStep:
    return CheckedStep(
        method=step.method,
        first=step.first,
        last=step.last,
        status=status,
        how=how,
        reason=reason,
        texts=texts,
        regions=regions,
    )
