"""SP-Defense: training on texts with one word changed, half of them by the swap that the gradient says is worst.

    rise(i, w) = grad of the loss at e_i · (e_w - e_i),      (i, w) = argmax

is by first order what the swap of word i for w adds to the loss -log p(y | x), so that its argmax is the argmin of
Equation 5 of the reference.  Of each batch `gradient` of the texts get that swap, `random` a random word of V at a
random position, `special` a random word of T(y), and the rest stays as it is.  Nothing is claimed by an estimate: the
swap is a guess of the worst one, and the guarantee of the trained model is whatever the verbs then say of it.

Symbols: e_w the vector of the word w; V words of letters of the training texts; T(y) special words of class y
(`special_words`).  Cost: one forward and backward pass more for the texts of the gradient half: 1.5 x.

Where it holds: the gradient swap puts one token in the place of one token, so a transformer's words of several tokens
neither go nor come by it (they do by the other two); `<unk>`, special tokens and padding never do.  The gradient is
taken without dropout.

Reference: Xu et al. 2024, Single Word Change is All You Need, section 5.  Deviations: trained from the start instead
of tuning a trained classifier.  The paper says the gradient half is made from original texts, its released code makes
it from the other half: `source=augmented` swaps a further word in texts that already have a random or special one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from lexproof.defenses.rand import check_shares, with_word
from lexproof.defenses.special_words import special_words, training_words, word_counts
from lexproof.errors import InputError, check_whole
from lexproof.text import Input, Text
from lexproof.training.defense import Defense, Setting
from lexproof.training.learner import Batch, Index, Learner

_MEMORY = 200_000  # texts whose words are remembered
_HOSTS = 100  # of the most frequent words; that none of them is one token happens to no tokenizer of these texts


@dataclass(kw_only=True)
class SpDefense(Defense):
    """Half the batch with the swap of steepest loss, the rest with a random word, a special word or none."""

    name: ClassVar[str] = "sp-defense"
    family: ClassVar[str] = "single word"

    gradient: float = 1 / 2
    random: float = 1 / 6
    special: float = 1 / 6
    source: Literal["original", "augmented"] = "original"
    least: int = 1
    gap: float = 1.0
    most: int = 2000

    def __post_init__(self) -> None:
        check_shares(gradient=self.gradient, random=self.random, special=self.special)
        check_whole(least=self.least, most=self.most)
        if self.source not in ("original", "augmented"):
            raise InputError(f"expected source to be original or augmented, got {self.source!r}")
        if not 0 < self.gap < math.inf:
            raise InputError(f"expected a finite gap > 0, got {self.gap!r}")

    def begin(self, setting: Setting) -> None:
        """Collect V, T(y) and the tokens of V."""
        super().begin(setting)
        counts = word_counts(setting.inputs, setting.gold, setting.learner.classes)
        self.words = training_words(counts, self.least)
        self.special_words = special_words(counts, self.gap, self.most)
        if self.gradient:
            self._single = OneToken(setting.learner, self.words)

    def texts(self, inputs: Sequence[Input], gold: np.ndarray[Any, Any], rng: np.random.Generator) -> Sequence[Input]:
        """The texts with a random or special word in those outside of the gradient half, or in any of them."""
        if not self.random + self.special:
            return inputs
        kept = 0 if self.source == "augmented" else self._half(len(inputs))
        chosen = rng.permutation(len(inputs))[kept:]
        odds = np.array([self.random, self.special]) / (1 - self.gradient)
        draws = rng.random(len(chosen))
        texts = list(inputs)
        for b, draw in zip(chosen.tolist(), draws.tolist(), strict=True):
            if draw < odds.sum():
                words = self.words if draw < odds[0] else self.special_words[int(gold[b])]
                texts[b] = with_word(inputs[b], words, rng)
        return texts

    def loss(self, batch: Batch) -> Tensor:
        """Cross-entropy, with the gradient half changed."""
        rows = self._rows(batch)
        return super().loss(steepest(batch, rows, self._single) if len(rows) else batch)

    def _half(self, size: int) -> int:
        return round(self.gradient * size)

    def _rows(self, batch: Batch) -> Index:
        """The gradient half: out of the texts that are as they were, or of all."""
        given = self.setting.inputs
        originals = [given[number] == own for number, own in zip(batch.numbers.tolist(), batch.inputs, strict=True)]
        rows = np.arange(len(originals)) if self.source == "augmented" else np.flatnonzero(originals)
        count = min(len(rows), self._half(len(originals)))
        return np.sort(self.setting.rng.permutation(rows)[:count]) if count else rows[:0]


class OneToken:
    """The words of a list that a learner reads as one token, and where in a text one of them may stand."""

    def __init__(self, learner: Learner, words: Sequence[str]) -> None:
        self.learner = learner
        found: set[int] = set()
        hosts: list[str] = []
        for host in words[:_HOSTS]:
            (own,) = learner.options([host], lambda text: [[word for word in words if word != text.words[0]]])
            if len(own.token):
                found.update(own.token.tolist())
                hosts.append(host)
            if len(hosts) == 2:  # one word is not among its own substitutes: the second host brings it in
                break
        if len(hosts) < 2:
            raise InputError("expected frequent words of the training texts that are one token each, got none")
        self.tokens = torch.tensor(sorted(found - {learner.unknown}))
        self._hosts = hosts
        self._known: dict[Input, Index] = {}

    def places(self, inputs: Sequence[Input]) -> list[Index]:
        """The tokens of each text that are a word each, remembered for the next epoch."""
        new = [given for given in dict.fromkeys(inputs) if given not in self._known]
        if len(self._known) + len(new) > _MEMORY:
            self._known, new = {}, list(dict.fromkeys(inputs))
        found = self.learner.options(new, self._one)
        self._known |= {given: np.unique(own.at) for given, own in zip(new, found, strict=True)}
        return [self._known[given] for given in inputs]

    def number(self, ids: Tensor) -> Tensor:
        """Which of the tokens each id is, -1 if it is none of them."""
        at = torch.searchsorted(self.tokens, ids.long()).clamp(max=len(self.tokens) - 1)
        return torch.where(self.tokens[at] == ids, at, -1)

    def _one(self, text: Text) -> list[list[str]]:
        first, second = self._hosts
        return [[second if word.lower() == first else first] for word in text.words]


def steepest(batch: Batch, rows: Index, single: OneToken) -> Batch:
    """The batch with the swap of steepest loss in each of these rows; one that has no swap stays as it is.

    Only `ids` change: what a text says is not rewritten.
    """
    learner, part = single.learner, _part(batch, rows)
    slopes, vectors = _slopes(learner, part)
    table = learner.vectors(single.tokens).detach()
    ids = batch.ids.clone()
    for b, places in enumerate(single.places(part.inputs)):
        at = torch.from_numpy(places[places < part.ids.shape[1]])
        if len(at):
            i, w = worst_swap(slopes[b, at], vectors[b, at], table, single.number(part.ids[b, at]))
            ids[int(rows[b]), at[i]] = single.tokens[w].to(ids.dtype)
    return replace(batch, ids=ids)


def worst_swap(slopes: Tensor, vectors: Tensor, table: Tensor, own: Tensor) -> tuple[int, int]:
    """The (i, w) of largest rise for n words (n, d) and V others (V, d), where w is not `own[i]`: word i itself, or -1.

    What a word loses by going is the same for all that may come, so that the best w of each i is found first.
    """
    gains = slopes @ table.T
    known = (own >= 0).nonzero()[:, 0]
    gains[known, own[known]] = -torch.inf
    gained, best = gains.max(dim=1)
    i = int((gained - (slopes * vectors).sum(1)).argmax())
    return i, int(best[i])


def _slopes(learner: Learner, batch: Batch) -> tuple[Tensor, Tensor]:
    """The gradient of each text's loss at its word vectors, and the vectors: (B, L, d) each."""
    vectors = learner.vectors(batch.ids).detach().requires_grad_()
    with _evaluating(learner.module):
        loss = nn.functional.cross_entropy(learner.logits(batch, vectors), batch.gold, reduction="sum")
        (slopes,) = torch.autograd.grad(loss, [vectors])
    return slopes, vectors.detach()


def _part(batch: Batch, rows: Index) -> Batch:
    at = torch.from_numpy(rows)
    return Batch(
        batch.numbers[rows],
        tuple(batch.inputs[b] for b in rows.tolist()),
        batch.ids[at],
        batch.real[at],
        batch.gold[at],
        {name: tensor[at] for name, tensor in batch.given.items()},
    )


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """Within, nothing is dropped; then each part is again in the mode it was in."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode
