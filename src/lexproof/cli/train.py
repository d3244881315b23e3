"""lexproof train: a classifier of any kind from a file or a named set."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from lexproof.cli.frame import stack
from lexproof.cli.options import json_option, progress_bar, seed_option, warn_bad_rows
from lexproof.cli.streams import emit, paper
from lexproof.cli.train_settings import parse_settings
from lexproof.cli.training_bar import TrainingBar, resuming
from lexproof.data import Dataset, read
from lexproof.data.named import find
from lexproof.errors import InputError
from lexproof.training import KINDS, train
from lexproof.victims.base import Victim
from lexproof.victims.folder import check_target

_TOGETHER = 64  # texts whose accuracy is taken at a time: few, since a smoothed model reads a hundred copies of each


train_options = stack(
    click.option("--data", required=True, help="csv, tsv, json, jsonl or parquet file, or the name of a set."),
    click.option("--split", default="train", show_default=True, help="Part of a named set to train on."),
    click.option(
        "--valid", help="File to choose the best epoch on [default: the set's dev split, or a tenth held out]."
    ),
    click.option("--test", help="File to report accuracy on [default: the set's test split, if any]."),
    click.option("--text-column", default="text", show_default=True),
    click.option("--label-column", default="label", show_default=True),
    click.option("--premise-column", help="Column of the first text of a pair."),
    click.option("--limit", type=click.IntRange(min=1), help="Train on the first N texts only."),
    click.option("--vectors", type=click.Path(path_type=Path), help="Pretrained word vectors: .npz or GloVe .txt."),
    click.option("--epochs", type=click.IntRange(min=1)),
    click.option("--learning-rate", type=click.FloatRange(min=0, min_open=True)),
    click.option("--batch-size", type=click.IntRange(min=1)),
    click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the kind, e.g. filters=150."
    ),
    click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path), help="Folder to write."),
    click.option("--overwrite", is_flag=True, help="Replace a model folder."),
    click.option("--fresh", is_flag=True, help="Start anew even if an interrupted training could be resumed."),
)
"""What `train` and `harden` share."""


@click.command("train")
@click.argument("kind", type=click.Choice(KINDS))
@train_options
@seed_option
@json_option
def train_command(**options: Any) -> None:
    """Train an mlp, cnn, lstm, bilstm or transformer classifier.

    An interrupted training resumes when the same command is given again.
    """
    out = free_target(options)
    chosen = chosen_options(options["kind"], options)
    data, valid, test = data_parts(options)
    begun = time.perf_counter()
    with TrainingBar() as bar, resuming(out, fresh=options["fresh"]) as checkpoint:
        victim = train(
            options["kind"],
            data.texts,
            labels_of(data),
            valid=None if valid is None else (valid.texts, labels_of(valid)),
            label_names=data.label_names,
            vectors=options["vectors"],
            seed=options["seed"],
            progress=bar,
            checkpoint=checkpoint,
            **chosen,
        )
        save(victim, out)
    report(victim, out, time.perf_counter() - begun, options["as_json"], valid=valid, test=test)


def free_target(options: dict[str, Any]) -> Path:
    """The folder to write; InputError if a model is there that is not to be replaced."""
    out: Path = options["out"]
    if check_target(out).exists() and any(out.iterdir()) and not options["overwrite"]:
        raise InputError(f"expected --out to be a new folder, got {out}; remove it or replace a model with --overwrite")
    return out


def chosen_options(kind: str, options: dict[str, Any]) -> dict[str, Any]:
    """The training options that were given, by the names that `train` knows them by."""
    chosen = {name: options[name] for name in ("epochs", "learning_rate", "batch_size") if options[name] is not None}
    return chosen | parse_settings(kind, options["settings"])


def data_parts(
    options: dict[str, Any], labels: Sequence[str] | None = None
) -> tuple[Dataset, Dataset | None, Dataset | None]:
    """The texts to train on, to choose the best epoch on, and to report accuracy on."""
    data = _read(options["data"], options, options["split"], options["limit"], labels)
    warn_bad_rows(data)
    others = _other(options, "valid", "dev", data), _other(options, "test", "test", data)
    for other in others:
        if other is not None:
            warn_bad_rows(other, f" of {other.name}")
    return data, *others


def save(victim: Victim, folder: Path) -> None:
    """Write the model folder."""
    victim.save(folder)  # type: ignore[attr-defined]


def _read(source: str, options: dict[str, Any], split: str, limit: int | None, labels: Any = None) -> Dataset:
    return read(
        source,
        text=options["text_column"],
        label=options["label_column"],
        premise=options["premise_column"],
        labels=labels,
        limit=limit,
        split=split,
    )


def _other(options: dict[str, Any], name: str, split: str, data: Dataset) -> Dataset | None:
    """The file given for validation or test, or the split of a named set."""
    if options[name] is not None:
        return _read(options[name], options, split, None, data.label_names)
    is_named = not Path(options["data"]).exists()
    if is_named and split in _splits(options["data"]) and split != options["split"]:
        return _read(options["data"], options, split, None, data.label_names)
    return None


def _splits(name: str) -> set[str]:
    folder = find(name, "train")
    return set() if folder is None else {path.name.split(".")[0] for path in folder.parent.glob("*.jsonl.xz")}


def labels_of(data: Dataset) -> tuple[int, ...]:
    """The labels of a set, or InputError if it has none."""
    if data.labels is None:
        raise InputError(f"expected labels in {data.name}, found none; name their column with --label-column")
    return data.labels


def _accuracy(victim: Victim, data: Dataset, name: str) -> float:
    """Share of the texts that are classified correctly; a smoothed model reads each many times, so with a bar."""
    labels = labels_of(data)
    right = 0
    with progress_bar(f"accuracy on {name}", len(labels)) as finished:
        for start in range(0, len(labels), _TOGETHER):
            block = slice(start, start + _TOGETHER)
            guesses = victim.predict(data.texts[block])
            right += sum(guess == gold for guess, gold in zip(guesses, labels[block], strict=True))
            finished(min(start + _TOGETHER, len(labels)))
    return right / len(labels)


def report(victim: Victim, out: Path, seconds: float, as_json: bool, **parts: Dataset | None) -> None:
    """Say what was trained, how long it took, and how accurate it is on each part."""
    record: dict[str, Any] = {"model": str(out), "kind": victim.kind, "seconds": round(seconds, 1)}
    training = getattr(victim, "training", {})
    record["best_epoch"] = training.get("best_epoch")
    if defense := training.get("defense"):
        record["defense"] = defense["name"]
    if synonyms := training.get("synonyms"):
        record["synonyms"] = synonyms["name"]
    try:
        for name, part in parts.items():
            if part is not None:
                record[f"{name}_accuracy"] = round(_accuracy(victim, part, name), 4)
                record[f"{name}_n"] = len(part)
    except KeyboardInterrupt as stop:  # of a smoothed model this may take longer than its training did
        raise KeyboardInterrupt(f"the model in {out} is complete, only its accuracy was not taken") from stop
    if as_json:
        emit(record)
        return
    console = paper()
    for name, value in record.items():
        console.print(f"{name:>16}  {value}")
