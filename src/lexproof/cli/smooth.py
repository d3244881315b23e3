"""lexproof smooth: how many swaps the smoothed classifier of a SAFER or RanMASK model withstands, text by text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import click
from rich.text import Text as Styled

from lexproof.certify.smoothing import SmoothedCertificate, certify_smoothed
from lexproof.cli.frame import space_options
from lexproof.cli.inputs import check_new, label_of, new_file, texts_given
from lexproof.cli.options import (
    Subject,
    data_options,
    json_option,
    load_subject,
    model_option,
    progress_bar,
    seed_option,
    warn_bad_rows,
)
from lexproof.cli.streams import emit, paper, screen
from lexproof.errors import InputError, ModelError
from lexproof.report.numerals import percent, plural
from lexproof.report.visible import visible
from lexproof.statistics.intervals import clopper_pearson
from lexproof.victims.smoothed import Smoothed

Certified = SmoothedCertificate | ModelError
"""A certificate, or why a text has none."""


@click.command()
@click.argument("texts", nargs=-1)
@click.option("--label", help="Gold label of the texts given as arguments [default: what is predicted].")
@model_option
@data_options
@space_options
@click.option("--samples", type=click.IntRange(min=1), default=1000, show_default=True,
              help="Copies of a text that bound its probabilities.")  # fmt: skip
@click.option("--selection", type=click.IntRange(min=1), default=100, show_default=True,
              help="Copies, apart from these, that choose its class.")  # fmt: skip
@click.option("--confidence", type=float, default=0.99, show_default=True, help="Of each certificate, in (0.5, 1).")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Also write the JSON lines to this new file."
)
@seed_option
@json_option
def smooth(**options: Any) -> None:
    """Certify a smoothed model: which numbers of swaps cannot change its class."""
    check_new(options["out"])
    if not 0.5 < options["confidence"] < 1:
        raise InputError(f"expected --confidence in (0.5, 1), got {options['confidence']}")
    subject = load_subject(options, texts_given(options))
    if not isinstance(subject.victim, Smoothed):
        raise InputError(
            f"expected --model of kind safer or ranmask, got {subject.victim.kind!r}; make one with `lexproof harden`"
        )
    warn_bad_rows(subject.data)
    subject.frame.announce()
    _certify(subject, _golds(subject, options["label"]), options)


def _golds(subject: Subject, label: str | None) -> Sequence[int | None]:
    """The gold label of each text, None where what is predicted counts as such."""
    if subject.data.labels is not None:
        return subject.data.labels
    return [label_of(label, subject.victim)] * len(subject.data.texts)


def _certify(subject: Subject, golds: Sequence[int | None], options: dict[str, Any]) -> None:
    total, failed, tally = len(golds), list[ModelError](), Tally()
    with ExitStack() as stack:
        write = stack.enter_context(new_file(options["out"]))
        step = stack.enter_context(progress_bar("smooth", total)) if total > 1 else lambda done: None
        for number, certified in enumerate(_certificates(subject, options)):
            gold = golds[number]
            if isinstance(certified, ModelError):
                failed.append(certified)
                if total == 1:
                    raise certified
            else:
                tally.add(certified, gold)
            record = _record(number, subject, certified, gold)
            write(record)
            if options["as_json"]:
                emit(record)
            else:
                _show(record, subject.victim.labels)
            step(number + 1)
        if failed and len(failed) == total:
            raise InputError(f"none of {total} texts answered, the first: {failed[0]}")
    (screen if options["as_json"] else paper()).print(tally.sentence(), soft_wrap=True)
    if failed:
        screen.print(f"{len(failed)} of {total} texts not answered, the first: {failed[0]}")


def _certificates(subject: Subject, options: dict[str, Any]) -> Iterator[Certified]:
    """Each text's certificate; one that the base cannot read does not take the others with it."""
    settings = {name: options[name] for name in ("samples", "selection", "confidence", "seed")}
    for given in subject.data.texts:
        try:
            yield certify_smoothed(subject.victim, subject.space(given), **settings)
        except ModelError as error:
            yield error


def _record(number: int, subject: Subject, certified: Certified, gold: int | None) -> dict[str, Any]:
    """`label` is the gold one, as everywhere, and `predicted` the class that is certified."""
    if isinstance(certified, ModelError):
        given = subject.data.texts[number]
        surface = given if isinstance(given, str) else given[1]
        return {"id": number, "text": surface, "label": gold, "answer": "error", "reason": str(certified)}
    record = certified.to_json()
    own = certified.label
    return {"id": number, **record, "label": own if gold is None else gold, "predicted": own}


def _show(record: dict[str, Any], labels: tuple[str, ...]) -> None:
    """One text for people."""
    console = paper()
    console.print(Styled(visible(record["text"])), soft_wrap=True)
    if record["answer"] == "error":
        console.print(Styled(visible(f"  error: {record['reason']}"), style="red"), soft_wrap=True)
        return
    chosen, wrong = labels[record["predicted"]], record["predicted"] != record["label"]
    said = Styled(f"  {visible(chosen)}", style="yellow" if wrong else "")
    said.append(f" (gold: {visible(labels[record['label']])})" if wrong else "")
    if record["abstained"]:
        said.append(": not certain", style="yellow")
    elif record["whole"]:
        said.append(f": holds for up to {plural(record['radius'], 'swap')}, the whole space", style="green")
    elif record["radius"]:
        said.append(f": holds for up to {plural(record['radius'], 'swap')} of {record['max_swaps']}", style="green")
    else:
        said.append(": certain for the text itself, for no swap")
    said.append(f"; probability at least {record['p_low']:.4f}, of any other at most {record['p_up']:.4f}", style="dim")
    console.print(said, soft_wrap=True)


@dataclass(slots=True)
class Tally:
    """How many texts have the gold class for certain, and within how many swaps."""

    radii: list[float] = field(default_factory=list)
    """Of each text; -1 if nothing is certain or the class is wrong, infinite if its whole space is certified."""
    swaps: int = 0
    confidence: float = 0.0

    def add(self, certificate: SmoothedCertificate, gold: int | None) -> None:
        """Take a text's certificate."""
        self.confidence = certificate.confidence
        if certificate.radius is None or gold not in (None, certificate.label):
            self.radii.append(-1)
            return
        self.radii.append(inf if certificate.is_whole else certificate.radius)
        self.swaps = max(self.swaps, certificate.radius)

    def sentence(self) -> str:
        """The certified shares of all texts, and what they are about; the interval is over the draw of the texts."""
        n, whole = len(self.radii), self.radii.count(inf)
        low, high = clopper_pearson(whole, n, 0.95)
        curve = ", ".join(f"{r}: {percent(self._share(r))}" for r in range(self.swaps + 1))
        return (
            f"certified for the whole space: {whole} of {n} texts, {percent(whole / n)} [{low:.4f}, {high:.4f}] "
            f"(95 % Clopper-Pearson); by number of swaps: {curve}.  These speak for the smoothed classifier, each with "
            f"confidence {self.confidence:g}; not for its base, nor for a finite number of copies"
        )

    def _share(self, swaps: int) -> float:
        return sum(radius >= swaps for radius in self.radii) / len(self.radii)
