"""What `lexproof words` is asked about: which part of a set, which texts of it, which words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from lexproof.candidates.files import read_text
from lexproof.cli.options import load_data, load_texts
from lexproof.data import Dataset, named
from lexproof.errors import DataError, InputError
from lexproof.search import Seed
from lexproof.single_words.vocabulary import check_words, vocabulary_of
from lexproof.text import Input, Text
from lexproof.victims.base import Victim

Words = tuple[tuple[str, ...], str]
"""Words, and where they come from."""


def usual_split(source: str) -> str:
    """The part of a named set that kappa is usually taken over: train if there is one, else test."""
    folder = Path(source).expanduser()
    if folder.is_dir():
        return "train" if (folder / "train.jsonl.xz").is_file() else "test"
    try:
        return "train" if len(folder.parts) == 1 and named.find(source, "train") is not None else "test"
    except DataError:  # a set without that part
        return "test"


def texts_of(options: dict[str, Any], victim: Victim) -> tuple[Dataset, Dataset]:
    """The texts asked about (all of them, the first ones, or some in an order by chance), and those they are from."""
    if options["sample"] is not None and options["limit"] is not None:
        raise InputError("got both --limit and --sample; leave out one of them")
    data = load_texts(options, victim.labels)
    wanted: int | None = options["sample"]
    if wanted is None:
        return data, data
    if wanted > len(data):
        raise InputError(f"expected --sample of at most {len(data)}, the number of texts of {data.name}, got {wanted}")
    # in the order drawn: what is finished of an interrupted run is a draw by chance, too
    keys = Seed(options["seed"], ("texts",)).generator().permutation(len(data))[:wanted].tolist()
    labels = None if data.labels is None else tuple(data.labels[key] for key in keys)
    return replace(data, texts=tuple(data.texts[key] for key in keys), labels=labels), data


def words_of(options: dict[str, Any], victim: Victim, data: Dataset) -> Words:
    """The vocabulary asked about, and where it comes from."""
    path: Path | None = options["vocabulary"]
    most: int | None = options["most_frequent"]
    if path is not None and most is not None:
        raise InputError("got both --vocabulary and --most-frequent; leave out one of them")
    if path is not None:
        return _listed(path), str(path)
    if most is not None:
        training = _training_texts(options)
        return _frequent(training.texts, most), f"most frequent words of {training.name}"
    words = vocabulary_of(victim, [parse(given) for given in data.texts])
    return words, "words of letters that the model knows"


def _listed(path: Path) -> tuple[str, ...]:
    lines = read_text(path, "--vocabulary to be a text file with one word a line").splitlines()
    words = [line.strip() for line in lines if line.strip()]
    if not words:
        raise InputError(f"expected --vocabulary to be a text file with one word a line, got no words in {path}")
    phrase = next((word for word in words if len(word.split()) > 1), None)
    if phrase is not None:
        raise InputError(f"expected --vocabulary to be a text file with one word a line, got {phrase!r} in {path}")
    return check_words(words)


def _training_texts(options: dict[str, Any]) -> Dataset:
    """The train part of the set, or all that there is of the part asked about."""
    usual = usual_split(options["data"] or named.DEMO)
    return load_data({**options, "limit": None, "split": "train" if usual == "train" else options["split"]})


def _frequent(texts: Iterable[Input], most: int) -> tuple[str, ...]:
    """The most frequent words of letters, in lower case; in alphabetic order where they are as frequent."""
    counts = Counter(word.lower() for given in texts for word in parse(given).words if word.isalpha())
    if not counts:
        raise InputError("expected texts with words of letters for --most-frequent, got none")
    return check_words(sorted(counts, key=lambda word: (-counts[word], word))[:most])


def parse(given: Input) -> Text:
    """The words of a text, or of the second one of a pair."""
    return Text.parse(given) if isinstance(given, str) else Text.parse(given[1], premise=given[0])
