"""Gradients of word models: by each word's vectors, and what they say of single swaps.  Many texts at once.

The network is in evaluation mode: nothing is dropped, and the same text has the same gradient.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lexproof.points import FirstOrder, FloatArray, Gradient, WordGradient
from lexproof.victims.first_order import Choices, estimates
from lexproof.victims.word_net import WordNet
from lexproof.victims.word_rows import Rows
from lexproof.victims.word_space import Layout, WordBound

Floats = NDArray[np.floating]


def gradients(net: WordNet, jobs: Sequence[tuple[WordBound, Gradient]], batch_tokens: int) -> list[FloatArray]:
    """What each job asks for.

    (B, S) estimates of single swaps, (B, n) L1 norms, or (B, dim + 2) gradients by single words; gradients and norms
    are summed over each word's tokens.
    """
    layouts = [bound.layout(request.points) for bound, request in jobs]
    counts = [len(request.points) for _, request in jobs]
    labels = np.repeat([request.label for _, request in jobs], counts).astype(np.int64)
    whole = np.repeat([isinstance(request, FirstOrder | WordGradient) for _, request in jobs], counts)
    rows = Rows.joined([layout.rows for layout in layouts])
    by_token, probabilities = _by_token(net, rows, labels, whole, batch_tokens)
    ends = np.cumsum(counts)
    answers: list[FloatArray] = []
    for (bound, request), layout, end, count in zip(jobs, layouts, ends.tolist(), counts, strict=True):
        own = slice(end - count, end)
        if isinstance(request, WordGradient):
            answers.append(_by_single_words(net, request, layout, by_token[own], probabilities[own]))
            continue
        by_word = _by_word(layout, by_token[own])
        answers.append(
            _estimates(net, bound, request, by_word) if isinstance(request, FirstOrder) else by_word[:, :, 0]
        )
    return answers


def _estimates(net: WordNet, bound: WordBound, request: FirstOrder, by_word: FloatArray) -> FloatArray:
    choices = Choices(*bound.choices, bound.columns.first)
    vectors = net.embedding.weight.detach().numpy()
    return estimates(bound.space, request.points, by_word, choices, lambda ids: vectors[ids])


def _by_single_words(
    net: WordNet, request: WordGradient, layout: Layout, by_token: Sequence[Floats], probabilities: FloatArray
) -> FloatArray:
    """See `WordGradient`; the tokens of a word that are not read count neither in its gradient nor in its mean."""
    vectors = net.embedding.weight.detach().numpy()
    ids = list(layout.rows)
    found = np.zeros((len(request.rows), vectors.shape[1] + 2))
    for answer, row, position in zip(found, request.rows.tolist(), request.positions.tolist(), strict=True):
        held = slice(int(layout.starts[row, position]), int(layout.ends[row, position]))
        answer[-1] = probabilities[row]
        if len(read := ids[row][held]):
            answer[:-2] = by_token[row][held].sum(axis=0, dtype=np.float64)
            answer[-2] = answer[:-2] @ vectors[read].mean(axis=0, dtype=np.float64)
    return found


def _by_token(
    net: WordNet, rows: Rows, labels: NDArray[np.int64], whole: NDArray[np.bool_], batch_tokens: int
) -> tuple[list[Floats], FloatArray]:
    """For each row the gradient of its label's probability by each token's vector, or only the L1 norms of that.

    Beside them the probabilities (B,).
    """
    assert not net.training, "a victim is asked for gradients in evaluation mode"
    found: list[Floats] = [np.empty((0, 1))] * len(rows)
    probabilities = np.empty(len(rows))
    for chosen, ids, lengths in rows.batches(batch_tokens):
        given = torch.from_numpy(ids), torch.from_numpy(lengths), torch.from_numpy(labels[chosen])
        gradient, probabilities[chosen] = _gradient(net, *given)
        norms = gradient.abs().sum(2, keepdim=True, dtype=torch.float64).numpy()
        full = gradient.numpy()
        for at, (row, length) in enumerate(zip(chosen.tolist(), lengths.tolist(), strict=True)):
            found[row] = full[at, :length] if whole[row] else norms[at, :length]
    return found, probabilities


def _gradient(net: WordNet, ids: Tensor, lengths: Tensor, labels: Tensor) -> tuple[Tensor, FloatArray]:
    embedded = net.embedding(ids).requires_grad_()
    with torch.enable_grad():
        probability = torch.softmax(net.logits(embedded, lengths).double(), 1).gather(1, labels[:, None])[:, 0]
        gradient: Tensor = torch.autograd.grad(probability.sum(), embedded)[0]
    return gradient, probability.detach().numpy()


def _by_word(layout: Layout, by_token: Sequence[Floats]) -> FloatArray:
    """Sums over each word's tokens (B, n, dim) of what belongs to the tokens of each row; 0 for what is not read."""
    found = np.zeros((*layout.starts.shape, by_token[0].shape[1] if by_token else 1))
    for row, tokens in enumerate(by_token):
        sums = np.zeros((len(tokens) + 1, tokens.shape[1]))
        np.cumsum(tokens, axis=0, out=sums[1:])
        last = len(tokens)
        found[row] = sums[np.minimum(layout.ends[row], last)] - sums[np.minimum(layout.starts[row], last)]
    return found
