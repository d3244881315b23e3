"""Convolutions over word vectors, then max-pool over time or flatten, then affine.

The defaults are the classic: one layer, widths 3, 4 and 5, 100 filters each, max-pool.  The MSR paper's network is
`layers=3, widths=(3,), filters=150` with either pooling.  Each width is a branch of its own, `layers` deep.

A text stands between zeros, and no value outside it reaches the next layer: the logits are those of the text alone.

A swap changes `width` outputs of the first layer, 2 width - 1 of the second, and so on: only this slab is computed
again, from the change of its inputs.  The max over the outputs before and after it comes from running maxima.
The classic is evaluated by `cnn_shallow`, which knows a quicker way for a single layer, and deletions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from lexproof.errors import InputError
from lexproof.victims.cnn_maxpool import largest_output
from lexproof.victims.cnn_shallow import ShallowCnn, ShallowState
from lexproof.victims.token_table import TokenTable
from lexproof.victims.word_net import WordNet, WordSettings, mask
from lexproof.victims.words import WordVictim


@dataclass(frozen=True, slots=True, kw_only=True)
class CnnSettings(WordSettings):
    """The one-layer classic by default."""

    filters: int = 100
    widths: tuple[int, ...] = (3, 4, 5)
    layers: int = 1
    pooling: Literal["max", "flatten"] = "max"
    dropout: float = 0.5

    def __post_init__(self) -> None:
        WordSettings.__post_init__(self)
        given: object = self.widths
        if type(given) is int:  # one width may be given by itself
            object.__setattr__(self, "widths", (given,))
        is_tuple = isinstance(self.widths, tuple) and len(self.widths) > 0
        if not is_tuple or any(type(width) is not int or width < 1 for width in self.widths):
            raise InputError(f"expected widths of at least 1, got {self.widths!r}")
        if self.pooling not in ("max", "flatten"):
            raise InputError(f"expected pooling to be 'max' or 'flatten', got {self.pooling!r}")


class _Branch(nn.Module):
    """Convolutions of one width, one after the other, each followed by a ReLU."""

    def __init__(self, width: int, layers: int, embedding: nn.Embedding, filters: int) -> None:
        super().__init__()
        dim = embedding.embedding_dim
        self.stack = tuple(nn.Conv1d(dim if k == 0 else filters, filters, width) for k in range(layers))
        self.convs = nn.ModuleList(self.stack)
        self.width, self.left, self.right = width, (width - 1) // 2, width // 2
        self.filters = filters
        self.table = TokenTable(embedding.weight, self._reach, (self.stack[0].weight,))

    def train(self, mode: bool = True) -> _Branch:
        """Enter or leave training; what was looked up before is no longer true."""
        self.table.clear()
        super().train(mode)
        return self

    def _reach(self) -> Tensor:
        """Maps a word vector to what the word at place t adds to the first layer at places t - right … t + left."""
        # the output at place t - right reads the token at the far end of its window
        return self.stack[0].weight.flip(2).permute(1, 2, 0).flatten(1)

    def outputs(self, embedded: Tensor, inside: Tensor) -> list[Tensor]:
        """Each layer (B, filters, L) before its ReLU, of word vectors (B, dim, L); -inf outside the text.

        -inf before a ReLU says that a place never fires, whatever is added to it.
        """
        first = self.stack[0](nn.functional.pad(embedded, (self.left, self.right)))
        return self._above(first.masked_fill(~inside[:, None], -torch.inf), inside)

    def largest(self, embedded: Tensor, inside: Tensor) -> Tensor:
        """The largest outputs of the last layer before its ReLU: (B, filters)."""
        value = embedded
        for conv in self.stack[:-1]:
            output = conv(nn.functional.pad(value, (self.left, self.right)))
            value = torch.relu(output.masked_fill(~inside[:, None], -torch.inf))
        return largest_output(self.stack[-1], nn.functional.pad(value, (self.left, self.right)), inside)

    def looked_up(self, ids: Tensor, lengths: Tensor, margin: int = 0) -> list[Tensor]:
        """The same layers, the first one added up from the table; with `margin` more places on either side."""
        inside = mask(lengths, ids.shape[1])
        around = nn.functional.pad(ids, (self.left, self.right))
        slots = self.table.slots(around).unfold(1, self.width, 1)  # (B, L, width)
        at = torch.where(inside[:, :, None], slots * self.width + torch.arange(self.width - 1, -1, -1), 0)
        if margin:
            at, inside = nn.functional.pad(at, (0, 0, margin, margin)), nn.functional.pad(inside, (margin, margin))
        bias = self.stack[0].bias
        assert bias is not None
        sums = nn.functional.embedding_bag(at.flatten(0, 1), self.table.rows.view(-1, self.filters), mode="sum")
        return self._above((sums + bias).view(*inside.shape, self.filters).transpose(1, 2), inside)

    def _above(self, first: Tensor, inside: Tensor) -> list[Tensor]:
        outputs = [first]
        for conv in self.stack[1:]:
            output = conv(nn.functional.pad(torch.relu(outputs[-1]), (self.left, self.right)))
            outputs.append(output.masked_fill(~inside[:, None], -torch.inf))
        return outputs


class _State(NamedTuple):
    ids: Tensor  # (M, L)
    layers: list[list[Tensor]]  # by branch and layer: (M, L + 2 margin, filters) before the ReLU, -inf outside the text
    before: list[Tensor]  # max-pool, by branch: largest output at places < t, (M, L + 2 margin + 1, filters)
    after: list[Tensor]  # max-pool, by branch: largest output at places >= t
    logits: Tensor  # flatten: (M, classes)


class CnnNet(WordNet):
    """`branches`, one for each width, and `last`, the affine layer."""

    def __init__(self, words: int, classes: int, settings: CnnSettings) -> None:
        super().__init__(words, settings)
        self.settings = settings
        self.parts = tuple(
            _Branch(width, settings.layers, self.embedding, settings.filters) for width in settings.widths
        )
        self.branches = nn.ModuleList(self.parts)
        self.is_flat = settings.pooling == "flatten"
        self.margin = settings.layers * max(settings.widths)  # at least as far as a swap reaches
        is_shallow = settings.layers == 1 and not self.is_flat
        self.shallow = ShallowCnn(self.embedding, [part.stack[0] for part in self.parts]) if is_shallow else None
        places = settings.max_length if self.is_flat else 1
        self.last = nn.Linear(len(settings.widths) * places * settings.filters, classes)

    def train(self, mode: bool = True) -> CnnNet:
        """Enter or leave training; what was looked up before is no longer true."""
        if self.shallow is not None:
            self.shallow.clear()
        super().train(mode)
        return self

    def _weights(self) -> Tensor:
        """The affine layer of a flattening net as (branch, place, filter, class)."""
        weight = self.last.weight.view(len(self.last.weight), len(self.branches), -1, self.settings.filters)
        return weight.permute(1, 2, 3, 0)

    def _pool(self, tops: list[Tensor]) -> Tensor:
        """Logits from the last layer of each branch (B, filters, L) before its ReLU."""
        if not self.is_flat:
            return self.affine(self.last, self.dropout(torch.cat([torch.relu(top.amax(2)) for top in tops], 1)))
        fired = torch.stack([torch.relu(top).transpose(1, 2) for top in tops], 1)  # (B, branch, L, filters)
        weights = self._weights()[:, : fired.shape[2]].flatten(0, 2)  # places that no text here reaches are left out
        return torch.addmm(self.last.bias, self.dropout(fired).flatten(1), weights)

    def states(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and the largest (mean) outputs of all widths side by side where they are pooled (flattened).

        In training with a quicker backward pass, which breaks ties between outputs.
        """
        inside = mask(lengths, embedded.shape[1])
        vectors = embedded.transpose(1, 2)
        if self.is_flat:
            tops = [branch.outputs(vectors, inside)[-1] for branch in self.parts]
            return self._pool(tops), torch.relu(torch.cat(tops, 1)).sum(2) / lengths[:, None]
        if self.training:
            largest = [branch.largest(vectors, inside) for branch in self.parts]
        else:
            largest = [branch.outputs(vectors, inside)[-1].amax(2) for branch in self.parts]
        text = torch.relu(torch.cat(largest, 1))
        return self.affine(self.last, self.dropout(text)), text

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Logits of ids; outside training the first layer is looked up instead of multiplied."""
        if self.training:
            return super().forward(ids, lengths)
        if self.shallow is not None:
            return self.affine(self.last, self.shallow.features(ids, lengths))
        return self._pool([branch.looked_up(ids, lengths)[-1] for branch in self.parts])

    def prepare(self, ids: Tensor, lengths: Tensor) -> _State | ShallowState:
        """All layers of each text; running maxima of the last, or the logits."""
        if self.shallow is not None:
            return self.shallow.prepare(ids, lengths)
        layers = [branch.looked_up(ids, lengths, self.margin) for branch in self.parts]
        framed = [[layer.transpose(1, 2).contiguous() for layer in stack] for stack in layers]
        if self.is_flat:
            width = ids.shape[1]
            tops = [stack[-1][:, :, self.margin : self.margin + width] for stack in layers]
            return _State(ids, framed, [], [], self._pool(tops))
        before, after = zip(*(_running_maxima(stack[-1]) for stack in framed), strict=True)
        return _State(ids, framed, list(before), list(after), torch.empty(0))

    def swap(self, state: _State | ShallowState, rows: Tensor, positions: Tensor, ids: Tensor) -> Tensor:
        """Logits after single swaps, by the slabs they change."""
        if isinstance(state, ShallowState):
            assert self.shallow is not None
            return self.affine(self.last, self.shallow.edit(state, rows, positions, ids))
        old_ids = state.ids[rows, positions]
        slabs = []
        for branch, layers in zip(self.parts, state.layers, strict=True):
            new_at, old_at = branch.table.slots(ids), branch.table.slots(old_ids)
            change = (branch.table.rows[new_at] - branch.table.rows[old_at]).view(len(ids), branch.width, -1)
            slabs.append(_slab(branch, layers, rows, positions + self.margin, change))
        return self._pool_flat(state, rows, slabs) if self.is_flat else self._pool_max(state, rows, slabs)

    def _pool_max(self, state: _State, rows: Tensor, slabs: list[_Slab]) -> Tensor:
        features = []
        for slab, before, after in zip(slabs, state.before, state.after, strict=True):
            rest = torch.maximum(_at(before, rows, slab.start), _at(after, rows, slab.start + slab.new.shape[1]))
            features.append(torch.maximum(rest, slab.new.amax(1)))  # rest is never negative, so this is after the ReLU
        return self.affine(self.last, torch.cat(features, 1))

    def _pool_flat(self, state: _State, rows: Tensor, slabs: list[_Slab]) -> Tensor:
        logits = state.logits[rows]
        for slab, weights in zip(slabs, self._weights(), strict=True):
            places = slab.start[:, None] - self.margin + torch.arange(slab.new.shape[1])
            places = places.clamp(0, self.settings.max_length - 1)  # outside the text nothing fires, before or after
            fired = torch.relu(slab.new) - torch.relu(slab.old)
            logits = logits + torch.einsum("bsf,bsfc->bc", fired, weights[places])
        return logits


class _Slab(NamedTuple):
    """The places of a layer that a swap reaches, before the ReLU."""

    start: Tensor  # (B,) first place, margin included
    old: Tensor  # (B, size, filters)
    new: Tensor  # (B, size, filters)


def _running_maxima(layer: Tensor) -> tuple[Tensor, Tensor]:
    """Largest output (after the ReLU) before and from each place: (M, places + 1, filters)."""
    count, places, filters = layer.shape
    fired = torch.relu(layer)
    before, after = torch.empty(2, count, places + 1, filters)
    before[:, 0] = after[:, places] = 0
    for t in range(places):  # a running maximum along an inner axis is many times slower than this loop
        torch.maximum(before[:, t], fired[:, t], out=before[:, t + 1])
        torch.maximum(after[:, places - t], fired[:, places - t - 1], out=after[:, places - t - 1])
    return before, after


def _at(values: Tensor, rows: Tensor, places: Tensor) -> Tensor:
    """values[rows, places], which is quicker on a flat tensor."""
    return values.flatten(0, 1).index_select(0, rows * values.shape[1] + places)


def _slab(branch: _Branch, layers: list[Tensor], rows: Tensor, places: Tensor, change: Tensor) -> _Slab:
    """The last layer's slab, from the change of the first layer's outputs."""
    start = places - branch.right
    slab = _changed(layers[0], rows, start, change)
    for conv, layer in zip(branch.stack[1:], layers[1:], strict=True):
        fired = torch.relu(slab.new) - torch.relu(slab.old)
        # zeros around the slab, since nothing beside it has changed; then every window of it
        windows = nn.functional.pad(fired, (0, 0, branch.width - 1, branch.width - 1)).unfold(1, branch.width, 1)
        start = start - branch.right
        slab = _changed(layer, rows, start, windows.flatten(2) @ conv.weight.flatten(1).T)
    return slab


def _changed(layer: Tensor, rows: Tensor, start: Tensor, change: Tensor) -> _Slab:
    places = (start[:, None] + torch.arange(change.shape[1])).flatten()
    old = _at(layer, rows.repeat_interleave(change.shape[1]), places).view(change.shape)
    return _Slab(start, old, old + change)


class Cnn(WordVictim):
    """Convolution over words: one layer with max-pool, or the MSR paper's three."""

    kind: ClassVar[str] = "cnn"
    settings_type = CnnSettings
    net_type = CnnNet

    @property
    def reads_deletions(self) -> bool:
        """A single layer with max-pool does."""
        return isinstance(self.net, CnnNet) and self.net.shallow is not None

    @property
    def batch_tokens(self) -> int:
        """With a single layer nothing but the outputs is left to compute: few enough of them to stay in the caches."""
        return 2048 if self.reads_deletions else 8192

    @property
    def min_swaps(self) -> int:
        """One layer is looked up from a table in either way; flattened, only many swaps are worth preparing for."""
        if self.reads_deletions:
            return 1
        return 16 if isinstance(self.settings, CnnSettings) and self.settings.layers == 1 else 4
