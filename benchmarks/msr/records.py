"""Results as JSON lines, one a text as it is finished, and which texts a network is measured on."""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import lexproof as lp
from lexproof.data import read
from lexproof.text import Text
from lexproof.victims.base import Victim
from lexproof.victims.vocabulary import tokens

Record = dict[str, Any]
Key = tuple[object, ...]

MILESTONES = (5, 20, 50)  # texts of every network before any network gets more: each table has something early
FILES = ("model.json", "vocabulary.json", "weights.safetensors")
LINE_SECONDS = 10.0  # between two lines of progress


class Log:
    """A file of JSON lines that a later run continues; a line cut off by a sudden end does not count.

    Reading changes nothing, so that tables may be printed while another process measures.
    """

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        self.path, self.names = path, names
        self.records: dict[Key, Record] = {}
        self._cut: int | None = None  # where a line begins that was cut off
        if path.exists():
            lines = path.read_bytes()
            whole = lines.rfind(b"\n") + 1
            self._cut = whole if whole < len(lines) else None
            for line in lines[:whole].decode().splitlines():
                record = json.loads(line)
                self.records[self.key(record)] = record

    def key(self, record: Record) -> Key:
        return tuple(record[name] for name in self.names)

    def __contains__(self, key: object) -> bool:
        return key in self.records

    def add(self, record: Record) -> None:
        self.records[self.key(record)] = record
        with self.path.open("ab") as file:
            if self._cut is not None:
                file.truncate(self._cut)
                self._cut = None
            file.write(json.dumps(record).encode() + b"\n")

    def newest(self, **wanted: object) -> list[Record]:
        """Records with these values, of each network only those of the weights that were measured last."""
        found = [r for r in self.records.values() if all(r[name] == value for name, value in wanted.items())]
        last = {r["model"]: r["fingerprint"] for r in found}
        return [r for r in found if r["fingerprint"] == last[r["model"]]]


@dataclass(slots=True)
class Progress:
    """A line now and then: what is done, what remains, and until when at the pace of this run."""

    total: int
    done: int = 0
    begun: float = field(default_factory=time.perf_counter)
    told: float = field(default_factory=time.perf_counter)

    def step(self, what: str) -> None:
        self.done += 1
        now = time.perf_counter()
        if now - self.told > LINE_SECONDS or self.done == self.total:
            left = (now - self.begun) / self.done * (self.total - self.done)
            print(f"{self.done} of {self.total} texts, {what}, {left / 60:.0f} min left", file=sys.stderr, flush=True)
            self.told = now


class Source:
    """Networks of a folder, and for each the texts of its test set in an order drawn by the seed."""

    def __init__(self, models: Path, seed: int) -> None:
        self.models, self.seed = models, seed
        self._victims: dict[str, Victim] = {}
        self._sets: dict[str, tuple[list[str], list[int], list[int]]] = {}
        self._chosen: dict[tuple[str, int | None], tuple[list[int], Iterator[int]]] = {}

    def has(self, name: str) -> bool:
        return all((self.models / name / file).exists() for file in FILES)

    def victim(self, name: str) -> Victim:
        if name not in self._victims:
            self._victims[name] = lp.load(self.models / name)
        return self._victims[name]

    def text(self, name: str, number: int) -> tuple[Text, int]:
        texts, labels, _ = self._read(name)
        return Text.parse(texts[number]), labels[number]

    def chosen(self, name: str, count: int, longest: int | None = None) -> list[int]:
        """Numbers of the first texts that the network classifies correctly, of at most so many tokens."""
        known, more = self._chosen.setdefault((name, longest), ([], self._right(name, longest)))
        while len(known) < count:
            number = next(more, None)
            if number is None:
                break
            known.append(number)
        return known[:count]

    def _read(self, name: str) -> tuple[list[str], list[int], list[int]]:
        data = name.split("-")[0]
        if data not in self._sets:
            found = read(data, split="test")
            order = np.random.default_rng(self.seed).permutation(len(found.texts)).tolist()
            self._sets[data] = ([str(text) for text in found.texts], list(found.labels), order)
        return self._sets[data]

    def _right(self, name: str, longest: int | None) -> Iterator[int]:
        texts, labels, order = self._read(name)
        victim = self.victim(name)
        for start in range(0, len(order), 256):
            block = [n for n in order[start : start + 256] if self._fits(texts[n], longest)]
            predicted = victim.predict([texts[n] for n in block]) if block else []
            yield from (n for n, label in zip(block, predicted, strict=True) if label == labels[n])

    @staticmethod
    def _fits(text: str, longest: int | None) -> bool:
        return bool(Text.parse(text).words) and (longest is None or len(tokens(text)) <= longest)


def milestones(count: int) -> list[int]:
    return [*(some for some in MILESTONES if some < count), count]


def present(source: Source, names: list[str], only: str) -> list[str]:
    """Those of these networks that are there and asked for; the others are named on standard error."""
    asked = [name for name in names if only in name]
    found = [name for name in asked if source.has(name)]
    missing = [name for name in asked if name not in found]
    if missing:
        print(f"not trained yet, left out: {', '.join(missing)}", file=sys.stderr, flush=True)
    return found
