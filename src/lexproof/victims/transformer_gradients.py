"""Gradients of transformers: by each token's embedding, gathered by word, and what they say of single swaps.

The model is in evaluation mode: nothing is dropped, and the same text has the same gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import require
from lexproof.points import FirstOrder, FloatArray, Gradient
from lexproof.text import Input
from lexproof.victims.base import Bound
from lexproof.victims.first_order import estimates
from lexproof.victims.transformer_bind import UnitBound, surface
from lexproof.victims.transformer_encoding import Row

if TYPE_CHECKING:
    import torch

    from lexproof.victims.transformer import Transformer
else:
    torch = require("torch", "transformers", "a transformer victim")


def gradients(victim: Transformer, jobs: Sequence[tuple[Bound, Gradient]]) -> list[FloatArray]:
    """What each job asks for: (B, S) estimates of single swaps, or (B, n) L1 norms summed over each word's pieces."""
    embedding = victim.model.get_input_embeddings()
    inputs: list[Input] = []
    words: list[Sequence[tuple[int, int]]] = []
    for bound, request in jobs:
        premise = bound.space.original.premise
        for text, spans in (surface(bound.space, point, victim.encoder.mask) for point in request.points):
            inputs.append(text if premise is None else (premise, text))
            words.append(spans)
    owner = [(job, row) for job, (_, request) in enumerate(jobs) for row in range(len(request.points))]
    wide = [embedding.embedding_dim if isinstance(request, FirstOrder) else 1 for _, request in jobs]
    by_word = [np.zeros((*request.points.shape, dim)) for (_, request), dim in zip(jobs, wide, strict=True)]
    tokens = victim.encoder.spans(inputs)
    labels = [jobs[job][1].label for job, _ in owner]
    for b, gradient in _gradients(victim, victim.encoder.encode(inputs), labels):
        owners = _owners(tokens[b], words[b])
        job, row = owner[b]
        in_full = isinstance(jobs[job][1], FirstOrder)
        by_token = gradient if in_full else np.abs(gradient).sum(axis=1, keepdims=True)
        np.add.at(by_word[job][row], owners[owners >= 0], by_token[owners >= 0])
    return [
        _estimates(victim, bound, request, found) if isinstance(request, FirstOrder) else found[:, :, 0]
        for (bound, request), found in zip(jobs, by_word, strict=True)
    ]


def _estimates(victim: Transformer, bound: Bound, request: FirstOrder, by_word: FloatArray) -> FloatArray:
    embedding = victim.model.get_input_embeddings()
    units = bound if isinstance(bound, UnitBound) else victim.bind(bound.space)

    def vectors(ids: NDArray[np.int64]) -> NDArray[np.floating]:
        with torch.inference_mode():
            return np.asarray(embedding(torch.from_numpy(ids)).numpy())

    return estimates(units.space, request.points, by_word, units.choices, vectors)


def _gradients(
    victim: Transformer, rows: Sequence[Row], labels: Sequence[int]
) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Each row with the gradient of its label's probability by its tokens' embeddings."""
    assert not victim.model.training, "a victim is asked for gradients in evaluation mode"
    leaves: list[torch.Tensor] = []

    def detach(module: object, inputs: object, output: torch.Tensor) -> torch.Tensor:
        leaves.append(output.detach().requires_grad_())
        return leaves[-1]

    for batch in victim.batches(rows):
        leaves.clear()
        hook = victim.model.get_input_embeddings().register_forward_hook(detach)
        try:
            with torch.enable_grad():
                logits = victim.run([rows[b] for b in batch])
        finally:
            hook.remove()
        own = torch.tensor([labels[b] for b in batch])
        score = torch.softmax(logits.double(), -1).gather(1, own[:, None]).sum()
        # the first look-up is that of the text; GPT-2 looks token types up in the same table
        (gradient,) = torch.autograd.grad(score, leaves[:1])
        by_token = gradient.double().numpy()
        for row, b in enumerate(batch):
            yield b, by_token[row, : len(rows[b].ids)]


def _owners(tokens: Sequence[tuple[int, int]], words: Sequence[tuple[int, int]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """For each token the first word that shares a character with it, or -1; both ordered and given as spans."""
    owners = np.full(len(tokens), -1)
    w = 0
    for t, (start, end) in enumerate(tokens):
        while w < len(words) and words[w][1] <= max(start, words[w][0]):  # over, or deleted
            w += 1
        if w < len(words) and start < end and words[w][0] < end:
            owners[t] = w
    return owners
