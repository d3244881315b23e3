"""Guesses of a masked language model: the likeliest whole words at a place of a text, with their probabilities.

Guarantee: a guess is a whole alphabetic word of the model's vocabulary, its probability is the model's own (a softmax
over all of the vocabulary), and it does not depend on what else is asked along with it, up to rounding.

A text is read in windows of three blocks of words, of which the middle one holds the place.  Windows that do not fit
the model are made of smaller blocks, down to the word alone.  The model's last layer, as large as all others together,
is computed at the places asked about only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexproof.candidates.folders import fingerprint_of, load
from lexproof.errors import ModelError, require
from lexproof.text import Text

BLOCKS = (64, 32, 16, 8, 4, 2, 1, 0)  # words; 0 for the word alone
HIDDEN_BLOCKS = BLOCKS[2:]  # a hidden word has a window of its own, so a small one pays
_CHARACTERS = 4096  # read at once: about a thousand tokens


@dataclass(frozen=True, slots=True)
class Place:
    """A word of a text, to be guessed: hidden, or in sight."""

    text: Text
    at: int
    hidden: bool = True


@dataclass(frozen=True, slots=True)
class Guess:
    """A word and how likely the model thinks it."""

    word: str
    probability: float


Guesses = tuple[Guess, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """A window of a text in which one word is to be guessed: characters start … stop."""

    window: str
    start: int
    stop: int

    def hide(self, mask: str) -> Question:
        """The same question with the word masked."""
        return Question(self.window[: self.start] + mask + self.window[self.stop :], self.start, self.start + len(mask))


class Guesser:
    """A masked language model, a Hugging Face folder or name; loaded on first use."""

    def __init__(self, model: str | Path) -> None:
        self._model = str(model)

    @cached_property
    def name(self) -> str:
        """The name of the model and a hash of its weights."""
        return f"{Path(self._model).name}:{fingerprint_of(self._model)}"

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        tokenizer, model = load(self._model, "AutoModelForMaskedLM", what="a masked language model")
        if tokenizer.mask_token is None or not tokenizer.is_fast:
            raise ModelError(f"expected a fast tokenizer with a mask token, got {self._model!r}, which has none")
        return tokenizer, model

    @cached_property
    def _whole_words(self) -> tuple[NDArray[np.int64], list[str]]:
        """Numbers and texts of the tokens that are whole alphabetic words."""
        tokenizer, _ = self._loaded
        vocabulary = sorted((number, token) for token, number in tokenizer.get_vocab().items())
        marked = any(token.startswith(("Ġ", "▁")) for _, token in vocabulary)  # byte-level and SentencePiece
        numbers, words = [], []
        for number, token in vocabulary:
            begins = token.startswith(("Ġ", "▁")) if marked else not token.startswith("##")
            word = tokenizer.convert_tokens_to_string([token]).strip() if begins else ""
            if word.isalpha() and number not in tokenizer.all_special_ids:
                numbers.append(number)
                words.append(word)
        return np.array(numbers, np.int64), words

    @cached_property
    def longest(self) -> int:
        """The most tokens that the model can read."""
        tokenizer, model = self._loaded
        return int(min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512) - 2))

    def __call__(self, places: Sequence[Place], k: int) -> list[Guesses | None]:
        """The k likeliest words at each place, best first.

        None where nothing can be said: a word in sight that is not a single token, or a premise that leaves no room.
        All places are of texts with the same premise.
        """
        answers: list[Guesses | None] = [None] * len(places)
        if not places:
            return answers
        premise = places[0].text.premise
        questions = self._questions(places, premise)
        by_window: dict[str, list[int]] = {}
        for number in sorted(questions, key=lambda number: (len(questions[number].window), number)):
            by_window.setdefault(questions[number].window, []).append(number)
        asked = [[questions[number] for number in numbers] for numbers in by_window.values()]
        for numbers, found in zip(by_window.values(), self._read(asked, premise, k), strict=True):
            for number, guesses in zip(numbers, found, strict=True):
                answers[number] = guesses
        return answers

    def _questions(self, places: Sequence[Place], premise: str | None) -> dict[int, Question]:
        """For each place the question with the largest window that the model can read, if there is one."""
        found: dict[int, Question] = {}
        mask = self._loaded[0].mask_token
        waiting = list(range(len(places)))
        for block in BLOCKS:
            now = [number for number in waiting if block in HIDDEN_BLOCKS or not places[number].hidden]
            if not now:
                continue
            asked = {number: question(places[number].text, places[number].at, block) for number in now}
            asked |= {number: asked[number].hide(mask) for number in now if places[number].hidden}
            windows = list(dict.fromkeys(one.window for one in asked.values()))
            lengths = dict(zip(windows, self._lengths(windows, premise), strict=True))
            found |= {number: one for number, one in asked.items() if lengths[one.window] <= self.longest}
            waiting = [number for number in waiting if number not in found]
        return found

    def _lengths(self, windows: Sequence[str], premise: str | None) -> list[int]:
        """The number of tokens of each window, premise and special tokens included."""
        return [len(ids) for ids in self._loaded[0](*_pair(windows, premise), verbose=False)["input_ids"]]

    def _read(
        self, asked: Sequence[Sequence[Question]], premise: str | None, k: int
    ) -> Iterator[Sequence[Guesses | None]]:
        """For the questions about each window the guesses; a window is read once."""
        start = 0
        while start < len(asked):
            # sorted by length, so the last window is the longest
            stop = start + 1
            while stop < len(asked) and (stop + 1 - start) * len(asked[stop][0].window) <= _CHARACTERS:
                stop += 1
            yield from self._read_batch(asked[start:stop], premise, k)
            start = stop

    def _read_batch(
        self, asked: Sequence[Sequence[Question]], premise: str | None, k: int
    ) -> Iterator[Sequence[Guesses | None]]:
        torch = require("torch", "torch", "masked-LM candidates")
        tokenizer, model = self._loaded
        windows = [questions[0].window for questions in asked]
        batch = tokenizer(*_pair(windows, premise), padding=True, return_offsets_mapping=True, return_tensors="pt")
        offsets = batch.pop("offset_mapping").numpy()
        part = 0 if premise is None else 1
        wanted: list[tuple[int, int]] = []
        places: list[list[int | None]] = []
        for row, questions in enumerate(asked):
            is_own = np.array([sequence == part for sequence in batch.sequence_ids(row)])
            tokens = [_tokens(np.where(is_own[:, None], offsets[row], -1), one) for one in questions]
            places.append([])
            for found in tokens:
                places[-1].append(len(wanted) if len(found) == 1 else None)
                wanted += [(row, found[0])] if len(found) == 1 else []
        if not wanted:
            yield from ([None] * len(questions) for questions in asked)
            return
        with torch.inference_mode(), _only_at(model, torch.tensor(wanted)):
            best = self._best(model(**batch).logits, k)
        yield from ([None if place is None else best[place] for place in numbers] for numbers in places)

    def _best(self, logits: Any, k: int) -> list[Guesses]:
        """The k likeliest whole words of each row of logits."""
        numbers, words = self._whole_words
        chances = logits.double().softmax(dim=1).numpy()[:, numbers]
        k = min(k, len(words))
        some = (
            np.sort(np.argpartition(-chances, k - 1, axis=1)[:, :k], axis=1) if k else np.zeros((len(chances), 0), int)
        )
        order = np.argsort(-np.take_along_axis(chances, some, axis=1), axis=1, kind="stable")
        return [
            tuple(Guess(words[guess], float(row[guess])) for guess in chosen)
            for row, chosen in zip(chances, np.take_along_axis(some, order, axis=1).tolist(), strict=True)
        ]


@contextmanager
def _only_at(model: Any, wanted: Any) -> Iterator[None]:
    """While this lasts, the model computes logits for these (row, token) only: (wanted, vocabulary)."""
    hook = model.get_output_embeddings().register_forward_pre_hook(
        lambda layer, given: (given[0][wanted[:, 0], wanted[:, 1]],)
    )
    try:
        yield
    finally:
        hook.remove()


def question(text: Text, at: int, size: int = BLOCKS[0]) -> Question:
    """What a model is asked about a word: its block of `size` words and the two beside it, or the word alone."""
    if not size:
        return Question(text.words[at], 0, len(text.words[at]))
    block = at // size
    first, last = max(0, (block - 1) * size), min(len(text), (block + 2) * size)
    before = "".join(word + gap for word, gap in zip(text.words[first:at], text.gaps[first + 1 : at + 1], strict=True))
    window = Text(text.words[first:last], ("", *text.gaps[first + 1 : last], ""))
    lead = text.gaps[0] if first == 0 else ""
    tail = text.gaps[-1] if last == len(text) else ""
    start = len(lead) + len(before)
    return Question(lead + str(window) + tail, start, start + len(text.words[at]))


def _pair(windows: Iterable[str], premise: str | None) -> list[list[str]]:
    """What a tokenizer is given: the windows, after the premise if there is one."""
    windows = list(windows)
    return [windows] if premise is None else [[premise] * len(windows), windows]


def _tokens(offsets: NDArray[np.int64], asked: Question) -> list[int]:
    inside = (offsets[:, 0] < asked.stop) & (offsets[:, 1] > asked.start) & (offsets[:, 0] >= 0)
    return np.flatnonzero(inside).tolist()
