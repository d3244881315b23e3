"""Gradients of word models: by each word's vectors, and what they say of single swaps.

The network is in evaluation mode: nothing is dropped, and the same text has the same gradient.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lexproof.points import FirstOrder, FloatArray, Gradient, Sensitivity
from lexproof.victims.first_order import Choices, estimates
from lexproof.victims.word_net import WordNet
from lexproof.victims.word_rows import Index
from lexproof.victims.word_space import Layout, WordBound


def sensitivity(net: WordNet, bound: WordBound, request: Sensitivity, batch_tokens: int) -> FloatArray:
    """L1 norm of the gradient of a label's probability by the vectors of each word's tokens: (B, n)."""
    layout = bound.layout(request.points)
    norms = np.zeros(request.points.shape)
    for chosen, lengths, gradient in _by_token(net, layout, request, batch_tokens):
        norms[chosen] = _by_word(layout, chosen, lengths, np.abs(gradient).sum(axis=2, keepdims=True))[:, :, 0]
    return norms


def first_order(net: WordNet, bound: WordBound, request: FirstOrder, batch_tokens: int) -> FloatArray:
    """First-order change of a label's probability by each single swap: (B, S)."""
    layout = bound.layout(request.points)
    gradients = np.zeros((*request.points.shape, net.embedding.embedding_dim))
    for chosen, lengths, gradient in _by_token(net, layout, request, batch_tokens):
        gradients[chosen] = _by_word(layout, chosen, lengths, gradient)
    choices = Choices(*bound.choices, bound.columns.first)
    vectors = net.embedding.weight.detach().numpy()
    return estimates(bound.space, request.points, gradients, choices, lambda ids: vectors[ids])


def _by_token(
    net: WordNet, layout: Layout, request: Gradient, batch_tokens: int
) -> Iterator[tuple[Index, Index, NDArray[np.float64]]]:
    """(row numbers, lengths, gradient of the label's probability by each token's vector) of each batch."""
    assert not net.training, "a victim is asked for gradients in evaluation mode"
    for chosen, ids, lengths in layout.rows.batches(batch_tokens):
        yield chosen, lengths, _gradient(net, torch.from_numpy(ids), torch.from_numpy(lengths), request.label)


def _gradient(net: WordNet, ids: Tensor, lengths: Tensor, label: int) -> NDArray[np.float64]:
    embedded = net.embedding(ids).requires_grad_()
    with torch.enable_grad():
        probability = torch.softmax(net.logits(embedded, lengths).double(), 1)[:, label].sum()
        (gradient,) = torch.autograd.grad(probability, embedded)
    return np.asarray(gradient.double().numpy())


def _by_word(layout: Layout, chosen: Index, lengths: Index, by_token: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums over each word's tokens (B, n, dim) of what belongs to tokens (B, L, dim); 0 for what is not read."""
    sums = np.concatenate([np.zeros_like(by_token[:, :1]), np.cumsum(by_token, axis=1)], axis=1)
    starts = np.minimum(layout.starts[chosen], lengths[:, None])
    ends = np.minimum(layout.ends[chosen], lengths[:, None])
    return np.asarray(np.take_along_axis(sums, ends[:, :, None], 1) - np.take_along_axis(sums, starts[:, :, None], 1))
