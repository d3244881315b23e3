"""Transformer: any Hugging Face sequence classifier with a fast tokenizer.

Scores are probabilities, the softmax in float64 of float32 logits, in evaluation mode.  Weights are read from
safetensors only; a pickle is refused.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lexproof.errors import ModelError, require
from lexproof.points import FirstOrder, FloatArray, Sensitivity, WordGradient
from lexproof.space import Space
from lexproof.text import Input
from lexproof.victims import transformer_gradients
from lexproof.victims.base import Bound, GradientJob, Vectors, Victim, check_scores
from lexproof.victims.noise import largest_difference, stated_rounding
from lexproof.victims.transformer_bind import UnitBound
from lexproof.victims.transformer_encoding import Encoder, Row
from lexproof.victims.transformer_folder import Parts, length_limit, read_parts, write_parts

if TYPE_CHECKING:
    import torch
else:
    torch = require("torch", "transformers", "a transformer victim")

_LEAST_ROUNDING = 1e-4
_ORIGIN = ("_name_or_path", "transformers_version", "id2label", "label2id", "dtype", "torch_dtype", "architectures")
"""Parts of a configuration that say where it is from, or what is hashed by itself."""
_LENGTHS = (2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96)  # of the random texts that rounding is measured on


class Transformer(Victim):
    """A sequence classifier from a folder, or from the Hugging Face hub by name (needs network).

    Texts longer than `max_length` tokens are truncated as the tokenizer does it (pairs: `longest_first`), so words
    past it cannot change the scores.  `batch_tokens` limits the padded size of a batch.
    """

    kind: ClassVar[str] = "transformer"
    has_gradients: ClassVar[bool] = True

    def __init__(
        self,
        source: str | Path,
        labels: Sequence[str] | None = None,
        *,
        max_length: int | None = None,
        batch_tokens: int = 2048,
        name: str | None = None,
    ) -> None:
        self._set_up(read_parts(source), labels, max_length, batch_tokens, name or Path(source).name)

    @classmethod
    def of(
        cls,
        model: Any,
        tokenizer: Any,
        labels: Sequence[str],
        *,
        max_length: int | None = None,
        batch_tokens: int = 2048,
        name: str = "transformer",
        training: Mapping[str, Any] | None = None,
    ) -> Transformer:
        """A victim from a model and a tokenizer that are already in memory; the model is frozen."""
        victim = cls.__new__(cls)
        parts = Parts(model, tokenizer, tuple(labels), None, dict(training or {}))
        victim._set_up(parts, labels, max_length, batch_tokens, name)
        return victim

    def _set_up(
        self, parts: Parts, labels: Sequence[str] | None, max_length: int | None, batch_tokens: int, name: str
    ) -> None:
        self.model = parts.model.float().eval().requires_grad_(False)
        self.labels = tuple(labels or parts.labels)
        if len(self.labels) != self.model.config.num_labels:
            raise ModelError(f"expected {self.model.config.num_labels} labels, got {len(self.labels)}")
        if len(self.labels) < 2:
            raise ModelError("expected a classifier with at least 2 classes, got a model with 1 output")
        _check_vocabulary(parts)
        limit = length_limit(parts)
        if max_length is not None and not (type(max_length) is int and max_length > 0):
            raise ModelError(f"expected max_length as a whole number, got {max_length!r}")
        if max_length is not None and max_length > limit:
            raise ModelError(f"expected max_length <= {limit}, the model's limit, got {max_length}")
        takes = inspect.signature(self.model.forward).parameters.keys() & set(parts.tokenizer.model_input_names)
        self.encoder = Encoder(
            parts.tokenizer,
            max_length=max_length or min(parts.max_length or limit, limit),
            reads_types="token_type_ids" in takes,
        )
        self.batch_tokens = batch_tokens
        self.name = name
        self.training = parts.training

    # ------------------------------------------------------------------ scores

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        """Probabilities of texts: (B, classes)."""
        return self.forward(self.encoder.encode(inputs))

    def bind(self, space: Space) -> UnitBound:
        """Compile a space to token ids."""
        return UnitBound(space, self.encoder)

    def forward(self, rows: Sequence[Row | Input]) -> FloatArray:
        """Probabilities of encoded rows, or of texts among them, batched by length."""
        encoded = iter(self.encoder.encode([given for given in rows if not isinstance(given, Row)]))
        return self._scores([given if isinstance(given, Row) else next(encoded) for given in rows])

    def _scores(self, rows: Sequence[Row]) -> FloatArray:
        scores = np.empty((len(rows), self.classes))
        for batch in self.batches(rows):
            scores[batch] = torch.softmax(self._logits([rows[b] for b in batch]), dim=-1).numpy()
        return check_scores(scores, len(rows), self.classes, self.name)

    @torch.inference_mode()
    def _logits(self, rows: Sequence[Row]) -> torch.Tensor:
        """Logits of one batch, in float64."""
        return self.run(rows).double()

    def run(self, rows: Sequence[Row]) -> torch.Tensor:
        """The model's own logits of one batch, or ModelError if it cannot read it."""
        logits: torch.Tensor = self.call(self.tensors(rows)).logits
        return logits

    def call(self, tensors: Mapping[str, torch.Tensor], **options: Any) -> Any:
        """What the model returns for a batch made by `tensors`, or ModelError if it cannot read it."""
        try:
            return self.model(**tensors, **options)
        except (RuntimeError, IndexError, ValueError) as error:  # the model is foreign code
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            count = len(tensors["input_ids"])
            raise ModelError(f"expected {self.name!r} to read a batch of {count} texts, got {reason}") from error

    @property
    def _can_pad(self) -> bool:
        # GPT-2 and its kin find the last token of a text by the model's own padding token
        return self.encoder.tokenizer.pad_token_id is not None and self.model.config.pad_token_id is not None

    def batches(self, rows: Sequence[Row]) -> Iterator[list[int]]:
        """Indexes of rows, shortest first, in batches of at most `batch_tokens` padded tokens."""
        batch: list[int] = []
        for b in sorted(range(len(rows)), key=lambda b: len(rows[b].ids)):
            if batch and not (self._can_pad and (len(batch) + 1) * len(rows[b].ids) <= self.batch_tokens):
                yield batch
                batch = []
            batch.append(b)
        if batch:
            yield batch

    def tensors(self, rows: Sequence[Row]) -> dict[str, torch.Tensor]:
        """A padded batch as the model's keyword arguments."""
        tokenizer = self.encoder.tokenizer
        shape = len(rows), max(len(row.ids) for row in rows)
        ids = torch.full(shape, tokenizer.pad_token_id or 0)
        types = torch.full(shape, tokenizer.pad_token_type_id)
        mask = torch.zeros(shape, dtype=torch.long)
        for b, row in enumerate(rows):
            ids[b, : len(row.ids)] = torch.tensor(row.ids)
            types[b, : len(row.ids)] = torch.tensor(row.types)
            mask[b, : len(row.ids)] = 1
        tensors = {"input_ids": ids, "attention_mask": mask}
        return {**tensors, "token_type_ids": types} if self.encoder.reads_types else tensors

    @cached_property
    def rounding(self) -> float:  # type: ignore[override]
        """1e-4, or what was measured on this very model if that is more; see `noise`.

        Between batch compositions and paddings a fine-tuned MiniLM's margins differed by at most 3.0e-6 on 300 reviews.
        """
        rows = sorted(self.encoder.encode(list(self._random_texts())), key=lambda row: len(row.ids))
        alone = torch.cat([self._logits([row]) for row in rows])
        if not self._can_pad:  # every text is read alone: what float32 itself loses
            wide = deepcopy(self.model).double()
            with torch.inference_mode():
                exact = torch.cat([wide(**self.tensors([row])).logits for row in rows])
            return stated_rounding(largest_difference(alone - exact), least=_LEAST_ROUNDING)
        batches = [self._logits(rows), torch.cat([self._logits(rows[at : at + 3]) for at in range(0, len(rows), 3)])]
        noise = max(largest_difference(logits - alone) for logits in batches)
        return stated_rounding(noise, least=_LEAST_ROUNDING)

    def _random_texts(self) -> Iterator[str]:
        tokenizer = self.encoder.tokenizer
        known = np.setdiff1d(np.arange(len(tokenizer)), list(tokenizer.added_tokens_decoder))
        rng = np.random.default_rng(0)
        for length in _LENGTHS:
            yield tokenizer.decode(rng.choice(known, length).tolist())

    # ------------------------------------------------------------------ gradients

    def sensitivity(self, bound: Bound, request: Sensitivity) -> FloatArray:
        """L1 norm of the gradient of a label's probability by each word's embeddings, summed over its pieces."""
        return self.gradients([(bound, request)])[0]

    def first_order(self, bound: Bound, request: FirstOrder) -> FloatArray:
        """First-order change of a label's probability by each single swap: (B, S); see `FirstOrder`."""
        return self.gradients([(bound, request)])[0]

    def word_gradient(self, bound: Bound, request: WordGradient) -> FloatArray:
        """Gradients of a label's probability by single words: (B, dim + 2); see `WordGradient`."""
        return self.gradients([(bound, request)])[0]

    def word_vectors(self, words: Sequence[str]) -> Vectors:
        """The mean vector of each word's tokens, as written inside a text: (V, dim)."""
        return transformer_gradients.word_vectors(self, words)

    def gradients(self, jobs: Sequence[GradientJob]) -> list[FloatArray]:
        """What each job asks for, texts of all of them differentiated together."""
        for _, request in jobs:
            self._check_label(request.label)
        return transformer_gradients.gradients(self, jobs)

    # ------------------------------------------------------------------ identity and storage

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the weights, the configuration, the tokenizer and the length limit."""
        tokenizer = json.loads(self.encoder.tokenizer.backend_tokenizer.to_str())
        config = json.loads(self.model.config.to_json_string())
        read = {key: value for key, value in config.items() if key not in _ORIGIN}
        settings = [self.model.config.model_type, read, self.labels, self.encoder.max_length]
        state = {key: value for key, value in tokenizer.items() if key not in ("truncation", "padding")}
        digest = hashlib.sha256(json.dumps([settings, state], sort_keys=True).encode())
        for key, tensor in sorted(self.model.state_dict().items()):
            digest.update(key.encode())
            digest.update(memoryview(tensor.contiguous().numpy()).cast("B"))
        return digest.hexdigest()[:16]

    def save(self, folder: str | Path) -> None:
        """Write a folder that `Transformer(folder)`, `lexproof.load` and transformers read; whole or not at all."""
        parts = Parts(self.model, self.encoder.tokenizer, self.labels, self.encoder.max_length, self.training)
        write_parts(parts, Path(folder))


def _check_vocabulary(parts: Parts) -> None:
    known = len(parts.model.get_input_embeddings().weight)
    largest = max(parts.tokenizer.get_vocab().values(), default=0)
    if largest >= known:
        raise ModelError(
            f"expected a tokenizer whose ids are below {known}, the tokens that the model knows, got id {largest}; "
            "they do not belong together, or tokens were added without resize_token_embeddings"
        )
