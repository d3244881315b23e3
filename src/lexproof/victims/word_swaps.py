"""Single swaps as single-token changes, for many spaces at once.

Most requests are swaps of one base in a space where every word is one token.  Such spaces are read side by side, as one
long text: what would be a dozen small array operations for each space is a dozen for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lexproof.points import DELETED, BoolArray, IntArray, Swaps
from lexproof.victims.vocabulary import GONE
from lexproof.victims.word_rows import Index, Rows


@dataclass(frozen=True, slots=True)
class TokenSwaps:
    """Single swaps as single-token changes of base rows: `bases[base[b]]` with token `position[b]` set to `id[b]`.

    The id GONE deletes the token.  `rest` marks the swaps that change more than one token, or their number in another
    way; they have no entry here.
    """

    bases: Rows
    base: Index
    position: Index
    id: IntArray
    rest: BoolArray

    def __len__(self) -> int:
        return len(self.base)

    @classmethod
    def of(cls, bases: Rows, base: Index, position: Index, token: IntArray, rest: BoolArray) -> TokenSwaps:
        """From an entry for every swap, those of the rest included."""
        if not np.count_nonzero(rest):
            return cls(bases, base, position, token, rest)
        kept = ~rest
        return cls(bases, base[kept], position[kept], token[kept], rest)

    @classmethod
    def joined(cls, parts: Sequence[TokenSwaps]) -> TokenSwaps:
        """The swaps of several parts as one."""
        if len(parts) == 1:
            return parts[0]
        offsets: Index = np.cumsum([0, *(len(part.bases) for part in parts[:-1])])
        return cls(
            Rows.joined([part.bases for part in parts]),
            np.concatenate([part.base + offset for part, offset in zip(parts, offsets, strict=True)]),
            np.concatenate([part.position for part in parts]),
            np.concatenate([part.id for part in parts]),
            np.concatenate([part.rest for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """What swaps need to know of a space: for each word a column for each of DELETED, MASKED, 0, 1, …

    `is_aligned`: every word of the original text is one token, there are at least two tokens, none is cut off, and the
    tokens of a point are those of its words and gaps.
    """

    token: IntArray  # of each column: the one token, GONE, or MANY
    first: Index  # of each word: its column of choice 0
    limit: IntArray  # of each word: number of its substitutes
    start: Index  # of each word: where it stands in `ids`
    ids: IntArray  # of the original text
    is_aligned: bool


def side_by_side(columns: Sequence[Columns], swaps: Sequence[Swaps], *, deletions: bool) -> TokenSwaps | None:
    """Swaps of one base in each of these aligned spaces; None if one of them is not in its space.

    With `deletions` a deleted token is a change of one token.  A base with a word that is not one token is left to the
    rest with all of its swaps: nothing in it stands where it does originally.
    """
    lengths = np.array([len(part.ids) for part in columns], np.int64)
    words, widths = [len(part.first) for part in columns], [len(part.token) for part in columns]
    counts = [len(part) for part in swaps]
    owner = np.repeat(np.arange(len(columns)), words)
    first = np.concatenate([part.first for part in columns]) + np.repeat(_before(widths), words)
    limit = np.concatenate([part.limit for part in columns])
    start = np.concatenate([part.start for part in columns])
    token = np.concatenate([part.token for part in columns])
    point = np.concatenate([part.bases[0] for part in swaps])
    job = np.repeat(np.arange(len(columns)), counts)
    position = np.concatenate([part.positions for part in swaps])
    word = position + _before(words)[job]
    choice = np.concatenate([part.choices for part in swaps])
    if np.count_nonzero((position < 0) | (position >= np.array(words)[job])):
        return None
    if np.count_nonzero(outside(choice, limit[word])) or np.count_nonzero(outside(point, limit)):
        return None
    ids = np.concatenate([part.ids for part in columns])
    changed = point.nonzero()[0]
    now = token[first[changed] + point[changed]]
    ids[start[changed] + _before(lengths)[owner[changed]]] = np.maximum(now, 0)
    new = token[first[word] + choice]
    rest: BoolArray = new < (GONE if deletions else 0)
    moved = np.zeros(len(columns), np.bool_)
    moved[owner[changed[now < 0]]] = True
    return TokenSwaps.of(Rows(ids, lengths), job, start[word], new, rest | moved[job])


def outside(choices: IntArray, limits: IntArray) -> BoolArray:
    """Which choices are neither 0 … limit nor a probe."""
    # as unsigned numbers, those below the probes are the largest of all
    return np.asarray((choices - DELETED).astype(np.uint32) > (limits - DELETED).astype(np.uint32))


def _before(counts: Sequence[int] | Index) -> Index:
    total: Index = np.cumsum(counts)
    return total - counts
