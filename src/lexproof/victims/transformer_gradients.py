"""Gradients of transformers: by each token's embedding, gathered by word, and what they say of single swaps.

The model is in evaluation mode: nothing is dropped, and the same text has the same gradient.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lexproof.errors import require
from lexproof.points import FirstOrder, FloatArray, Gradient, WordGradient
from lexproof.text import Input
from lexproof.victims.base import Bound
from lexproof.victims.first_order import Vectors, estimates, word_means
from lexproof.victims.transformer_bind import UnitBound, surface
from lexproof.victims.transformer_encoding import Row

if TYPE_CHECKING:
    import torch

    from lexproof.victims.transformer import Transformer
else:
    torch = require("torch", "transformers", "a transformer victim")


class _Differentiated(NamedTuple):
    """One text: its label's probability, the gradient of that by its tokens' embeddings, and these embeddings."""

    probability: float
    gradient: FloatArray  # (T, dim)
    embedded: FloatArray  # (T, dim)


def gradients(victim: Transformer, jobs: Sequence[tuple[Bound, Gradient]]) -> list[FloatArray]:
    """What each job asks for.

    (B, S) estimates of single swaps, (B, n) L1 norms, or (B, dim + 2) gradients by single words; gradients and norms
    are summed over each word's pieces.
    """
    inputs: list[Input] = []
    words: list[Sequence[tuple[int, int]]] = []
    for bound, request in jobs:
        premise = bound.space.original.premise
        for text, spans in (surface(bound.space, point, victim.encoder.mask) for point in request.points):
            inputs.append(text if premise is None else (premise, text))
            words.append(spans)
    owner = [(job, row) for job, (_, request) in enumerate(jobs) for row in range(len(request.points))]
    found = [_unanswered(request, victim.model.get_input_embeddings().embedding_dim) for _, request in jobs]
    tokens = victim.encoder.spans(inputs)
    labels = [jobs[job][1].label for job, _ in owner]
    for b, differentiated in _gradients(victim, victim.encoder.encode(inputs), labels):
        job, row = owner[b]
        _take(jobs[job][1], found[job], row, differentiated, owners(tokens[b], words[b]))
    return [_answer(victim, bound, request, own) for (bound, request), own in zip(jobs, found, strict=True)]


def _unanswered(request: Gradient, dim: int) -> FloatArray:
    """Where what belongs to a request is gathered: by single words, or by all words of each point."""
    if isinstance(request, WordGradient):
        return np.zeros((len(request.rows), dim + 2))
    return np.zeros((*request.points.shape, dim if isinstance(request, FirstOrder) else 1))


def _take(request: Gradient, found: FloatArray, row: int, text: _Differentiated, owners: NDArray[np.int64]) -> None:
    """Add what one differentiated point says; `owners` tells which word each of its tokens belongs to."""
    if isinstance(request, WordGradient):
        for b in np.flatnonzero(request.rows == row).tolist():
            held = owners == request.positions[b]
            found[b, -1] = text.probability
            if held.any():  # tokens that are not read count neither in the gradient nor in the mean
                found[b, :-2] = text.gradient[held].sum(axis=0)
                found[b, -2] = found[b, :-2] @ text.embedded[held].mean(axis=0)
        return
    in_full = isinstance(request, FirstOrder)
    by_token = text.gradient if in_full else np.abs(text.gradient).sum(axis=1, keepdims=True)
    np.add.at(found[row], owners[owners >= 0], by_token[owners >= 0])


def _answer(victim: Transformer, bound: Bound, request: Gradient, gathered: FloatArray) -> FloatArray:
    if isinstance(request, WordGradient):
        return gathered
    return _estimates(victim, bound, request, gathered) if isinstance(request, FirstOrder) else gathered[:, :, 0]


def _estimates(victim: Transformer, bound: Bound, request: FirstOrder, by_word: FloatArray) -> FloatArray:
    units = bound if isinstance(bound, UnitBound) else victim.bind(bound.space)
    return estimates(units.space, request.points, by_word, units.choices, _vectors_of(victim))


def _vectors_of(victim: Transformer) -> Vectors:
    embedding = victim.model.get_input_embeddings()

    def vectors(ids: NDArray[np.int64]) -> NDArray[np.floating]:
        with torch.inference_mode():
            return np.asarray(embedding(torch.from_numpy(ids)).numpy())

    return vectors


def word_vectors(victim: Transformer, words: Sequence[str]) -> NDArray[np.floating]:
    """The mean vector of the tokens of each word between two others: (V, dim)."""
    before, after = "a ", " a"  # byte-level and Unigram tokenizers see the space before a word
    spans = [(len(before), len(before) + len(word)) for word in words]
    runs = victim.encoder.held([before + word + after for word in words], spans)
    return word_means(runs, _vectors_of(victim))


def _gradients(
    victim: Transformer, rows: Sequence[Row], labels: Sequence[int]
) -> Iterator[tuple[int, _Differentiated]]:
    """Each row differentiated by its tokens' embeddings."""
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
        score = torch.softmax(logits.double(), -1).gather(1, own[:, None])[:, 0]
        # the first look-up is that of the text; GPT-2 looks token types up in the same table
        (gradient,) = torch.autograd.grad(score.sum(), leaves[:1])
        by_token, embedded = gradient.double().numpy(), leaves[0].detach().double().numpy()
        for row, (b, probability) in enumerate(zip(batch, score.tolist(), strict=True)):
            length = len(rows[b].ids)
            yield b, _Differentiated(probability, by_token[row, :length], embedded[row, :length])


def owners(tokens: Sequence[tuple[int, int]], words: Sequence[tuple[int, int]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """For each token the first word that shares a character with it, or -1; both ordered and given as spans."""
    owners = np.full(len(tokens), -1)
    w = 0
    for t, (start, end) in enumerate(tokens):
        while w < len(words) and words[w][1] <= max(start, words[w][0]):  # over, or deleted
            w += 1
        if w < len(words) and start < end and words[w][0] < end:
            owners[t] = w
    return owners
