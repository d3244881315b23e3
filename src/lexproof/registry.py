"""Names to constructors, resolved lazily so that listing and importing stay cheap; open to plug-ins by entry points.

A plug-in adds names with an entry point in the group `lexproof.attacks` (or another kind) whose value is the
constructor; its docstring's first line becomes the summary.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from lexproof.errors import MissingExtra, UnknownName


@dataclass(frozen=True, slots=True)
class Entry:
    """One registered method: where it lives and what to say of it."""

    name: str
    target: str
    summary: str
    reference: str = ""
    cost: str = ""
    extra: str = ""

    def load(self) -> Any:
        """The constructor, imported now; MissingExtra names the pip command if a package it needs is missing."""
        module, _, attribute = self.target.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            if not self.extra or (error.name or "lexproof").startswith("lexproof"):
                raise
            raise MissingExtra(str(error.name), self.extra, f"{self.name!r}") from error


_BUILT_IN: dict[str, tuple[Entry, ...]] = {
    "attacks": (
        Entry(
            "textfooler",
            "lexproof.attacks.greedy:TextFooler",
            "words by importance, best substitute each, until the label flips",
            "Jin et al. 2020, Is BERT Really Robust?",
            "n + sum of substitutes tried",
        ),
        Entry(
            "random",
            "lexproof.attacks.random_search:RandomSearch",
            "uniform draws from the space, then swaps put back while the text stays fooled",
            "",
            "at most `draws`",
        ),
    ),
    "provers": (
        Entry(
            "enumeration",
            "lexproof.certify.enumeration:Enumeration",
            "score every text of the space, most sensitive words first",
            "Yang et al. 2022, Quantifying Robustness to Adversarial Word Substitutions, Theorem 1",
            "the size of the space",
        ),
    ),
    "victims": (
        Entry("blackbox", "lexproof.victims.blackbox:BlackBox", "any function from texts to scores"),
        Entry("sklearn", "lexproof.victims.sklearn:Sklearn", "a fitted scikit-learn pipeline", extra="sklearn"),
        Entry("endpoint", "lexproof.victims.endpoint:Endpoint", "an HTTP service that answers JSON"),
        Entry(
            "mlp",
            "lexproof.victims.mlp:Mlp",
            "embedding, flatten or mean, affine, ReLU, affine",
            "the ILP paper's network",
            extra="torch",
        ),
        Entry(
            "cnn",
            "lexproof.victims.cnn:Cnn",
            "convolution over words: one layer with max-pool, or the MSR paper's three",
            "Kim 2014; La Malfa et al. 2020",
            extra="torch",
        ),
        Entry("lstm", "lexproof.victims.lstm:Lstm", "LSTM, last state", "La Malfa et al. 2020", extra="torch"),
        Entry("bilstm", "lexproof.victims.lstm:BiLstm", "BiLSTM, max-pool", "Conneau et al. 2017", extra="torch"),
        Entry(
            "transformer",
            "lexproof.victims.transformer:Transformer",
            "any Hugging Face sequence classifier",
            extra="transformers",
        ),
    ),
    "candidates": (
        Entry(
            "default",
            "lexproof.candidates:default",
            "embedded counter-fitted neighbors, no antonyms, no stop words",
        ),
        Entry(
            "wordnet",
            "lexproof.candidates.wordnet:WordNet",
            "synonyms of the same part of speech",
            "Miller 1995",
        ),
        Entry("neighbors", "lexproof.candidates.neighbors:Neighbors", "nearest words of an embedding; neighbors:FILE"),
        Entry("table", "lexproof.candidates.table:Table", "a JSON file of word: [substitutes]; table:FILE"),
        Entry("typos", "lexproof.candidates.typos:Typos", "swap, delete, insert, substitute, homoglyph, split"),
        Entry(
            "vocabulary",
            "lexproof.candidates.vocabulary:Vocabulary",
            "every word of a list at every position; vocabulary:FILE",
        ),
        Entry(
            "sememes",
            "lexproof.candidates.sememes:Sememes",
            "words with the same sememes; sememes:FILE",
            "Zang et al. 2020",
        ),
        Entry(
            "masked-lm",
            "lexproof.candidates.masked_lm:MaskedLM",
            "what a masked language model would write; masked-lm:FOLDER",
            "Li et al. 2020; Garg and Ramakrishnan 2020",
            extra="transformers",
        ),
    ),
    "defenses": (),
}

KINDS = tuple(_BUILT_IN)


@cache
def entries(kind: str) -> dict[str, Entry]:
    """All entries of a kind by name, plug-ins included."""
    if kind not in _BUILT_IN:
        raise UnknownName("kind", kind, _BUILT_IN)
    found = {entry.name: entry for entry in _BUILT_IN[kind]}
    for point in entry_points(group=f"lexproof.{kind}"):
        found.setdefault(point.name, Entry(point.name, point.value, f"plug-in from {point.value}"))
    return found


def get(kind: str, name: str) -> Any:
    """The constructor registered under a name."""
    known = entries(kind)
    if name not in known:
        raise UnknownName(kind.removesuffix("s"), name, known)
    return known[name].load()
