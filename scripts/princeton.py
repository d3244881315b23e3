"""Princeton WordNet's database files (data.*, index.*, *.exc) as plain records.

Only what substitutes need is kept: members, part of speech, pointers, order of senses, counts; no glosses.
File formats: wndb(5WN) and cntlist(5WN) of WordNet 3.0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lexproof.errors import DataError

FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
"""Part of speech to the ending of its files."""

Key = tuple[str, int]
"""A synset: part of speech and offset in its data file."""


@dataclass(frozen=True, slots=True)
class Pointer:
    """A relation of a synset, or of one member (`source`, from 1) to one member (`target`); 0 and 0 mean all."""

    symbol: str
    key: Key
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Synset:
    """A set of words that can mean the same, as they are spelled ("Paris", "hot_dog")."""

    key: Key
    words: tuple[str, ...]
    pointers: tuple[Pointer, ...]


@dataclass(frozen=True, slots=True)
class Database:
    """All of a WordNet: synsets by key, senses of each lemma in order, irregular forms (form, lemma)."""

    synsets: dict[Key, Synset]
    senses: dict[str, dict[str, tuple[Key, ...]]]  # part of speech -> lower-case lemma -> synsets, commonest first
    counts: dict[tuple[str, str], int]  # (part of speech, lemma) -> how often seen in the tagged texts
    irregular: dict[str, tuple[tuple[str, str], ...]]  # part of speech -> (form, lemma)


def read(folder: Path) -> Database:
    """Read a folder that holds data.noun, index.noun, noun.exc and the like."""
    missing = [name for name in (f"data.{end}" for end in FILES.values()) if not (folder / name).is_file()]
    if missing:
        raise DataError(
            f"expected WordNet's database files in {folder}, got no {missing[0]}; give the folder of data.noun"
        )
    synsets, senses, irregular = {}, {}, {}
    for pos, end in FILES.items():
        for synset in _synsets(folder / f"data.{end}", pos):
            synsets[synset.key] = synset
        senses[pos] = dict(_senses(folder / f"index.{end}", pos))
        irregular[pos] = tuple(_irregular(folder / f"{end}.exc"))
    return Database(synsets, senses, _counts(folder / "cntlist.rev"), irregular)


def _lines(path: Path) -> Iterator[list[str]]:
    # the licence at the top of each file is set off by two blanks
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("  "):
                yield line.split(" | ", 1)[0].split()


def _counts(path: Path) -> dict[tuple[str, str], int]:
    counts: Counter[tuple[str, str]] = Counter()
    if path.is_file():
        for sense, _, count in _lines(path):
            lemma, _, rest = sense.partition("%")
            counts["nvara"[int(rest[0]) - 1], lemma] += int(count)
    return dict(counts)


def _synsets(path: Path, pos: str) -> Iterator[Synset]:
    for fields in _lines(path):
        offset, size = int(fields[0]), int(fields[3], 16)
        # an adjective may carry a position marker: "galore(ip)"
        members = [word.partition("(")[0] for word in fields[4 : 4 + 2 * size : 2]]
        start = 5 + 2 * size
        pointers = []
        for at in range(start, start + 4 * int(fields[start - 1]), 4):
            symbol, target, kind, ends = fields[at : at + 4]
            key = ("a" if kind == "s" else kind, int(target))
            pointers.append(Pointer(symbol, key, int(ends[:2], 16), int(ends[2:], 16)))
        yield Synset((pos, offset), tuple(members), tuple(pointers))


def _senses(path: Path, pos: str) -> Iterator[tuple[str, tuple[Key, ...]]]:
    for fields in _lines(path):
        yield fields[0], tuple((pos, int(offset)) for offset in fields[-int(fields[2]) :])


def _irregular(path: Path) -> Iterator[tuple[str, str]]:
    for form, *lemmas in _lines(path):
        for lemma in lemmas:
            if form != lemma:
                yield form, lemma
