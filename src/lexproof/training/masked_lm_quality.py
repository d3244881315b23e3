"""How good a masked language model is: how often it guesses a hidden word of a held-out text.

One word a text is hidden, drawn evenly from its alphabetic words, so that the trials are independent and the
Clopper-Pearson intervals hold.  A word counts as guessed if it is among the first k whole words, whatever the case;
a word that the model has no single piece for counts as missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lexproof.errors import InputError, require
from lexproof.statistics.intervals import clopper_pearson
from lexproof.text import Text
from lexproof.training.masked_lm import Learned
from lexproof.training.masked_lm_rows import whole_words

_AROUND = 48  # words before and after the hidden one that are read
_BATCH = 32


@dataclass(frozen=True, slots=True)
class Rate:
    """A share with its 95 % Clopper-Pearson interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Quality:
    """Of `n` hidden words the share that was the first guess, and that was among the first five."""

    n: int
    top1: Rate
    top5: Rate


@dataclass(frozen=True, slots=True)
class Hidden:
    """A text before and after a hidden word."""

    before: str
    word: str
    after: str


def frequent_words(texts: Sequence[str], k: int = 5) -> list[str]:
    """The k most frequent words, the guesses of one who does not look; of equals the first in the alphabet."""
    counts = Counter(word.lower() for text in texts for word in Text.parse(text).words if word.isalpha())
    return [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:k]]


def measure(texts: Sequence[str], guesser: Learned | Sequence[str], *, n: int = 2000, seed: int = 0) -> Quality:
    """How often a model, or a fixed list of guesses, is right about one word of each of `n` texts."""
    if n < 1:
        raise InputError(f"expected n >= 1, got {n}")
    hidden = _hide(texts, n, seed)
    guesses = _guesses(hidden, guesser) if isinstance(guesser, Learned) else iter([list(guesser)] * len(hidden))
    ranks = [_rank(asked.word.lower(), found) for asked, found in zip(hidden, guesses, strict=True)]
    return Quality(len(ranks), *(_rate(sum(rank < k for rank in ranks), len(ranks)) for k in (1, 5)))


def _hide(texts: Sequence[str], n: int, seed: int) -> list[Hidden]:
    """One random word of each of at most n random texts."""
    rng = np.random.default_rng(seed)
    found: list[Hidden] = []
    for row in rng.permutation(len(texts)).tolist():
        text = Text.parse(texts[row])
        places = [at for at, word in enumerate(text.words) if word.isalpha()]
        if not places:
            continue
        at = places[int(rng.integers(len(places)))]
        first, last = max(0, at - _AROUND), min(len(text), at + _AROUND + 1)
        before = Text(text.words[first:at], text.gaps[first : at + 1])
        after = Text(text.words[at + 1 : last], text.gaps[at + 1 : last + 1])
        found.append(Hidden(str(before), text.words[at], str(after)))
        if len(found) == n:
            break
    return found


def _guesses(hidden: Sequence[Hidden], learned: Learned) -> Iterator[list[str]]:
    """The five likeliest whole words for each hidden one."""
    torch = require("torch", "transformers", "measuring a masked language model")
    model, tokenizer = learned.model.eval(), learned.tokenizer
    wholes = torch.from_numpy(whole_words(tokenizer))
    names = tokenizer.convert_ids_to_tokens(wholes.tolist())
    for start in range(0, len(hidden), _BATCH):
        asked = [f"{one.before}{tokenizer.mask_token}{one.after}" for one in hidden[start : start + _BATCH]]
        batch = tokenizer(asked, padding=True, return_tensors="pt")
        with torch.inference_mode():
            states = model.bert(**batch).last_hidden_state[batch["input_ids"] == tokenizer.mask_token_id]
            best = model.cls(states)[:, wholes].topk(5).indices
        for row in best.tolist():
            yield [names[guess].lower() for guess in row]


def _rank(word: str, guesses: Sequence[str]) -> int:
    return guesses.index(word) if word in guesses else len(guesses)


def _rate(hits: int, n: int) -> Rate:
    return Rate(hits / n if n else 0.0, *clopper_pearson(hits, n, 0.95))
