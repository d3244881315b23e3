"""Labels: from what a file says to class indexes.

With label names (usually the victim's) a value is a name, a name in other case, or an index; where a set's own names
are the same ones in another order, or shorter or longer ones (`neg`, `negative`), an index means its own.  Without
names, integers stay what they are and strings are numbered in sorted order.
"""

from __future__ import annotations

from collections.abc import Sequence

from lexproof.errors import DataError

_MOST_CLASSES = 100  # larger (or negative) integers are codes to be numbered, not indexes
_MOST_DIGITS = 600  # Python may refuse to convert more; such a label is a name
_SHOWN = 80  # characters of a label in a message


def raw_label(value: object) -> int | str:
    """An integer or a non-empty string, or DataError."""
    if isinstance(value, str) and value.strip():
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if value is None or value == "":
        raise DataError("no label")
    raise DataError(f"expected a label that is an integer or a string, got {type(value).__name__} {value!r}")


class Labeler:
    """Class indexes of labels among known names; `own` are the names that the set itself gives to its indexes."""

    def __init__(self, names: Sequence[str], own: Sequence[str] | None = None) -> None:
        self.names = tuple(names)
        self._exact = {name: k for k, name in enumerate(self.names)}
        self._folded = {name.casefold(): k for k, name in enumerate(self.names)}
        self.notice = ""
        """What a user must know of how the set's classes were told apart; empty if their names say it."""
        self._order = list(range(len(self.names))) if own is None else self._matched(own)

    def _matched(self, own: Sequence[str]) -> list[int]:
        """The class of each index of the set: by name or the beginning of one if all are known, else by order."""
        found = [self._named(name.casefold()) for name in own]
        known = [k for k in found if k is not None]
        if len(set(known)) == len(own):
            return known
        if len(own) != len(self.names):
            raise DataError(f"expected the classes {', '.join(self.names)}, got {', '.join(own)}")
        if not all(name.endswith(str(k)) for k, name in enumerate(self.names)):  # such as 0, 1 or LABEL_0, LABEL_1
            pairs = ", ".join(f"{theirs} as {ours}" for theirs, ours in zip(own, self.names, strict=True))
            self.notice = f"the classes have other names here and are taken in their order: {pairs}"
        return list(range(len(self.names)))

    def _named(self, folded: str) -> int | None:
        """The class of this name, or the only one that begins it or that it begins: `neg` is `negative`."""
        if folded in self._folded:
            return self._folded[folded]
        near = [k for name, k in self._folded.items() if name and (name.startswith(folded) or folded.startswith(name))]
        return near[0] if len(near) == 1 else None

    def index(self, raw: int | str) -> int:
        """The index of a label, or DataError if it is not among the names."""
        text = str(raw)
        for table, key in ((self._exact, text), (self._folded, text.casefold())):
            if key in table:
                return table[key]
        number = _integer(raw)
        if number is not None and 0 <= number < len(self._order):
            return self._order[number]
        shown = raw if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        raise DataError(f"label {shown!r} is not one of {', '.join(self.names)}")


def number_labels(raw: Sequence[int | str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Class indexes of labels without known names, and the names they get."""
    numbers = [_integer(value) for value in raw]
    integers = [number for number in numbers if number is not None]
    if len(integers) == len(raw) and all(0 <= number < _MOST_CLASSES for number in integers):
        return tuple(integers), tuple(map(str, range(max(integers) + 1)))
    if len(integers) == len(raw):
        names = tuple(str(number) for number in sorted(set(integers)))
        return tuple(names.index(str(number)) for number in integers), names
    names = tuple(sorted({str(value) for value in raw}))
    index = {name: k for k, name in enumerate(names)}
    return tuple(index[str(value)] for value in raw), names


def _integer(raw: int | str) -> int | None:
    if isinstance(raw, int):
        return raw
    digits = raw.removeprefix("-")
    return int(raw) if len(digits) <= _MOST_DIGITS and digits.isascii() and digits.isdecimal() else None
