"""lexproof words: which single words break a classifier, class by class (kappa), and how robust it is to them (rho)."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from lexproof.auditing.word_run import Found, WordRun, WordSubject, carry_on, finish, start
from lexproof.cli.audit import readable
from lexproof.cli.inputs import check_new
from lexproof.cli.options import (
    announce_caveats,
    check_utf8,
    data_options,
    json_option,
    load_victim,
    model_option,
    progress_bar,
    refuse_arguments,
    seed_option,
    warn_bad_rows,
)
from lexproof.cli.streams import emit, screen
from lexproof.cli.word_inputs import parse, texts_of, usual_split, words_of
from lexproof.cli.word_tables import show_words
from lexproof.engine import Limits
from lexproof.errors import InputError
from lexproof.single_words.accuracy import MOST, Gold
from lexproof.single_words.answer import FlipWords
from lexproof.single_words.question import METHODS, Progress, Settings
from lexproof.victims.base import Victim

_SPLIT = "Part of a named set [default: train, or test if it has no such part]."
_SLOW, _FEW = ("transformer", "endpoint"), 100  # victims that take long, and how many texts they read for an accuracy


@click.command(context_settings={"allow_extra_args": True})
@model_option
@data_options
@click.option("--sample", type=click.IntRange(min=1), help="Use N texts drawn by the seed, instead of --limit.")
@click.option("--vocabulary", type=click.Path(path_type=Path),
              help="Words to try: a text file, one a line [default: the words that the model knows].")  # fmt: skip
@click.option(
    "--most-frequent", type=click.IntRange(min=1), help="Try the N most frequent words of the training texts."
)
@click.option("--method", type=click.Choice(METHODS), default="auto", show_default=True,
              help="exact tries everything; euba tries what is promising, and bounds kappa from below.")  # fmt: skip
@click.option("--patience", type=click.IntRange(min=1), default=512, show_default=True,
              help="Misses in a row after which euba stops.")  # fmt: skip
@click.option("--certify", is_flag=True, help="Also bound kappa from above, for what euba leaves open.")
@click.option("--time-limit", type=click.FloatRange(min=0, min_open=True), help="Seconds a text.")
@click.option("--top", type=click.IntRange(min=1), default=10, show_default=True, help="Words shown of each class.")
@click.option("--list", "list_file", type=click.Path(dir_okay=False, path_type=Path),
              help="New file for the words of highest kappa, one a line, as sp-attack reads them.")  # fmt: skip
@click.option("--list-by", type=click.Choice(["class", "all"]), default="class", show_default=True,
              help="The highest kappa of each class by turns, or of all texts, as in the paper.")  # fmt: skip
@click.option("--list-size", type=click.IntRange(min=1), default=50, show_default=True, help="Words of --list.")
@click.option("--accuracy-texts", type=click.IntRange(min=0),
              help="Texts of either kind by which accuracy without a word, and attacked with it, is measured; 0: it is "
              "not [default: 1000, or 100 for transformers and endpoints].")  # fmt: skip
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), help="Run folder, with a page to look at.")
@click.option("--resume", is_flag=True, help="Continue the run in --out; gives the same answers.")
@click.option("--overwrite", is_flag=True, help="Replace the run in --out.")
@seed_option
@json_option
@click.pass_context
def words(ctx: click.Context, /, **options: Any) -> None:
    """Find the single words that flip most texts."""
    refuse_arguments(ctx)
    _check(options)
    settings = Settings(
        method=options["method"],
        patience=options["patience"],
        certify=options["certify"],
        limits=Limits(None, options["time_limit"]),
    )
    subject = _subject(options, shlex.join(["lexproof", *ctx.obj]))
    folder: Path | None = options["out"]
    with readable(folder or Path()):
        run = start(subject, settings, folder, resume=options["resume"], overwrite=options["overwrite"])
        found = _carry_out(run, subject, options)
        if options["list_file"] is not None:
            _write_list(options["list_file"], found.answer, options["list_size"], options["list_by"])
        _print(found, folder, options["as_json"])


for _option in words.params:
    # other verbs ask about the test part; kappa is taken over texts that the classifier was trained on
    if isinstance(_option, click.Option) and _option.name == "split":
        _option.default, _option.help = None, _SPLIT


def _check(options: dict[str, Any]) -> None:
    """Refuse what cannot be meant, before anything is loaded."""
    if options["resume"] and options["overwrite"]:
        raise InputError("expected --resume or --overwrite, got both; choose one")
    if options["out"] is None and (options["resume"] or options["overwrite"]):
        name = "--resume" if options["resume"] else "--overwrite"
        raise InputError(f"expected {name} with --out, got it without; say which run folder is meant")
    check_new(options["list_file"], "--list")
    for name in ("model", "labels"):
        check_utf8(options[name] or "")


def _subject(options: dict[str, Any], command: str) -> WordSubject:
    options["split"] = options["split"] or usual_split(options["data"] or "demo")
    victim = load_victim(options["model"], options["labels"], options["label_only"])
    data, whole = texts_of(options, victim)
    warn_bad_rows(data)
    announce_caveats(victim)
    asked, source = words_of(options, victim, data)
    return WordSubject(
        victim,
        data.texts,
        data.labels,
        asked,
        source,
        data.name,
        tuple((row.line, row.reason) for row in data.bad_rows),
        command,
        options["seed"],
        Gold([parse(given) for given in whole.texts], whole.labels),
    )


def _carry_out(run: WordRun, subject: WordSubject, options: dict[str, Any]) -> Found:
    """Answer and sum up; an interruption sums up what is finished and goes on to end the program."""
    try:
        with _bars() as progress:
            carry_on(run, progress)
            found = finish(
                run,
                subject,
                top=options["top"],
                accuracy_texts=_accuracy_texts(options, subject.victim),
                progress=progress,
            )
    except KeyboardInterrupt:
        _interrupted(run, subject, options)
        raise
    except BaseException:
        run.store.abandon()
        raise
    run.store.close()
    return found


def _accuracy_texts(options: dict[str, Any], victim: Victim) -> int:
    given: int | None = options["accuracy_texts"]
    return (_FEW if victim.kind in _SLOW else MOST) if given is None else given


def _interrupted(run: WordRun, subject: WordSubject, options: dict[str, Any]) -> None:
    """Show what is finished, and how to go on."""
    if run.rows():
        _print(finish(run, subject, top=options["top"], accuracy_texts=0), run.store.folder, options["as_json"])
    if run.store.folder is not None and not run.store.is_empty:
        screen.print(f"interrupted; continue with --resume --out {run.store.folder}", soft_wrap=True)
    run.store.abandon()


@contextmanager
def _bars() -> Iterator[Progress]:
    """A bar for each part of the work, one after the other."""
    with ExitStack() as stack:
        shown: dict[str, Callable[[int], None]] = {}

        def progress(what: str, finished: int, total: int) -> None:
            if what not in shown:
                stack.close()
                shown[what] = stack.enter_context(progress_bar(what, total))
            shown[what](finished)

        yield progress


def _print(found: Found, folder: Path | None, as_json: bool) -> None:
    if as_json:
        emit(found.summary)
    else:
        show_words(found.summary, folder)


def _write_list(path: Path, found: FlipWords, size: int, by: str) -> None:
    ranked = found.by_turns(size) if by == "class" else found.top(size)
    listed = [found.words[word] for word in ranked if found.known[word].any()]
    if not listed:
        screen.print(f"no word is known to flip a text: {path} is not written", soft_wrap=True)
        return
    with path.open("x", encoding="utf-8") as file:
        file.writelines(f"{word}\n" for word in listed)
    screen.print(f"list: {path}, {len(listed)} words", soft_wrap=True)
