"""Answers of find, minimize, prove and count: as JSON records and as sentences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.text import Text as Styled

from lexproof.answers import Answer, Bracket, Broken, Minimum, Robust, Share, ShareCurve, Unknown
from lexproof.asking import Answered
from lexproof.certify.ledger import Ledger
from lexproof.cli.streams import paper
from lexproof.errors import InputError
from lexproof.text import Input


@dataclass(frozen=True, slots=True)
class Refused:
    """A text that could not be asked about, and why."""

    key: int
    given: Input
    label: int | None
    error: InputError


def record_of(
    asked: Answered[Answer] | Refused, predicted: int | None, seed: int, attack: str | None
) -> dict[str, Any]:
    """The record of a text; the keys of every answer are there, null or empty where nothing is known."""
    if isinstance(asked, Refused):
        key, label, given = asked.key, asked.label, asked.given
        found: dict[str, Any] = {"answer": "error", "reason": str(asked.error), "queries": 0, "seconds": 0.0}
    else:
        key, label, given = asked.item.key, asked.goal.label, asked.item.space.original.input
        found = _found(asked, predicted)
    premise, text = (None, given) if isinstance(given, str) else given
    return {
        "id": key,
        "text": text,
        "premise": premise,
        "label": label,
        "predicted": predicted,
        "swaps": None,
        "lower": 0,
        "upper": None,
        "witness": None,
        "changed": [],
        **found,
        "attack": attack,
        "seed": seed,
    }


def _found(asked: Answered[Answer], predicted: int | None) -> dict[str, Any]:
    answer = asked.answer
    if answer is None:
        cost = asked.outcome.cost
        return {"answer": "error", "reason": str(asked.error), "queries": cost.queries, "seconds": cost.seconds}
    found = answer.to_json()
    if "lower" not in found:
        swaps = answer.swaps if isinstance(answer, Broken) else None
        found |= {"swaps": swaps, "lower": _lower(asked, predicted), "upper": swaps}
    return {"swaps": found["upper"], **found}


def _lower(asked: Answered[Answer], predicted: int | None) -> int:
    """The fewest swaps that are not ruled out: by a prover, or by what the text itself is read as."""
    claim, goal = asked.outcome.claim, asked.goal
    if isinstance(claim, Ledger):  # checked with the answer: every text with so many swaps keeps its label
        return claim.radius + 1
    reached = predicted != goal.label if goal.target is None else predicted == goal.target
    return 0 if reached else 1


def print_answer(
    asked: Answered[Answer] | Refused, predicted: int | None, labels: tuple[str, ...], attack: str | None
) -> None:
    """One answer for people, on standard output; `predicted` is what the text as it stands is read as."""
    console = paper()
    if isinstance(asked, Refused) or asked.answer is None:
        console.print(Styled(f"error: {asked.error}", style="red"), soft_wrap=True)
        return
    console.print(_marked(asked), soft_wrap=True)
    said = sentence(asked.answer, labels, attack, floor=asked.item.space.predicate is not None)
    if isinstance(asked.answer, Share | ShareCurve) and predicted not in (None, asked.goal.label):
        said = f"misclassified as {labels[predicted]} as it stands; {said}"
    console.print(Styled(f"  {said}", style="bold"), soft_wrap=True)


def _marked(answered: Answered[Answer]) -> Styled:
    """The text with swapped words struck out and their substitutes beside them."""
    original = answered.item.space.original
    new = {change.position: change.new for change in getattr(answered.answer, "changed", ())}
    line = Styled(original.gaps[0])
    for position, (word, gap) in enumerate(zip(original.words, original.gaps[1:], strict=True)):
        if position in new:
            line.append(word, style="strike red").append(" ").append(new[position], style="bold green")
        else:
            line.append(word)
        line.append(gap)
    return line


def sentence(answer: Answer, labels: tuple[str, ...], attack: str | None = None, *, floor: bool = False) -> str:
    """An answer in words; `floor`: whether a condition on whole texts leaves some of those that were scored out."""
    method = f"{attack}, " if attack else ""
    cost = f"({method}{answer.queries} queries, {answer.cost.seconds:.2f} s)"
    match answer:
        case Minimum(swaps=0):
            said = f"R = 0: misclassified as {labels[answer.witness_predicted]} as it stands"
        case Minimum():
            said = f"R = {answer.swaps} exactly: read as {labels[answer.witness_predicted]}, and fewer swaps cannot"
        case Broken():
            said = f"broken with {answer.swaps} swaps: read as {labels[answer.witness_predicted]}"
        case Bracket(upper=None):
            said = f"R >= {answer.lower}: no flip known; {answer.reason or 'the whole space is proven'}"
        case Bracket():
            said = f"{answer.lower} <= R <= {answer.upper}: {answer.reason}"
        case Robust():
            said = _robust(answer, floor)
        case Share():
            said = _share(answer)
        case ShareCurve():
            said = _curve(answer)
        case Unknown():
            said = f"unknown: {answer.reason}"
        case _:
            said = answer.kind
    return f"{said} {cost}"


def _robust(answer: Robust, floor: bool) -> str:
    certificate, fools = answer.certificate, "is allowed and fools it" if floor else "fools it"
    if certificate.method == "enumeration":
        return f"robust: none of {certificate.points} texts with up to {answer.radius} swaps {fools}"
    return f"robust: no text with up to {answer.radius} swaps {fools}, by {certificate.method}"


def _share(share: Share) -> str:
    settled = f"; PR is {share.settled} {share.threshold:g}" if share.settled else ""
    if share.method == "exact":
        said = f"{share.flips} of all {_number(share.n)} texts flip: share {share.value:.4f} exactly"
        return f"{said}, PR {share.robust:.4f}{settled}"
    if share.method == "partial":
        why = f"for certain: {share.n} texts were scored before the budget was spent"
    else:
        why = f"with confidence {share.confidence:g} ({share.method}, {share.n} samples)"
    return (
        f"share {share.value:.4f}, in [{share.low:.4f}, {share.high:.4f}] {why}; "
        f"PR {share.robust:.4f} in [{share.robust_low:.4f}, {share.robust_high:.4f}]{settled}"
    )


def _curve(curve: ShareCurve) -> str:
    """A line for each radius."""
    sure = "exactly" if curve.confidence == 1 else f"all intervals together with confidence {curve.confidence:g}"
    lines = [f"share by number of swaps, {sure}"]
    for row, own in zip(curve.radii, curve.strata, strict=True):
        lines.append(
            f"    up to {row.radius} swaps: PR {row.robust:.4f} in [{row.robust_low:.4f}, {row.robust_high:.4f}]; "
            f"exactly {row.radius}: {own.flips} of {_number(own.n)} flip ({own.method})"
        )
    return "\n".join((*lines, " "))


def _number(n: int) -> str:
    """A number of texts; one that nobody reads by its power of ten."""
    return str(n) if n < 10**12 else f"about 10^{len(str(n)) - 1}"
