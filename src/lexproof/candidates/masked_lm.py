"""What a masked language model would write: for each word of a text the likeliest whole words in its place.

`masked=True` hides the word, as BAE does; `masked=False` leaves it in sight, as BERT-Attack does, so that the guesses
stay closer to it.

Reference: Garg and Ramakrishnan 2020, BAE; Li et al. 2020, BERT-Attack.  Deviations: only whole alphabetic words are
offered; BERT-Attack's combinations of word pieces, seldom words, are left out, and a word of several pieces is masked
in either mode.  Substitutes depend on the original text only, never on earlier swaps.

Symbols: a text is read in windows of three blocks of words, of which the middle one is guessed.  A window longer than
the model can read is made of smaller blocks, down to the word alone, so that every word is guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexproof.candidates.base import Choices, Options, Source, Spec, match_case
from lexproof.candidates.folders import fingerprint_of, load
from lexproof.errors import InputError, ModelError, require
from lexproof.text import Text

_BLOCKS = (64, 32, 16, 8, 4, 2, 1, 0)  # words; 0 for the word alone
_CHARACTERS = 4096  # read at once: about a thousand tokens, whose logits fill some 100 MB


@dataclass(frozen=True, slots=True)
class _Question:
    """A window of the text in which one word is to be guessed: characters start … stop."""

    window: str
    start: int
    stop: int

    def hide(self, mask: str) -> _Question:
        """The same question with the word masked."""
        return _Question(
            self.window[: self.start] + mask + self.window[self.stop :], self.start, self.start + len(mask)
        )


class MaskedLM(Source):
    """The k likeliest whole words at each position by a masked language model, a Hugging Face folder or name.

    With a pair the premise is part of the context.  Loaded on first use; equal up to rounding on any machine.
    """

    def __init__(self, model: str | Path, *, k: int = 8, masked: bool = True) -> None:
        if k < 1:
            raise InputError(f"expected k >= 1, got {k}")
        self._model, self.k, self.masked = str(model), k, masked

    @cached_property
    def spec(self) -> Spec:
        """The settings and a hash of the model."""
        model = f"{Path(self._model).name}:{fingerprint_of(self._model)}"
        return {"name": "masked-lm", "model": model, "k": self.k, "masked": self.masked}

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

    def __call__(self, text: Text) -> Choices:
        """The likeliest whole words at each position."""
        if not text.words:
            return ()
        answers: dict[int, Options] = {}
        if not self.masked:
            answers |= self._ask(self._questions(text, range(len(text)), hide=False), text.premise)
        several = [at for at in range(len(text)) if at not in answers]
        hidden = self._questions(text, several, hide=True)
        if len(hidden) < len(several):
            raise InputError(
                f"expected a premise that leaves room for a word in {self._longest} tokens, "
                f"got one of {len(text.premise or '')} characters; shorten it or use another model"
            )
        answers |= self._ask(hidden, text.premise)
        return tuple(match_case(word, answers.get(at, ()))[: self.k] for at, word in enumerate(text.words))

    @cached_property
    def _longest(self) -> int:
        """The most tokens that the model can read."""
        tokenizer, model = self._loaded
        return int(min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512) - 2))

    def _questions(self, text: Text, positions: Iterable[int], *, hide: bool) -> dict[int, _Question]:
        """For each position the question with the largest window that the model can read, if there is one."""
        found: dict[int, _Question] = {}
        waiting = list(positions)
        for block in _BLOCKS:
            if not waiting:
                break
            asked = {at: _question(text, at, block) for at in waiting}
            if hide:
                asked = {at: question.hide(self._loaded[0].mask_token) for at, question in asked.items()}
            windows = list(dict.fromkeys(question.window for question in asked.values()))
            lengths = dict(zip(windows, self._lengths(windows, text.premise), strict=True))
            found |= {at: question for at, question in asked.items() if lengths[question.window] <= self._longest}
            waiting = [at for at in waiting if at not in found]
        return found

    def _lengths(self, windows: Sequence[str], premise: str | None) -> list[int]:
        """The number of tokens of each window, premise and special tokens included."""
        return [len(ids) for ids in self._loaded[0](*_pair(windows, premise), verbose=False)["input_ids"]]

    def _ask(self, questions: Mapping[int, _Question], premise: str | None) -> dict[int, Options]:
        """The guesses at each position where the word is a single token; a window is read once."""
        by_window: dict[str, list[int]] = {}
        for at, question in questions.items():
            by_window.setdefault(question.window, []).append(at)
        answers: dict[int, Options] = {}
        for window, (offsets, logits) in zip(by_window, self._read(list(by_window), premise), strict=True):
            for at in by_window[window]:
                tokens = _tokens(offsets, questions[at])
                if len(tokens) == 1:
                    answers[at] = self._best(logits[tokens[0]][self._whole_words[0]])
        return answers

    def _read(self, windows: Sequence[str], premise: str | None) -> Iterator[tuple[NDArray[np.int64], Any]]:
        """For each window the characters of its tokens (-1 where they are not its own), and the logits there."""
        torch = require("torch", "torch", "masked-LM candidates")
        tokenizer, model = self._loaded
        step = max(1, _CHARACTERS // max(map(len, [*windows, " "])))
        for start in range(0, len(windows), step):
            texts = windows[start : start + step]
            batch = tokenizer(*_pair(texts, premise), padding=True, return_offsets_mapping=True, return_tensors="pt")
            offsets = batch.pop("offset_mapping").numpy()
            with torch.inference_mode():
                logits = model(**batch).logits  # (B, T, V)
            part = 0 if premise is None else 1
            for row in range(len(texts)):
                is_own = np.array([sequence == part for sequence in batch.sequence_ids(row)])
                yield np.where(is_own[:, None], offsets[row], -1), logits[row]

    def _best(self, logits: Any) -> Options:
        # some spellings collapse once the case is matched, and the word itself is among the guesses
        order = np.argsort(-logits.numpy(), kind="stable")[: 3 * self.k + 3]
        return tuple(self._whole_words[1][guess] for guess in order.tolist())


def _pair(windows: Sequence[str], premise: str | None) -> list[list[str]]:
    """What a tokenizer is given: the windows, after the premise if there is one."""
    return [list(windows)] if premise is None else [[premise] * len(windows), list(windows)]


def _question(text: Text, at: int, size: int = _BLOCKS[0]) -> _Question:
    if not size:
        return _Question(text.words[at], 0, len(text.words[at]))
    block = at // size
    first, last = max(0, (block - 1) * size), min(len(text), (block + 2) * size)
    before = "".join(word + gap for word, gap in zip(text.words[first:at], text.gaps[first + 1 : at + 1], strict=True))
    window = Text(text.words[first:last], ("", *text.gaps[first + 1 : last], ""))
    lead = text.gaps[0] if first == 0 else ""
    tail = text.gaps[-1] if last == len(text) else ""
    start = len(lead) + len(before)
    return _Question(lead + str(window) + tail, start, start + len(text.words[at]))


def _tokens(offsets: NDArray[np.int64], question: _Question) -> list[int]:
    inside = (offsets[:, 0] < question.stop) & (offsets[:, 1] > question.start) & (offsets[:, 0] >= 0)
    return np.flatnonzero(inside).tolist()
