"""Which pairs of words may replace each other: evidence from WordNet, weighed with vectors before and after fitting.

The merit of a pair is a cosine, corrected for how good the evidence is:

    merit = cos + 0.13 ln(strength) - cost[part of speech][kind]        strength = min over both words of
                                                                         P(reading) / (1 + rank of the sense)

so that a rare sense or a rare reading counts for little.  The constants were found once by logistic regression of
membership in published counter-fitted tables on these features, and rounded; merit 0 was an even chance there.  The
cost of broader and narrower nouns and verbs was then raised, since "spice" for "cinnamon" reads worse than it scores.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import log

import numpy as np
from lexicon_pairs import Relations
from lexicon_words import WORDS
from numpy.typing import NDArray

from lexproof.candidates.lexicon import Lexicon
from lexproof.candidates.morphology import FORMS, Analysis

COST = {"n": (0.52, 0.91, 9.0), "v": (0.61, 0.89, 1.08), "a": (0.54, 0.66, 0.88), "r": (0.48, 0.60, 0.75)}
PER_STRENGTH = 0.13
EVALUATIVE_COST = 1.15

CONSTRAINT = -0.50  # merit from which a pair pulls its vectors together
MERIT = -0.40  # merit from which a pair is kept
COSINE = 0.50  # counter-fitted cosine from which a pair is kept
SHARE = 0.10  # probability of a reading below which it is no evidence

# Tone is measured along the axis between good and bad words, in standard deviations from the median word.
TONE = 1.0  # tone from which a word counts as approving or disapproving
TONE_GAP = 1.8  # difference in tone beyond which two words do not replace each other
EVALUATIVE_NEAREST = 25

Pair = tuple[str, str]
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words with their rows, and the probability of each of their readings."""

    words: Sequence[str]
    rows: Mapping[str, int]
    shares: Mapping[tuple[str, Analysis], float]

    def forms(self) -> dict[Analysis, list[str]]:
        """The words that have a given reading."""
        found: defaultdict[Analysis, list[str]] = defaultdict(list)
        for word, reading in self.shares:
            found[reading].append(word)
        return found


def surfaces(forms: Mapping[Analysis, Sequence[str]], pos: str, a: str, b: str) -> Iterator[tuple[str, str, str]]:
    """Words that are the same form of two lemmas: (word, other, form)."""
    for form in FORMS[pos]:
        for x, y in product(forms.get(Analysis(a, pos, form), ()), forms.get(Analysis(b, pos, form), ())):
            if x != y:
                yield x, y, form


def evidence(vocabulary: Vocabulary, relations: Relations) -> dict[Pair, float]:
    """Pairs of words that WordNet relates, with their merit apart from the cosine."""
    forms = vocabulary.forms()
    found: dict[Pair, float] = {}
    for (pos, a, b), ways in relations.items():
        for x, y, form in surfaces(forms, pos, a, b):
            share_x = vocabulary.shares[x, Analysis(a, pos, form)]
            share_y = vocabulary.shares[y, Analysis(b, pos, form)]
            if min(share_x, share_y) < SHARE:
                continue
            best = max(
                PER_STRENGTH * log(min(share_x / (1 + way.rank_a), share_y / (1 + way.rank_b))) - COST[pos][way.kind]
                for way in ways
            )
            pair = (min(x, y), max(x, y))
            found[pair] = max(best, found.get(pair, -np.inf))
    return found


def repelled(vocabulary: Vocabulary, lemma_pairs: Iterable[Pair]) -> set[Pair]:
    """Words that are the same form of two opposed lemmas."""
    forms = vocabulary.forms()
    return {(x, y) for a, b in lemma_pairs for pos in FORMS for x, y, _ in surfaces(forms, pos, a, b)}


def cosines(vocabulary: Vocabulary, vectors: Vectors, pairs: Sequence[Pair]) -> Vectors:
    """Cosine of each pair, for unit vectors."""
    left, right = (vectors[[vocabulary.rows[pair[end]] for pair in pairs]] for end in (0, 1))
    found: Vectors = np.einsum("pd,pd->p", left, right)
    return found


def tone(vocabulary: Vocabulary, vectors: Vectors) -> Vectors:
    """How approving each word is, in standard deviations from the median word."""
    good, bad = (
        vectors[[vocabulary.rows[w] for w in seeds if w in vocabulary.rows]].mean(axis=0)
        for seeds in (WORDS["good"], WORDS["bad"])
    )
    along = vectors @ (good - bad)
    scaled: Vectors = (along - np.median(along)) / along.std()
    return scaled


def evaluative(vocabulary: Vocabulary, plain: Vectors, tones: Vectors, pos: str) -> dict[Pair, float]:
    """Pairs of clearly approving (or disapproving) adjectives or adverbs that occur in like contexts.

    WordNet does not relate "amazing" and "wonderful"; for words whose point is their tone, context and tone suffice.
    """
    share = {
        word: value
        for (word, reading), value in vocabulary.shares.items()
        if reading.pos == pos and not reading.form and value >= 0.5 and abs(tones[vocabulary.rows[word]]) > TONE
    }
    words = sorted(share)
    rows = [vocabulary.rows[word] for word in words]
    found = {}
    for i, near in enumerate(plain[rows] @ plain[rows].T):
        for j in np.argsort(-near, kind="stable")[: EVALUATIVE_NEAREST + 1].tolist():
            if i != j and tones[rows[i]] * tones[rows[j]] > 0:
                strength = min(share[words[i]], share[words[j]])
                found[min(words[i], words[j]), max(words[i], words[j])] = PER_STRENGTH * log(strength) - EVALUATIVE_COST
    return found


def choose(
    vocabulary: Vocabulary,
    merits: Mapping[Pair, float],
    plain: Vectors,
    fitted: Vectors,
    lexicon: Lexicon,
) -> list[tuple[Pair, float, float]]:
    """The pairs to keep, with counter-fitted cosine and merit: good enough, of like tone, not antonyms."""
    tones = tone(vocabulary, fitted)
    pairs = sorted(merits)
    merit = cosines(vocabulary, plain, pairs) + np.array([merits[pair] for pair in pairs], np.float32)
    cosine = cosines(vocabulary, fitted, pairs)
    kept = []
    for at in np.flatnonzero((merit >= MERIT) & (cosine >= COSINE)).tolist():
        a, b = (float(tones[vocabulary.rows[word]]) for word in pairs[at])
        if abs(a - b) <= TONE_GAP and lexicon.alike(*pairs[at]) and not lexicon.opposed(*pairs[at]):
            kept.append((pairs[at], float(cosine[at]), float(merit[at])))
    return kept
