"""Multi-layer perceptron over word vectors: embedding, flatten or mean, affine, ReLU, affine.

With `pooling="flatten"` it is the network of the ILP paper: the first layer has its own weights for each position, and
positions after the end of the text contribute nothing.  With `pooling="mean"` it sees the mean of the word vectors.

Either way the first layer is additive over positions, so a swap costs one column of it:
    z' = z + W_t (e_new - e_old).

Outside training everything after the word vectors is computed in float64: the sum over a long text would otherwise be
off by more than the rounding that is stated, and the layers are small enough for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import torch
from torch import Tensor, nn

from lexproof.errors import InputError
from lexproof.victims.word_net import WordNet, WordSettings
from lexproof.victims.words import WordVictim


@dataclass(frozen=True, slots=True, kw_only=True)
class MlpSettings(WordSettings):
    """The ILP paper's sizes by default."""

    dim: int = 2
    max_length: int = 200
    hidden: int = 64
    pooling: Literal["flatten", "mean"] = "flatten"

    def __post_init__(self) -> None:
        WordSettings.__post_init__(self)
        if self.pooling not in ("flatten", "mean"):
            raise InputError(f"expected pooling to be 'flatten' or 'mean', got {self.pooling!r}")


class _State(NamedTuple):
    ids: Tensor  # (M, L)
    lengths: Tensor  # (M,)
    hidden: Tensor  # (M, H), before the ReLU


class MlpNet(WordNet):
    """`first` (places, dim, hidden) with `bias` gives the hidden layer, `last` the logits; a mean has one place."""

    def __init__(self, words: int, classes: int, settings: MlpSettings) -> None:
        super().__init__(words, settings)
        self.is_flat = settings.pooling == "flatten"
        places = settings.max_length if self.is_flat else 1
        start = nn.Linear(settings.dim, settings.hidden)
        # All positions start with the same weights, as a bag of words: from independent weights, training does not
        # find out that a word means much the same wherever it stands.
        self.first = nn.Parameter(start.weight.detach().T.repeat(places, 1, 1))
        self.bias = nn.Parameter(start.bias.detach().clone())
        self.last = nn.Linear(settings.hidden, classes)

    def _wide(self, tensor: Tensor) -> Tensor:
        return tensor if self.training else tensor.double()

    def _hidden(self, embedded: Tensor, lengths: Tensor) -> Tensor:
        embedded = self._wide(embedded)
        if not self.is_flat:
            embedded = embedded.sum(1, keepdim=True) / lengths[:, None, None]
        places = embedded.shape[1]  # the rest of the places is after the end of every text here
        return torch.addmm(self._wide(self.bias), embedded.flatten(1), self._wide(self.first[:places].flatten(0, 1)))

    def states(self, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Logits, and the hidden layer."""
        hidden = torch.relu(self._hidden(self.dropout(embedded), lengths))
        return self.affine(self.last, self.dropout(hidden)), hidden

    def prepare(self, ids: Tensor, lengths: Tensor) -> _State:
        """The hidden layer of each text."""
        return _State(ids, lengths, self._hidden(self.embedding(ids), lengths))

    def swap(self, state: _State, rows: Tensor, positions: Tensor, ids: Tensor) -> Tensor:
        """Logits after single swaps, by the change of the first layer."""
        # in float64 a difference of two float32 vectors is all but exact
        change = self._wide(self.embedding(ids)) - self.embedding(state.ids[rows, positions])  # (B, dim)
        if self.is_flat:
            columns = self.first.flatten(1).index_select(0, positions).view(len(ids), *self.first.shape[1:])
            moved = (columns * change[:, :, None]).sum(1)
        else:
            moved = change @ self._wide(self.first[0]) / state.lengths[rows, None]
        return self.affine(self.last, torch.relu(state.hidden[rows] + moved))


class Mlp(WordVictim):
    """Embedding, flatten or mean, affine, ReLU, affine."""

    kind: ClassVar[str] = "mlp"
    settings_type = MlpSettings
    net_type = MlpNet

    @property
    def min_tokens(self) -> int:
        """Full evaluation is cheap: only long texts with many swaps are worth the preparation."""
        return 8000
