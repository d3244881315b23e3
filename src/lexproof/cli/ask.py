"""lexproof find | minimize | prove | count: one question about one text or every text of a data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from lexproof.answers import Answer
from lexproof.asking import Answered, Item, answer_all
from lexproof.certificates import export_certificate
from lexproof.cli.answers import Refused, print_answer, record_of
from lexproof.cli.frame import attack_options, budget_options, prover_options, space_options
from lexproof.cli.inputs import check_new, label_of, new_file, texts_given
from lexproof.cli.options import (
    Subject,
    announce_caveats,
    data_options,
    json_option,
    load_subject,
    model_option,
    progress_bar,
    seed_option,
    warn_bad_rows,
)
from lexproof.cli.share_plot import check_plot, drawing, plot_option
from lexproof.cli.shares import ShareSummary
from lexproof.cli.streams import emit, paper, screen
from lexproof.constraints import Rationed
from lexproof.counting import Count, CountCurve
from lexproof.engine import Limits
from lexproof.errors import InputError, ModelError
from lexproof.goal import Goal
from lexproof.questions import Find, Minimize, Prove, Question, attack_used, called, resolve_attack
from lexproof.statistics.guarantee import EXACT_NODES, EXACT_POINTS

_SHARED = (
    click.argument("texts", nargs=-1),
    click.option("--label", help="Gold label of the texts given as arguments [default: what the model predicts]."),
    click.option("--target", help="Label that the swaps must reach, instead of any but the gold one."),
    model_option,
    data_options,
    space_options,
    click.option("--time-limit", type=click.FloatRange(min=0), help="Seconds a text."),
    click.option(
        "--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write the JSON lines to this new file."
    ),
    seed_option,
    json_option,
)

_certificates = click.option(
    "--certificates",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the certificate of each text that has one to this new file, for `lexproof check`.",
)

_BLOCK = 256  # texts read at once

_TITLES: dict[type, str] = {Find: "find", Prove: "prove", Minimize: "minimize"}


def _verb(*own: Callable[[Any], Any]) -> Callable[[Callable[..., None]], click.Command]:
    def decorate(function: Callable[..., None]) -> click.Command:
        for option in reversed((*_SHARED, *own)):
            function = option(function)
        return click.command()(function)

    return decorate


@_verb(attack_options(Find.default), budget_options)
def find(**options: Any) -> None:
    """Search for word swaps that fool the model."""
    _ask(Find(seed=options["seed"], limits=_limits(options)), options)


@_verb(prover_options(None, None), budget_options, _certificates)
def prove(**options: Any) -> None:
    """Prove that no allowed swap fools the model, or show one that does."""
    question = Prove(provers=options["provers"], max_nodes=options["max_nodes"], limits=_limits(options))
    _ask(question, options)


@_verb(
    attack_options(Minimize.default),
    prover_options(100_000, 200_000),
    budget_options,
    _certificates,
)
def minimize(**options: Any) -> None:
    """Bracket the fewest swaps that fool the model."""
    question = Minimize(
        provers=options["provers"],
        max_points=options["max_points"],
        max_nodes=options["max_nodes"],
        seed=options["seed"],
        limits=_limits(options),
    )
    _ask(question, options)


@_verb(
    click.option("--half-width", type=float, default=0.025, show_default=True, help="Half width of the interval."),
    click.option("--confidence", type=float, default=0.995, show_default=True),
    click.option("--interval", type=click.Choice(["anytime", "clopper-pearson", "hoeffding"]), default="anytime",
                 show_default=True, help="Draw until the half width is reached, or a number fixed beforehand."),
    click.option("--samples", type=click.IntRange(min=1),
                 help="Most draws for anytime, their number for the others [default: what the half width takes]."),
    click.option("--threshold", type=float, help="Stop as soon as PR = 1 - share is known to be above or below this; "
                 "with --by-swaps for the last line only [default: none, and 0.9 for the last line]."),
    click.option("--by-swaps", is_flag=True, help="Count by number of swaps, for a share at every radius."),
    click.option("--exact-points", type=click.IntRange(min=0), default=EXACT_POINTS, show_default=True,
                 help="Texts scored at most to count exactly by bounds; 0: do not try."),
    click.option("--exact-nodes", type=click.IntRange(min=0), default=EXACT_NODES, show_default=True,
                 help="Nodes bounded at most for the same."),
    plot_option,
)  # fmt: skip
def count(**options: Any) -> None:
    """Count or estimate the share of allowed texts that fool the model."""
    check_plot(options["plot"])
    names = ("half_width", "confidence", "interval", "samples", "exact_points", "exact_nodes", "seed")
    settings: dict[str, Any] = {name: options[name] for name in names} | {"limits": _limits(options)}
    summary = ShareSummary(options["threshold"])
    if options["by_swaps"]:
        _ask(CountCurve(**settings), options, summary)
    else:
        _ask(Count(**settings, threshold=options["threshold"]), options, summary)


def _limits(options: dict[str, Any]) -> Limits:
    return Limits(options.get("max_queries"), options["time_limit"])


def _ask(question: Question[Answer], options: dict[str, Any], shares: ShareSummary | None = None) -> None:
    out: Path | None = options["out"]
    shares = shares or ShareSummary()
    check_new(out)
    subject = load_subject(options, texts_given(options))
    keep = _Certificates(options.get("certificates"), subject)
    warn_bad_rows(subject.data)
    attack = None
    if isinstance(question, Find | Minimize):
        attack = called(attack_used(subject.frame.attack, subject.victim, question.default))
        question = replace(question, attack=attack)
    asked = _Asked(
        question, subject, label_of(options["label"], subject.victim), label_of(options["target"], subject.victim)
    )
    asked.check()
    subject.frame.announce()
    announce_caveats(subject.victim)
    total, failed = len(subject.data.texts), []
    with ExitStack() as stack:
        write, certify = stack.enter_context(new_file(out)), stack.enter_context(keep.file())
        plot = stack.enter_context(drawing(options, subject))
        step = stack.enter_context(progress_bar(_TITLES.get(type(question), "count"), total)) if total > 1 else None
        for done, (answered, predicted) in enumerate(asked.answers(), 1):
            if answered.error is not None:
                failed.append(answered.error)
                if total == 1:
                    raise answered.error
            record = record_of(answered, predicted, options["seed"], attack)
            write(record)
            certify(answered)
            plot(record)
            shares.add(answered, predicted)
            if options["as_json"]:
                emit(record)
            else:
                print_answer(answered, predicted, subject.victim.labels, attack)
            if step is not None:
                step(done)
        if failed and len(failed) == total:
            raise InputError(f"none of {total} texts answered, the first: {failed[0]}")
    _conclude(shares, total, options["as_json"])
    if failed:
        screen.print(f"{len(failed)} of {total} texts not answered, the first: {failed[0]}")


def _conclude(shares: ShareSummary, total: int, as_json: bool) -> None:
    """The last line of a count of several texts, where it is not in the way of JSON."""
    if shares.is_asked and total > 1:
        (screen if as_json else paper()).print(shares.sentence(), soft_wrap=True)


@dataclass(frozen=True, slots=True)
class _Certificates:
    """Where certificates are written, None for nowhere; fails before anything is computed."""

    path: Path | None
    subject: Subject

    def __post_init__(self) -> None:
        check_new(self.path, "--certificates")
        if self.path is not None and self.subject.frame.constraints.floor is not None:
            raise InputError(
                "expected --certificates without a similarity floor, which a certificate cannot hold; leave out one"
            )

    @contextmanager
    def file(self) -> Iterator[Callable[[Answered[Answer] | Refused], None]]:
        """Writes the certificate of each answer that has one; leaves no file behind if none has."""
        with new_file(self.path) as write:

            def certify(answered: Answered[Answer] | Refused) -> None:
                if self.path is None or isinstance(answered, Refused) or answered.answer is None:
                    return
                if getattr(answered.answer, "certificate", None) is not None:
                    write(export_certificate(answered.answer, answered.item.space))

            yield certify
        if self.path is not None and not self.path.exists():
            screen.print(f"no text has a certificate: {self.path} is not written")


@dataclass(frozen=True, slots=True)
class _Asked:
    """One question about all texts; `label` None: what the data or the victim says."""

    question: Question[Answer]
    subject: Subject
    label: int | None
    target: int | None

    def check(self) -> None:
        """Find what is wrong with the question before anything is computed or written."""
        attack = getattr(self.question, "attack", None)
        if attack is not None:
            resolve_attack(attack, self.subject.victim)
        if self.label is not None:
            Goal(self.label, self.target).check(self.subject.victim.classes)

    def answers(self) -> Iterator[tuple[Answered[Answer] | Refused, int | None]]:
        """Each text's answer, as it is finished, with the label that the victim gives the text as it is."""
        predicted: dict[int, int] = {}
        refused: list[Refused] = []
        victim, constraints = self.subject.victim, self.subject.frame.constraints
        engine = Rationed(victim, constraints)
        for answered in answer_all(self.question, victim, self._items(predicted, refused), engine):
            while refused:
                yield refused[0], predicted.pop(refused.pop(0).key, None)
            yield answered, predicted.pop(answered.item.key)
        for rest in refused:
            yield rest, predicted.pop(rest.key, None)

    def _items(self, predicted: dict[int, int], refused: list[Refused]) -> Iterator[Item]:
        """The spaces to ask about; a text that the victim cannot read, or that has the target's label, is refused."""
        texts, labels, victim = self.subject.data.texts, self.subject.data.labels, self.subject.victim
        for start in range(0, len(texts), _BLOCK):
            block = texts[start : start + _BLOCK]
            for key, (given, guess) in enumerate(zip(block, victim.try_predict(block), strict=True), start):
                gold = self.label if labels is None else labels[key]
                if isinstance(guess, ModelError):
                    refused.append(Refused(key, given, gold, guess))
                    continue
                predicted[key] = guess
                label = guess if gold is None else gold
                if label == self.target:
                    problem = f"expected a target other than the label, got {victim.labels[label]} for both"
                    refused.append(Refused(key, given, label, InputError(problem)))
                    continue
                yield Item(key, self.subject.space(given), label, self.target)
