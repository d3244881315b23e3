"""lexproof find | minimize | prove | count: one question about one text or every text of a data set."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.text import Text as Styled

from lexproof.answers import Answer, Bracket, Broken, Minimum, Robust, Share, Unknown
from lexproof.cli.options import (
    Subject,
    data_options,
    emit,
    json_option,
    load_subject,
    model_option,
    progress_bar,
    seed_option,
    space_options,
    warn_bad_rows,
)
from lexproof.data import Dataset
from lexproof.engine import Limits
from lexproof.errors import InputError
from lexproof.questions import Answered, Count, Find, Item, Minimize, Prove, Question, answer_all
from lexproof.statistics.intervals import hoeffding_samples
from lexproof.victims.base import Victim

_SHARED = (
    click.argument("texts", nargs=-1),
    click.option("--label", help="Gold label of the texts given as arguments [default: what the model predicts]."),
    click.option("--target", help="Label that the swaps must reach, instead of any but the gold one."),
    model_option,
    data_options,
    space_options,
    click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), help="Seconds a text."),
    click.option("--out", type=click.Path(dir_okay=False), help="Also write the JSON lines to this new file."),
    seed_option,
    json_option,
)

_BLOCK = 256  # texts read at once
_ATTACK = click.option("--attack", default="textfooler", show_default=True, help="See `lexproof list attacks`.")
_QUERIES = click.option("--max-queries", type=click.IntRange(min=1), help="Budget of model inputs a text.")


def _verb(*own: Callable[[Any], Any]) -> Callable[[Callable[..., None]], click.Command]:
    def decorate(function: Callable[..., None]) -> click.Command:
        for option in reversed((*_SHARED, *own)):
            function = option(function)
        return click.command()(function)

    return decorate


@_verb(_ATTACK, _QUERIES)
def find(**options: Any) -> None:
    """Search for word swaps that fool the model."""
    _ask(Find(attack=options["attack"], seed=options["seed"], limits=_limits(options)), options)


@_verb(_QUERIES)
def prove(**options: Any) -> None:
    """Prove that no allowed swap fools the model, or show one that does."""
    _ask(Prove(limits=_limits(options)), options)


@_verb(
    _ATTACK,
    _QUERIES,
    click.option("--max-points", type=click.IntRange(min=0), default=100_000, show_default=True,
                 help="Texts enumerated to prove the lower end."),
)  # fmt: skip
def minimize(**options: Any) -> None:
    """Bracket the fewest swaps that fool the model."""
    question = Minimize(
        attack=options["attack"],
        max_points=options["max_points"],
        seed=options["seed"],
        limits=_limits(options),
    )
    _ask(question, options)


@_verb(
    click.option("--half-width", type=float, default=0.025, show_default=True, help="Guaranteed half width."),
    click.option("--confidence", type=float, default=0.995, show_default=True),
    click.option("--samples", type=click.IntRange(min=1), help="Number of samples, instead of the guaranteed one."),
    click.option("--interval", type=click.Choice(["clopper-pearson", "hoeffding"]), default="clopper-pearson",
                 show_default=True),
)  # fmt: skip
def count(**options: Any) -> None:
    """Count or estimate the share of allowed texts that fool the model."""
    samples = options["samples"] or hoeffding_samples(options["half_width"], options["confidence"])
    question = Count(
        samples=samples,
        confidence=options["confidence"],
        interval=options["interval"],
        seed=options["seed"],
        limits=_limits(options),
    )
    _ask(question, options)


def _limits(options: dict[str, Any]) -> Limits:
    return Limits(options.get("max_queries"), options["time_limit"])


def _ask(question: Question[Answer], options: dict[str, Any]) -> None:
    out = None if options["out"] is None else Path(options["out"])
    if out is not None and out.exists():
        raise InputError(f"expected --out to be a new file, got {out}, which exists; move it or choose another name")
    subject = load_subject(options, _given(options["texts"]) if options["texts"] else None)
    warn_bad_rows(subject.data)
    target = None if options["target"] is None else _label(options["target"], subject.victim)
    predicted: dict[int, int] = {}
    items = _items(subject, options["label"], target, predicted)
    total = len(subject.data.texts)
    with ExitStack() as stack:
        lines = None if out is None else stack.enter_context(out.open("x", encoding="utf-8"))
        step = stack.enter_context(progress_bar(type(question).__name__.lower(), total)) if total > 1 else None
        for done, answered in enumerate(answer_all(question, subject.victim, items), 1):
            record = _record(answered, predicted.pop(answered.item.key), options["seed"])
            if lines is not None:
                lines.write(json.dumps(record, ensure_ascii=False) + "\n")
                lines.flush()
            if options["as_json"]:
                emit(record)
            else:
                screen_out(answered, subject.victim)
            if step is not None:
                step(done)


def _given(texts: tuple[str, ...]) -> Dataset:
    return Dataset(texts=texts, labels=None, label_names=(), name="arguments", bad_rows=())


def _label(given: str, victim: Victim) -> int:
    """A label by name or number."""
    if given in victim.labels:
        return victim.labels.index(given)
    if given.isdecimal() and int(given) < victim.classes:
        return int(given)
    raise InputError(f"expected a label out of {', '.join(victim.labels)} or its number, got {given!r}")


def _items(subject: Subject, label: str | None, target: int | None, predicted: dict[int, int]) -> Iterator[Item]:
    """The spaces to ask about; `predicted` is filled with the victim's reading of each text as it is."""
    fixed = None if label is None else _label(label, subject.victim)
    texts, labels = subject.data.texts, subject.data.labels
    for start in range(0, len(texts), _BLOCK):
        block = texts[start : start + _BLOCK]
        for key, (given, guess) in enumerate(zip(block, subject.victim.predict(block).tolist(), strict=True), start):
            predicted[key] = guess
            own = guess if labels is None else labels[key]
            yield Item(key, subject.space(given), own if fixed is None else fixed, target)


def _record(answered: Answered[Answer], predicted: int, seed: int) -> dict[str, Any]:
    original = answered.item.space.original
    answer = answered.answer
    found = {"answer": "error", "reason": str(answered.error)} if answer is None else answer.to_json()
    return {
        "id": answered.item.key,
        "text": str(original),
        "premise": original.premise,
        "label": answered.goal.label,
        "predicted": predicted,
        **found,
        "seed": seed,
    }


def screen_out(answered: Answered[Answer], victim: Victim) -> None:
    """One answer for people, on standard output."""
    from rich.console import Console

    console = Console(highlight=False)
    if answered.answer is None:
        console.print(Styled(f"error: {answered.error}", style="red"))
        return
    console.print(_marked(answered), soft_wrap=True)
    console.print(Styled("  " + sentence(answered.answer, victim.labels), style="bold"), soft_wrap=True)


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


def sentence(answer: Answer, labels: tuple[str, ...]) -> str:
    """An answer in words."""
    cost = f"({answer.queries} queries, {answer.cost.seconds:.2f} s)"
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
            said = f"robust: none of {answer.certificate.points} texts with up to {answer.radius} swaps fools it"
        case Share():
            said = _share(answer)
        case Unknown():
            said = f"unknown: {answer.reason}"
        case _:
            said = answer.kind
    return f"{said} {cost}"


def _share(share: Share) -> str:
    if share.method == "exact":
        return f"{share.flips} of all {share.n} texts flip: share {share.value:.4f} exactly"
    return (
        f"share {share.value:.4f}, in [{share.low:.4f}, {share.high:.4f}] with confidence {share.confidence:g} "
        f"({share.method}, {share.n} samples)"
    )
