"""Your own substitutes: a table of word: [substitutes], as a dictionary or a JSON file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lexproof.candidates.base import Options, Spec, WordSource
from lexproof.candidates.files import check_unicode, read_object, sha256_of_json
from lexproof.errors import InputError


class Table(WordSource):
    """The substitutes that a table lists, in its order; words that it does not list have none.

    Keys are found whatever their case, and the case of the word in the text is restored ("Film" gets "Movie").
    """

    def __init__(self, table: Mapping[str, Sequence[str]]) -> None:
        super().__init__()
        self._table: dict[str, Options] = {}
        for word, options in table.items():
            if not isinstance(options, list | tuple) or not all(
                isinstance(option, str) and option for option in options
            ):
                raise InputError(f"expected a list of substitutes for {word!r}, got {options!r}")
            check_unicode(options, repr(word))
            key = word.lower()
            self._table[key] = self._table.get(key, ()) + tuple(options)
        self._sha256 = sha256_of_json(table)

    @classmethod
    def load(cls, path: str | Path) -> Table:
        """Read a JSON object of word: [substitutes]."""
        return cls(read_object(path, "a JSON file of word: [substitutes]"))

    @property
    def spec(self) -> Spec:
        """The number of words and the hash of the table."""
        return {"name": "table", "words": len(self._table), "sha256": self._sha256}

    def substitutes(self, word: str) -> Options:
        """What the table lists for a word."""
        return self._table.get(word, ())
