"""Encoding for transformers: what the model reads for a text, and the same put together from parts.

Guarantee: `assemble` of a text's own ids equals `encode` of the text, special tokens and truncation included.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any, NamedTuple

from lexproof.errors import ModelError
from lexproof.space import MASK
from lexproof.text import Input

_MEMO_LIMIT = 200_000  # strings whose ids are remembered across spaces
_BOUNDARY_LIMIT = 4_096  # kinds of boundary checked for one space before strings are rendered instead


class Row(NamedTuple):
    """What the model reads for one text: token ids and their segment types."""

    ids: list[int]
    types: list[int]


@dataclass(frozen=True, slots=True)
class Frame:
    """The special tokens around one or two sequences, as (id, type) runs, and the type of each sequence."""

    runs: tuple[tuple[tuple[int, int], ...], ...]
    types: tuple[int, ...]

    @classmethod
    def of(cls, encoding: Any, sequences: int) -> Frame | None:
        """The frame seen in an encoding made by the tokenizer; None if a sequence left no token to see it by."""
        runs: list[list[tuple[int, int]]] = [[] for _ in range(sequences + 1)]
        types: dict[int, int] = {}
        after = 0
        for token, kind, sequence in zip(encoding.ids, encoding.type_ids, encoding.sequence_ids, strict=True):
            if sequence is None:
                runs[after].append((token, kind))
            else:
                types[sequence] = kind
                after = sequence + 1
        if len(types) < sequences:
            return None
        return cls(tuple(map(tuple, runs)), tuple(types[k] for k in range(sequences)))

    def wrap(self, sequences: Sequence[Sequence[int]]) -> Row:
        """The sequences with the special tokens around them."""
        ids = [token for token, _ in self.runs[0]]
        types = [kind for _, kind in self.runs[0]]
        for sequence, kind, run in zip(sequences, self.types, self.runs[1:], strict=True):
            ids.extend(sequence)
            types.extend([kind] * len(sequence))
            ids.extend(token for token, _ in run)
            types.extend(kind for _, kind in run)
        return Row(ids, types)

    @property
    def special(self) -> int:
        """Number of special tokens."""
        return sum(map(len, self.runs))


def kept(lengths: Sequence[int], room: int) -> list[int]:
    """How many tokens of each sequence the strategy `longest_first` keeps when `room` are allowed in all."""
    if sum(lengths) <= room:
        return list(lengths)
    if len(lengths) == 1:
        return [room]
    short, long = sorted(lengths)
    if short > room // 2:
        short, long = room // 2, room - room // 2
    else:
        long = room - short
    return [short, long] if lengths[0] <= lengths[1] else [long, short]


class Encoder:
    """A Hugging Face fast tokenizer with a fixed length limit; pairs are truncated `longest_first`.

    A model that is not given segment types (`reads_types` is false) takes them all as 0, and so do the rows.
    """

    def __init__(self, tokenizer: Any, *, max_length: int, reads_types: bool = True) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(
                f"expected a fast tokenizer, got {type(tokenizer).__name__}; save the model with a tokenizer.json"
            )
        if type(max_length) is not int:
            raise ModelError(f"expected max_length as a whole number, got {max_length!r}")
        special = tokenizer.num_special_tokens_to_add(pair=True)
        if max_length <= special:
            raise ModelError(f"expected max_length > {special} (its special tokens), got {max_length}")
        self.tokenizer = tokenizer
        self.max_length = max_length
        self.reads_types = reads_types
        self.mask: str = tokenizer.mask_token or tokenizer.unk_token or MASK
        self._single = Frame.of(self._encodings(["a b"], special=True)[0], 1)
        self._pair = Frame.of(self._encodings([("a b", "a b")], special=True)[0], 2)
        added = tokenizer.added_tokens_decoder.values()
        self._is_local = not any(token.rstrip or self._has_space(token) for token in added)
        self.reaches_back = any(token.lstrip for token in added)
        self._runs: dict[str, tuple[int, ...]] = {}
        self._boundaries: dict[tuple[str, str], bool] = {}

    def _has_space(self, token: Any) -> bool:
        """Whether white space, or what the tokenizer writes for it, is in an added token as it is looked for."""
        normalizer = self.tokenizer.backend_tokenizer.normalizer
        forms, spaces = [token.content], {"▁"}
        if normalizer is not None:
            spaces |= set(normalizer.normalize_str(" "))
            forms += [normalizer.normalize_str(token.content)] if token.normalized else []
        return any(c.isspace() or c in spaces for form in forms for c in form)

    def _encodings(self, inputs: Sequence[Input], *, special: bool, limit: int | None = None) -> list[Any]:
        if not inputs:
            return []
        truncation = "longest_first" if limit else False
        try:
            found = self.tokenizer(
                list(inputs), add_special_tokens=special, truncation=truncation, max_length=limit, verbose=False
            )
        except TypeError as error:
            raise ModelError("expected texts that UTF-8 can write, got a lone surrogate or no string at all") from error
        return list(found.encodings)

    def _row(self, row: Row) -> Row:
        # a tokenizer without special tokens makes nothing of an empty text, and a model needs at least one token
        if row.ids:
            return row if self.reads_types else Row(row.ids, [0] * len(row.ids))
        tokens = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id, self.tokenizer.unk_token_id, 0)
        return Row([next(token for token in tokens if token is not None)], [0])

    def encode(self, inputs: Sequence[Input]) -> list[Row]:
        """What the model reads for each text: the tokenizer's own answer."""
        encodings = self._encodings(inputs, special=True, limit=self.max_length)
        return [self._row(Row(encoding.ids, encoding.type_ids)) for encoding in encodings]

    def spans(self, inputs: Sequence[Input]) -> list[list[tuple[int, int]]]:
        """Where in the last sequence (the text, or the hypothesis) each token lies; (0, 0) if it does not."""
        found = []
        for item, encoding in zip(inputs, self._encodings(inputs, special=True, limit=self.max_length), strict=True):
            last = 0 if isinstance(item, str) else 1
            places = zip(encoding.offsets, encoding.sequence_ids, strict=True)
            spans = [span if sequence == last else (0, 0) for span, sequence in places]
            found.append(spans or [(0, 0)])
        return found

    def runs(self, strings: Sequence[str]) -> list[tuple[int, ...]]:
        """Ids of strings by themselves, without special tokens; remembered."""
        missing = list(dict.fromkeys(string for string in strings if string not in self._runs))
        if len(self._runs) + len(missing) > _MEMO_LIMIT:
            self._runs = {}
            missing = list(dict.fromkeys(strings))
        encodings = self._encodings(missing, special=False)
        self._runs.update((string, tuple(encoding.ids)) for string, encoding in zip(missing, encodings, strict=True))
        return [self._runs[string] for string in strings]

    def held(self, strings: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[tuple[int, ...]]:
        """Of the tokens of each string by itself, those that share a character with its span."""
        found = []
        for encoding, (begin, end) in zip(self._encodings(strings, special=False), spans, strict=True):
            places = zip(encoding.ids, encoding.offsets, strict=True)
            found.append(tuple(token for token, (a, b) in places if max(a, begin) < min(b, end)))
        return found

    def can_assemble(self, *, pair: bool) -> bool:
        """Whether `assemble` knows the special tokens, and no added token can arise from two words and their space.

        Added tokens are found before the text is split.  One with white space in it, or one that swallows what
        follows it, joins words that no check of a word between its neighbors may ever see together.
        """
        return self._is_local and (self._pair if pair else self._single) is not None

    @property
    def room(self) -> int | None:
        """How many tokens of a text by itself are read, the first ones; None if that is not so or not known."""
        if self._single is None or self.tokenizer.truncation_side == "left":
            return None
        return self.max_length - self._single.special

    def room_after(self, premise: str | None) -> int | None:
        """How many tokens of a text are read, the first ones, whatever follows them; None if that is not so.

        A premise of more than half the room is cut, too, and how far may depend on all of the text.
        """
        if premise is None or not self.can_assemble(pair=True) or self.tokenizer.truncation_side == "left":
            return self.room if premise is None and self.can_assemble(pair=False) else None
        assert self._pair is not None
        room, before = self.max_length - self._pair.special, len(self.runs([premise])[0])
        return room - before if before <= room // 2 else None

    def tokens_before(self, string: str, at: int) -> int:
        """How many tokens of a string by itself begin before a character."""
        (encoding,) = self._encodings([string], special=False)
        return sum(begin < at for begin, _ in encoding.offsets)

    def assemble(self, sequences: Sequence[Sequence[int]]) -> Row:
        """The sequences' ids truncated and framed as the tokenizer does it."""
        frame = self._single if len(sequences) == 1 else self._pair
        assert frame is not None
        keep = kept([len(sequence) for sequence in sequences], self.max_length - frame.special)
        left = self.tokenizer.truncation_side == "left"
        cut = [s[len(s) - k :] if left else s[:k] for s, k in zip(sequences, keep, strict=True)]
        return self._row(frame.wrap(cut))

    def are_joined(self, windows: Sequence[Sequence[str]]) -> bool:
        """Whether the ids of each window of strings, written together, are the concatenation of the strings' ids."""
        runs = iter(self.runs([string for window in windows for string in window]))
        expected = [list(chain.from_iterable(next(runs) for _ in window)) for window in windows]
        found = self._encodings(["".join(window) for window in windows], special=False)
        return all(encoding.ids == ids for encoding, ids in zip(found, expected, strict=True))

    def are_separate(self, lefts: Iterable[str], rights: Iterable[str]) -> bool:
        """Whether the tokenizer splits the text between every left string and every right one.

        A split is where its pre-tokenizer begins a new word; what is on one side of it then has no say in the ids on
        the other.  One pair is tried for each kind of boundary: the nearest characters, with ASCII letters and digits
        taken as equal, because pre-tokenizers decide by kinds of characters.
        """
        ends = {_kind(left[-2:]): left for left in lefts}
        starts = {_kind(right[:3]): right for right in rights}
        if len(ends) * len(starts) > _BOUNDARY_LIMIT:
            return False
        if len(self._boundaries) > _MEMO_LIMIT:
            self._boundaries = {}
        for end, start in product(ends, starts):
            if (end, start) not in self._boundaries:
                self._boundaries[end, start] = self._is_split(ends[end], starts[start])
            if not self._boundaries[end, start]:
                return False
        return True

    def _is_split(self, left: str, right: str) -> bool:
        before, after = self.runs([left, right])
        (found,) = self._encodings([left + right], special=False)
        at = len(before)
        joined = [*before, *after] == found.ids
        return joined and bool(before) and bool(after) and found.word_ids[at - 1] != found.word_ids[at]


def _kind(characters: str) -> str:
    return "".join("a" if c.isascii() and c.isalnum() else c for c in characters)
