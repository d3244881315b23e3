"""How the shares of many texts are spread: by class as groups for violins, and as strips on standard output.

A strip is a histogram of PR, the share of a text's space that keeps the label, from 0 at its left to 1 at its right.
As in an audit, misclassified texts are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

from lexproof.auditing.summary import THRESHOLD, Shares
from lexproof.cli.streams import paper
from lexproof.report.numerals import confidence, count, interval, percent, plural, proportion
from lexproof.report.violin import Group
from lexproof.report.visible import visible

Record = dict[str, Any]

BINS = 25
"""Characters of a strip."""

_BLOCKS, _PLAIN = " ▁▂▃▄▅▆▇█", " .:-=+*#@"  # the second where the terminal lacks the first
_NAME = 16  # letters of a name


def groups(records: Iterable[Record], labels: Sequence[str]) -> list[Group]:
    """Correctly classified texts by their label, for `write_violins`."""
    shares = _collected(records)
    return [
        Group(name=labels[label], values=[1 - value for value in values], above=shares.above(label))
        for label, values in sorted(shares.by_label.items())
    ]


def print_strips(records: Sequence[Record], labels: Sequence[str]) -> None:
    """One line a class; nothing if no text is classified correctly."""
    found = groups(records, labels)
    if not found:
        return
    console, total = paper(), sum(len(group.values) for group in found)
    wrong = len(records) - total
    left_out = f"; {plural(wrong, 'text')} misclassified, left out" if wrong else ""
    console.print(
        f"PR, the share that keeps the label, from 0 to 1 over {plural(total, 'text')}{left_out}", soft_wrap=True
    )
    console.print(
        f"median PR; texts of PR > {THRESHOLD:g} out of those of the class [{_stated(found)}]", soft_wrap=True
    )
    blocks = _BLOCKS if can_write(_BLOCKS, console.encoding) else _PLAIN
    names = [_cut(visible(group.name)) for group in found]
    width = max(map(len, names))
    for name, group in zip(names, found, strict=True):
        said = f"{proportion(median(group.values))}; {_said(group.above or {})}"
        console.print(f"  {name:{width}} |{strip(group.values, blocks)}| {said}", soft_wrap=True)


def strip(values: Sequence[float], blocks: str = _BLOCKS) -> str:
    """A histogram of values in [0, 1] on one line; a bin that holds any value is never blank."""
    counts = Counter(min(int(value * BINS), BINS - 1) for value in values)
    highest = max(counts.values(), default=1)
    steps = len(blocks) - 1
    return "".join(blocks[-(-counts[i] * steps // highest)] for i in range(BINS))


def _collected(records: Iterable[Record]) -> Shares:
    shares = Shares()
    for record in records:
        if record["predicted"] == record["label"]:
            shares.add(record["label"], record)
    return shares


def _stated(found: Sequence[Group]) -> str:
    return f"{confidence((found[0].above or {})['confidence'])} interval"


def _said(above: Mapping[str, Any]) -> str:
    part = f"{count(above['k'])} of {count(above['n'])}"
    return f"{part}, {percent(above['value'])} [{interval(above['low'], above['high'])}]"


def _cut(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 3]}..."


def can_write(letters: str, encoding: str) -> bool:
    """Whether a terminal of this encoding has all of these letters."""
    try:
        letters.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
