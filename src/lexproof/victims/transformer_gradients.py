"""Gradients of transformers: by each token's embedding, gathered by word, and what they say of single swaps.

The model is in evaluation mode: nothing is dropped, and the same text has the same gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import require
from lexproof.points import FirstOrder, FloatArray, Gradient, Sensitivity
from lexproof.space import Space
from lexproof.text import Input
from lexproof.victims.first_order import estimates
from lexproof.victims.transformer_bind import UnitBound, surface
from lexproof.victims.transformer_encoding import Row

if TYPE_CHECKING:
    import torch

    from lexproof.victims.transformer import Transformer
else:
    torch = require("torch", "transformers", "a transformer victim")


def sensitivity(victim: Transformer, space: Space, request: Sensitivity) -> FloatArray:
    """L1 norm of the gradient of a label's probability by each word's embeddings, summed over its pieces: (B, n)."""
    norms = np.zeros(request.points.shape)
    for b, owners, gradient in _by_token(victim, space, request):
        np.add.at(norms[b], owners, np.abs(gradient).sum(axis=1))
    return norms


def first_order(victim: Transformer, bound: UnitBound, request: FirstOrder) -> FloatArray:
    """First-order change of a label's probability by each single swap: (B, S)."""
    embedding = victim.model.get_input_embeddings()
    gradients = np.zeros((*request.points.shape, embedding.embedding_dim))
    for b, owners, gradient in _by_token(victim, bound.space, request):
        np.add.at(gradients[b], owners, gradient)

    def vectors(ids: NDArray[np.int64]) -> NDArray[np.floating]:
        with torch.inference_mode():
            return np.asarray(embedding(torch.from_numpy(ids)).numpy())

    return estimates(bound.space, request.points, gradients, bound.choices, vectors)


def _by_token(
    victim: Transformer, space: Space, request: Gradient
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """For each point the words that own its tokens, and the gradient by these tokens' embeddings (tokens, dim)."""
    premise = space.original.premise
    surfaces = [surface(space, point, victim.encoder.mask) for point in request.points]
    inputs: list[Input] = [text if premise is None else (premise, text) for text, _ in surfaces]
    spans = victim.encoder.spans(inputs)
    for b, gradient in _gradients(victim, victim.encoder.encode(inputs), request.label):
        owners = _owners(spans[b], surfaces[b][1])
        yield b, owners[owners >= 0], gradient[owners >= 0]


def _gradients(victim: Transformer, rows: Sequence[Row], label: int) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Each row with the gradient of the label's probability by its tokens' embeddings."""
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
        score = torch.softmax(logits.double(), -1)[:, label].sum()
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
