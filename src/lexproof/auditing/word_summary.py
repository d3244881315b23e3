"""What `lexproof words` says of a classifier: rho, the most dangerous words of each class, and what they do.

Guarantee: every number carries its n and its interval; every example was scored again as text, and flips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np

from lexproof.errors import EvidenceError
from lexproof.single_words.accuracy import WordAccuracy
from lexproof.single_words.answer import Example, FlipWords
from lexproof.single_words.parts import count_parts, part_of_speech
from lexproof.single_words.question import Asked

Record = dict[str, Any]

BINS = 25
"""Columns of the histogram of kappa."""

_RANKED = 1000  # words whose parts of speech are counted, as in the paper's table 6

DEFINITIONS = {
    "rho": "Robustness: pairs of a correctly classified text and a word of the vocabulary that cannot be flipped by "
    "putting the word in the place of one word of the text, out of all such pairs.",
    "kappa": "Flip capability of a word: texts that it flips at some position, out of the texts of the class that are "
    "classified correctly. Where it is a bracket, some texts are neither known to be flipped nor proven safe.",
    "overall": "Flip capability over the correctly classified texts of all classes, as in the SP paper.",
    "interval": "95%, over the draw of the texts: Clopper-Pearson; Chernoff and empirical Bernstein together for rho.",
    "with_word": "Accuracy on texts that hold the word, as they are.",
    "removed": "Accuracy on the same texts after the word is removed, which is taken not to change the gold label.",
    "without_word": "Accuracy on texts that do not hold the word, as they are.",
    "attacked": "Accuracy on the same texts under attack: right if classified correctly and not flipped by the word at "
    "any position.",
    "parts": "Words of highest kappa by part of speech in the embedded lexicon; a word of several parts counts by its "
    "likeliest one, function words and unknown ones as other.",
}


def top_words(found: FlipWords, count: int) -> dict[int, list[int]]:
    """For each class with texts the words that are known to flip most of them, without those that flip none."""
    return {
        label: [word for word in found.top(count, label) if found.known[word, label]]
        for label, n in enumerate(found.n)
        if n
    }


def class_summaries(
    asked: Asked, found: FlipWords, top: Mapping[int, Sequence[int]], accuracy: Mapping[str, WordAccuracy] | None
) -> list[Record]:
    """Each class with its most dangerous words; `accuracy` None: not measured."""
    examples = _examples(asked, found, top)
    return [
        {
            "label": label,
            "name": found.labels[label],
            "n": n,
            "words": [
                {
                    "word": found.words[word],
                    "kappa": found.kappa(word, label).to_json(),
                    "overall": found.kappa(word).to_json(),
                    "part_of_speech": part_of_speech(found.words[word]),
                    "examples": _turned(examples[word, label], number),
                    "accuracy": None if accuracy is None else accuracy[found.words[word]].to_json(),
                }
                for number, word in enumerate(top.get(label, ()))
            ],
        }
        for label, n in enumerate(found.n)
    ]


def _turned(examples: list[Record], number: int) -> list[Record]:
    """The examples from another one on for each word: the first texts are flipped by many and would be all one sees."""
    start = number % max(1, len(examples))
    return examples[start:] + examples[:start]


def _examples(asked: Asked, found: FlipWords, top: Mapping[int, Sequence[int]]) -> dict[tuple[int, int], list[Record]]:
    """The examples of each word shown, by word and class; EvidenceError if one does not flip after all."""
    chosen = [
        (word, label, example)
        for label, words in top.items()
        for word in words
        for example in found.examples.get(word, ())
        if asked.labels[example.text] == label
    ]
    texts = [asked.texts[own.text].swap({own.position: found.words[word]}) for word, _, own in chosen]
    predicted = asked.victim.predict([text.input for text in texts]).tolist() if texts else []
    records: dict[tuple[int, int], list[Record]] = {(word, label): [] for label, own in top.items() for word in own}
    for (word, label, example), guess in zip(chosen, predicted, strict=True):
        if guess == label:
            raise EvidenceError(f"{found.words[word]!r} does not flip text {example.text} at word {example.position}")
        records[word, label].append(_example(asked, example, found.words[word], guess))
    return records


def _example(asked: Asked, example: Example, word: str, predicted: int) -> Record:
    text = asked.texts[example.text]
    return {
        "id": example.text,
        "text": str(text),
        "premise": text.premise,
        "label": asked.labels[example.text],
        "predicted": predicted,
        "witness": str(text.swap({example.position: word})),
        "changed": [{"position": example.position, "old": text.words[example.position], "new": word}],
    }


def vocabulary_summary(found: FlipWords, source: str) -> Record:
    """How kappa is spread over the vocabulary, by its lower ends, and which words the model does not know."""
    kappa = np.sort(found.kappa_lower)[::-1]
    counts, _ = np.histogram(kappa, bins=BINS, range=(0, 1))
    ranked = [found.words[word] for word in found.top(_RANKED) if found.known[word].any()]
    return {
        "size": len(found.words),
        "source": source,
        "unknown": list(found.unknown),
        "histogram": counts.tolist(),
        "is_exact": found.is_exact,
        "most_have": float(kappa[ceil(0.95 * len(kappa)) - 1]),  # 95 % of the words have at least this kappa
        "top_have": float(kappa[ceil(0.001 * len(kappa)) - 1]),  # and the top 0.1 % this
        "parts": {"n": len(ranked), "counts": count_parts(ranked)},
    }
