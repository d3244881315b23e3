"""A causal language model as the judge of fluency: any one from Hugging Face, by folder or name.

    Causal("gpt2").perplexity(["a fine film"])

The model's own tokens t_1 … t_m give log p = sum of log p(t_j | t_1 … t_j-1), the end of the text included where its
tokenizer has a mark for it; the perplexity is counted a word or punctuation mark (`base`), not a token of the model.
The first token follows the mark of a beginning, or that of an end if the model has no other; of a model with neither
it is not counted.  A text too long to be read at once is read in windows that overlap by half: each token is predicted
from at least half as many before it as the model can read.

Weights are read from safetensors, never from a pickle.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lexproof.candidates.folders import fingerprint_of, load
from lexproof.errors import ModelError, require
from lexproof.fluency.base import per_token, tokens
from lexproof.points import FloatArray

_CELLS = 512  # tokens read at once, padding included: each has a number for every token of the vocabulary
_LONGEST = 1024  # tokens of a window, even of models that can read more
_MEMO = 50_000  # texts whose perplexity is remembered


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens that are read at once for a text; those before `first` are context only."""

    text: int
    ids: tuple[int, ...]
    first: int


class Causal:
    """Perplexity by a causal language model; loaded on first use."""

    def __init__(self, model: str | Path) -> None:
        self._model = str(model)
        self._known: dict[str, float] = {}

    @cached_property
    def name(self) -> str:
        """The name of the model and a hash of its weights."""
        return f"{Path(self._model).name}:{fingerprint_of(self._model)}"

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        return load(self._model, "AutoModelForCausalLM", what="a causal language model")

    @cached_property
    def _longest(self) -> int:
        tokenizer, model = self._loaded
        positions = getattr(model.config, "max_position_embeddings", _LONGEST)
        longest = min(_LONGEST, tokenizer.model_max_length, positions)
        if longest < 2:
            raise ModelError(
                f"expected a model that reads 2 tokens at least, got {self._model!r}, which reads {longest}"
            )
        return int(longest)

    def perplexity(self, texts: Sequence[str]) -> FloatArray:
        """Perplexity a word or punctuation mark, end of text included; an unusable model fails even without texts.

        A text that is asked about again is not read again.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        known = {text: self._known[text] for text in texts if text in self._known}
        known |= dict(zip(new, self._read(new).tolist(), strict=True))
        if len(self._known) + len(new) > _MEMO:
            self._known = {}
        self._known.update(known)
        return np.array([known[text] for text in texts], np.float64)

    def _read(self, texts: Sequence[str]) -> FloatArray:
        """Perplexities of texts, windows of like length batched together."""
        tokenizer, _ = self._loaded
        windows = [window for at, text in enumerate(texts) for window in self._windows(tokenizer, at, text)]
        logs = np.zeros(len(texts))
        for batch in _batches(sorted(windows, key=lambda window: len(window.ids))):
            np.add.at(logs, [window.text for window in batch], self._logs(batch))
        return per_token(logs, [len(tokens(text)) for text in texts])

    def _windows(self, tokenizer: Any, at: int, text: str) -> Iterator[Window]:
        ids = list(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
        begin = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
        marks = [mark for mark in (tokenizer.eos_token_id,) if mark is not None]
        ids = [*([] if begin is None else [begin]), *ids, *marks]
        start, first = 0, 1
        while first < len(ids):
            stop = min(len(ids), start + self._longest)
            yield Window(at, tuple(ids[start:stop]), first - start)
            start, first = stop - self._longest // 2, stop

    def _logs(self, batch: Sequence[Window]) -> FloatArray:
        """The logarithm of the probability of each window's own tokens."""
        torch = require("torch", "torch", "a causal language model")
        _, model = self._loaded
        width = max(len(window.ids) for window in batch)
        ids = torch.zeros(len(batch), width, dtype=torch.long)
        is_read = torch.zeros(len(batch), width, dtype=torch.long)
        is_own = torch.zeros(len(batch), width, dtype=torch.bool)
        for row, window in enumerate(batch):
            ids[row, : len(window.ids)] = torch.tensor(window.ids)
            is_read[row, : len(window.ids)] = 1
            is_own[row, window.first : len(window.ids)] = True
        with torch.inference_mode():
            logits = model(input_ids=ids, attention_mask=is_read).logits[:, :-1].float()
            surprise = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:], reduction="none")
        sums: FloatArray = -(surprise.double() * is_own[:, 1:]).sum(1).numpy()
        return sums


def _batches(windows: Sequence[Window]) -> Iterator[Sequence[Window]]:
    """Windows, sorted by length, in batches that memory holds."""
    start = 0
    while start < len(windows):
        stop = start + 1
        while stop < len(windows) and (stop + 1 - start) * len(windows[stop].ids) <= _CELLS:
            stop += 1
        yield windows[start:stop]
        start = stop
