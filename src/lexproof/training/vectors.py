"""Start a vocabulary from pretrained word vectors."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from lexproof.data.vectors import Matrix
from lexproof.victims.vocabulary import SPECIALS, UNKNOWN, Vocabulary

_JOINERS = re.compile("['’‐-]")


def vectors_for(vocabulary: Vocabulary, words: Sequence[str], matrix: Matrix, rng: np.random.Generator) -> Matrix:
    """A vector for each id: the given one, else the mean of the given ones of its parts, else a random one.

    Parts are what apostrophes and hyphens separate ("film's", "well-known").  Random vectors have the spread of the
    given ones; `<unk>` has the mean of them, `<pad>` is 0.
    """
    rows = {word: row for row, word in enumerate(words)}
    found = np.empty((len(vocabulary), matrix.shape[1]), np.float32)
    found[:] = rng.normal(matrix.mean(axis=0), matrix.std(axis=0), found.shape)
    found[: len(SPECIALS)] = 0
    found[UNKNOWN] = matrix.mean(axis=0)
    for number, word in enumerate(vocabulary.words, len(SPECIALS)):
        if word in rows:
            found[number] = matrix[rows[word]]
        elif known := [rows[part] for part in _JOINERS.split(word) if part in rows]:
            found[number] = matrix[known].mean(axis=0)
    return found
