"""Word models: torch networks that read token ids, bound to spaces and evaluated by single-token swaps where it pays.

Guarantees, for every network here:
- the scores of a point are those of its text, alone or in any batch, up to `rounding`;
- single swaps are evaluated by what they change, or in full, with the same scores up to `rounding`;
- tokens past `max_length` are not read, so swaps there change nothing.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from lexproof.errors import InputError, ModelError
from lexproof.points import (
    FirstOrder,
    FloatArray,
    Gradient,
    IntArray,
    Points,
    Sensitivity,
    Swaps,
    WordGradient,
    dense,
)
from lexproof.space import Space
from lexproof.text import Input
from lexproof.victims import word_gradients
from lexproof.victims.base import Bound, GradientJob, Job, Vectors, Victim, check_scores
from lexproof.victims.first_order import narrowed, word_means
from lexproof.victims.folder import save_words
from lexproof.victims.noise import noise_of, stated_rounding
from lexproof.victims.vocabulary import PAD, Vocabulary
from lexproof.victims.word_net import WordNet, WordSettings
from lexproof.victims.word_rows import Index, Rows
from lexproof.victims.word_space import WordBound
from lexproof.victims.word_swaps import Columns, TokenSwaps, side_by_side

_SWAP_ROWS = 1024


class WordVictim(Victim):
    """A word model: vocabulary, labels, settings and weights (random ones from `seed` if none are given)."""

    settings_type: ClassVar[type[WordSettings]]
    net_type: ClassVar[Any]
    has_gradients: ClassVar[bool] = True

    def __init__(
        self,
        vocabulary: Vocabulary,
        labels: Sequence[str],
        *,
        settings: WordSettings | None = None,
        weights: Mapping[str, Tensor] | None = None,
        seed: int = 0,
        training: Mapping[str, Any] | None = None,
        name: str = "",
    ) -> None:
        self.vocabulary = vocabulary
        self.labels = tuple(labels)
        if len(set(self.labels)) != len(self.labels) or len(self.labels) < 2:
            raise InputError(f"expected at least 2 distinct labels, got {list(self.labels)}")
        self.settings = self.settings_type() if settings is None else settings
        if type(self.settings) is not self.settings_type:
            raise InputError(f"expected {self.settings_type.__name__}, got {type(self.settings).__name__}")
        self.training = dict(training or {})
        self.name = name or self.kind
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.net: WordNet = self.net_type(len(vocabulary), len(self.labels), self.settings)
        if weights is not None:
            self._take(weights)
        self.net.eval().requires_grad_(False)

    def _take(self, weights: Mapping[str, Tensor]) -> None:
        wanted = self.net.state_dict()
        if wanted.keys() != weights.keys():
            odd = sorted(wanted.keys() ^ weights.keys())
            raise ModelError(f"expected weights {', '.join(sorted(wanted))}; missing or unknown: {', '.join(odd)}")
        for name, tensor in weights.items():
            if tensor.shape != wanted[name].shape:
                expected, got = tuple(wanted[name].shape), tuple(tensor.shape)
                raise ModelError(f"expected weight {name!r} of shape {expected}, got {got}")
            if not torch.isfinite(tensor).all():
                raise ModelError(f"expected finite weights, got a NaN or infinity in {name!r}")
        if weights["embedding.weight"][PAD].any():
            raise ModelError("expected the vector of <pad> to be 0, got another; texts would depend on their batch")
        self.net.load_state_dict({name: tensor.float() for name, tensor in weights.items()})

    @cached_property
    def fingerprint(self) -> str:
        """Hash of kind, labels, settings, vocabulary and weights."""
        head = [self.kind, self.labels, asdict(self.settings), self.vocabulary.words]
        digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
        for name, tensor in sorted(self.net.state_dict().items()):
            digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def rounding(self) -> float:  # type: ignore[override]
        """5e-5, or what was measured on this very network if that is more; see `noise`."""
        return stated_rounding(noise_of(self.net, self._wide_net()), least=5e-5)

    def _wide_net(self) -> WordNet:
        """The same network in float64, but for its word vectors."""
        with torch.random.fork_rng(devices=[]):
            wide: WordNet = self.net_type(1, len(self.labels), self.settings)
        weights = {name: tensor for name, tensor in self.net.state_dict().items() if name != "embedding.weight"}
        wide.load_state_dict(weights, strict=False)
        return wide.double().eval().requires_grad_(False)

    def save(self, folder: Path | str, *, half: bool = False) -> None:
        """Write the model to a folder that `load_words` reads; `half` stores weights in half the space, rounded."""
        save_words(self, folder, half=half)

    # ------------------------------------------------------------------ texts and rows

    def encode(self, inputs: Iterable[Input]) -> Rows:
        """The token ids of texts."""
        return Rows.of([self.vocabulary.encode_input(text, self.settings.max_length) for text in inputs])

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        """Probabilities of each class: (B, classes)."""
        return self.forward(self.encode(inputs))

    def forward(self, rows: Sequence[Any]) -> FloatArray:
        """Probabilities of token rows, or of texts."""
        rows = rows if isinstance(rows, Rows) else self.encode(rows)
        assert not self.net.training, "a victim is scored in evaluation mode"
        logits = np.empty((len(rows), self.classes))
        with torch.inference_mode():
            for chosen, ids, lengths in rows.batches(self.batch_tokens):
                logits[chosen] = self.net(torch.from_numpy(ids), torch.from_numpy(lengths)).numpy()
        return self.probabilities(logits)

    def probabilities(self, logits: FloatArray) -> FloatArray:
        """The scores that logits (B, classes) stand for."""
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        scores = powers / powers.sum(axis=1, keepdims=True)
        return check_scores(scores, len(logits), self.classes, f"the model {self.name!r}")

    # ------------------------------------------------------------------ points

    def bind(self, space: Space) -> WordBound:
        """The space as token runs."""
        return WordBound(space, self.vocabulary, self.settings.max_length)

    def score(self, jobs: Sequence[Job]) -> list[FloatArray]:
        """Scores of points of many spaces: one call for what is evaluated in full, one for single swaps."""
        ends = list(accumulate([len(points) for _, points in jobs]))
        begins = [0, *ends][: len(ends)]
        scores = np.empty((ends[-1] if ends else 0, self.classes))
        full, single = self._sorted(jobs, begins)
        if full:
            rows = Rows.joined([part for _, part in full])
            scores[np.concatenate([numbers for numbers, _ in full])] = self.forward(rows)
        if single:
            swaps = TokenSwaps.joined([part for _, part in single])
            scores[np.concatenate([numbers for numbers, _ in single])] = self.swapped(swaps)
        # copies, since a view of one job's scores would keep those of all jobs in memory
        return [scores[begin:end].copy() for begin, end in zip(begins, ends, strict=True)]

    def _sorted(
        self, jobs: Sequence[Job], begins: Sequence[int]
    ) -> tuple[list[tuple[Index, Rows]], list[tuple[Index, TokenSwaps]]]:
        """What is evaluated in full, and what by single swaps, each with the numbers of its points.

        The points of all jobs are numbered one after the other, those of a job from `begins[job]` on.
        """
        full: list[tuple[Index, Rows]] = []
        single: list[tuple[Index, TokenSwaps]] = []
        for group, swaps in self._groups(jobs):
            numbers = [np.arange(begins[job], begins[job] + len(jobs[job][1])) for job in group]
            if swaps is None:
                full += [
                    (own, self._rows(jobs[job][0], dense(jobs[job][1])))
                    for own, job in zip(numbers, group, strict=True)
                ]
                continue
            single.append((np.concatenate(numbers)[~swaps.rest], swaps))
            if np.count_nonzero(swaps.rest):
                rests = np.split(swaps.rest, np.cumsum([len(own) for own in numbers[:-1]]))
                for own, job, rest in zip(numbers, group, rests, strict=True):
                    if np.count_nonzero(rest):
                        bound, points = jobs[job]
                        full.append((own[rest], self._rows(bound, dense(points[rest]))))
        return full, single

    def _groups(self, jobs: Sequence[Job]) -> Iterator[tuple[list[int], TokenSwaps | None]]:
        """Numbers of jobs with their swaps, as changes of one token each, or with None."""
        quick: list[int] = []
        columns: list[Columns] = []
        swaps: list[Swaps] = []
        for job, (bound, points) in enumerate(jobs):
            if isinstance(points, Swaps) and isinstance(bound, WordBound) and self._is_quick(bound, points):
                quick.append(job)
                columns.append(bound.columns)
                swaps.append(points)
        together = side_by_side(columns, swaps, deletions=self.reads_deletions) if quick else None
        if together is None:  # or a point is outside its space: asked alone, the space says what is wrong with it
            quick = []
        else:
            yield quick, together
        for job in sorted(set(range(len(jobs))).difference(quick)):
            yield [job], self._token_swaps(*jobs[job])

    def _rows(self, bound: Bound, points: IntArray) -> Rows:
        if isinstance(bound, WordBound):
            self._check_bound(bound)
            return bound.rows(points)
        return self.encode(bound.rows(points))

    def _check_bound(self, bound: WordBound) -> None:
        if bound.vocabulary is not self.vocabulary or bound.max_length != self.settings.max_length:
            raise InputError(f"expected a space bound by {self.name!r}, got one bound by another victim; bind it again")

    @property
    def batch_tokens(self) -> int:
        """Tokens that are evaluated at once; larger batches leave the processor's caches and are slower."""
        return 8192

    @property
    def min_swaps(self) -> int:
        """Swaps a base from which evaluating what they change was measured to be quicker than evaluating in full, …"""
        return 4

    @property
    def min_tokens(self) -> int:
        """… provided that full evaluation would read at least so many words."""
        return 0

    @property
    def reads_deletions(self) -> bool:
        """Whether the network's `swap` takes the id GONE for the deletion of a token."""
        return False

    def _pays(self, bound: WordBound, points: Swaps) -> bool:
        self._check_bound(bound)
        count = len(points)
        return count >= self.min_swaps * len(points.bases) and count * bound.space.n >= self.min_tokens

    def _is_quick(self, bound: WordBound, points: Swaps) -> bool:
        return bound.columns.is_aligned and points.bases.shape == (1, bound.space.n) and self._pays(bound, points)

    def _token_swaps(self, bound: Bound, points: Points) -> TokenSwaps | None:
        """Single swaps to be evaluated by what they change, or None."""
        if not isinstance(points, Swaps) or not isinstance(bound, WordBound) or not len(points):
            return None
        used, rows = np.unique(points.rows, return_inverse=True)
        points = Swaps(points.bases[used], rows.astype(np.int32), points.positions, points.choices)
        return bound.token_swaps(points) if self._pays(bound, points) else None

    def swapped(self, swaps: TokenSwaps) -> FloatArray:
        """Probabilities of single-token swaps, by what they change."""
        assert not self.net.training, "a victim is scored in evaluation mode"
        logits = np.empty((len(swaps), self.classes))
        place = np.full(len(swaps.bases), -1)
        with torch.inference_mode():
            for chosen, ids, lengths in swaps.bases.batches(self.batch_tokens):
                place[:] = -1
                place[chosen] = np.arange(len(chosen))
                state = self.net.prepare(torch.from_numpy(ids), torch.from_numpy(lengths))
                here = np.flatnonzero(place[swaps.base] >= 0)
                for begin in range(0, len(here), _SWAP_ROWS):
                    part = here[begin : begin + _SWAP_ROWS]
                    rows, positions = place[swaps.base[part]], swaps.position[part]
                    tensors = (torch.from_numpy(array) for array in (rows, positions, swaps.id[part]))
                    logits[part] = self.net.swap(state, *tensors).numpy()
        return self.probabilities(logits)

    # ------------------------------------------------------------------ gradients

    def sensitivity(self, bound: Bound, request: Sensitivity) -> FloatArray:
        """L1 norm of the gradient of a label's probability by the vectors of each word's tokens: (B, n)."""
        return self.gradients([(bound, request)])[0]

    def first_order(self, bound: Bound, request: FirstOrder) -> FloatArray:
        """First-order change of a label's probability by each single swap: (B, S); see `FirstOrder`."""
        return self.gradients([(bound, request)])[0]

    def word_gradient(self, bound: Bound, request: WordGradient) -> FloatArray:
        """Gradients of a label's probability by single words: (B, dim + 2); see `WordGradient`."""
        return self.gradients([(bound, request)])[0]

    def word_vectors(self, words: Sequence[str]) -> Vectors:
        """The mean vector of each word's tokens: (V, dim)."""
        vectors = self.net.embedding.weight.detach().numpy()
        return word_means([self.vocabulary.encode(word) for word in words], lambda ids: vectors[ids])

    def gradients(self, jobs: Sequence[GradientJob]) -> list[FloatArray]:
        """What each job asks for, all texts differentiated together."""
        bound = [self._to_differentiate(bound, request) for bound, request in jobs]
        return word_gradients.gradients(self.net, bound, self.batch_tokens)

    def _to_differentiate(self, bound: Bound, request: Gradient) -> tuple[WordBound, Gradient]:
        self._check_label(request.label)
        if isinstance(request, WordGradient) and not isinstance(bound, WordBound):
            space, points = narrowed(bound.space, request.points)
            return self.bind(space), replace(request, points=points)
        if not isinstance(bound, WordBound):
            bound = self.bind(bound.space)
        self._check_bound(bound)
        return bound, request
