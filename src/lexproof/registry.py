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
    family: str = ""

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
            "best",
            "lexproof.attacks.best:Best",
            "our best upper bound: beam over exact swaps, exchanges, swaps put back",
            "",
            "s + (s + 224) a swap",
        ),
        Entry(
            "worst",
            "lexproof.attacks.worst:Worst",
            "several attacks one after another, the fewest swaps of all",
            "",
            "the sum of its members'",
        ),
        Entry(
            "pdp",
            "lexproof.attacks.pdp:Pdp",
            "pseudo-dynamic programming: best texts so far x words of the position that looks best",
            "Yang et al. 2022, Quantifying Robustness to Adversarial Word Substitutions",
            "(2 s + 10 k) a word tried",
        ),
        Entry(
            "beam",
            "lexproof.attacks.beam:Beam",
            "beam search over all single swaps",
            "",
            "4 s a swap",
        ),
        Entry(
            "textfooler",
            "lexproof.attacks.textfooler:TextFooler",
            "words by importance, best substitute each, until the label flips",
            "Jin et al. 2020, Is BERT Really Robust?",
            "n + k a word tried",
        ),
        Entry(
            "pwws",
            "lexproof.attacks.pwws:Pwws",
            "words by saliency times drop, the best substitute of each",
            "Ren et al. 2019, Adversarial Examples through Probability Weighted Word Saliency",
            "n + s + swaps",
        ),
        Entry(
            "textbugger",
            "lexproof.attacks.textbugger:TextBugger",
            "sentences, then words by importance, the most harmful bug each",
            "Li et al. 2019, TextBugger",
            "n + k a word tried",
        ),
        Entry(
            "deepwordbug",
            "lexproof.attacks.deepwordbug:DeepWordBug",
            "words by temporal head and tail score, their first typo each",
            "Gao et al. 2018, Black-box Generation of Adversarial Text Sequences",
            "2 n + swaps",
        ),
        Entry(
            "bert-attack",
            "lexproof.attacks.bert_attack:BertAttack",
            "words by importance, the first substitute that flips, at most 40 % of the words",
            "Li et al. 2020, BERT-ATTACK",
            "n + k a word tried",
        ),
        Entry(
            "bae",
            "lexproof.attacks.bae:Bae",
            "words by importance when deleted, the most similar substitute that flips",
            "Garg and Ramakrishnan 2020, BAE",
            "n + k a word tried",
        ),
        Entry(
            "clare",
            "lexproof.attacks.clare:Clare",
            "all replacements scored once, the best of each word in order of harm",
            "Li et al. 2021, Contextualized Perturbation for Textual Adversarial Attack",
            "s + swaps",
        ),
        Entry(
            "a2t",
            "lexproof.attacks.a2t:A2T",
            "words by gradient, best substitute each, until the label flips",
            "Yoo and Qi 2021, Towards Improving Adversarial Training of NLP Models",
            "1 gradient + k a word tried",
        ),
        Entry(
            "hotflip",
            "lexproof.attacks.hotflip:HotFlip",
            "the gradient ranks all swaps, the best are scored, step by step",
            "Ebrahimi et al. 2018, HotFlip",
            "a gradient + about 10 a swap",
        ),
        Entry(
            "genetic",
            "lexproof.attacks.genetic:Genetic",
            "population bred by crossover and mutation",
            "Alzantot et al. 2018, Generating Natural Language Adversarial Examples",
            "at most 60 (k + 1) a generation, 21 generations",
        ),
        Entry(
            "sempso",
            "lexproof.attacks.sempso:SemPso",
            "particle swarm over substitutes",
            "Zang et al. 2020, Word-level Textual Adversarial Attacking as Combinatorial Optimization",
            "at most 60 (k + 1) a step, 21 steps",
        ),
        Entry(
            "mcts",
            "lexproof.attacks.mcts:Mcts",
            "Monte Carlo tree search over sets of words, closest success",
            "La Malfa et al. 2020, Assessing Robustness of Text Classification through Maximal Safe Radius Computation",
            "at most 25 n a step, 25 steps",
        ),
        Entry(
            "sp-attack",
            "lexproof.attacks.sp_attack:SpAttack",
            "single swaps in random order; of the first 50 flips the most similar and fluent",
            "Xu et al. 2024, Single Word Change is All You Need",
            "at most s",
        ),
        Entry(
            "decision",
            "lexproof.attacks.decision:Decision",
            "labels only: votes at the border of the label, then swaps put back and traded",
            "after Maheshwary et al. 2021, Hard Label Black Box Attacks; Ye et al. 2022, TextHoaxer",
            "about 2000, and putting back",
        ),
        Entry(
            "exhaustive",
            "lexproof.attacks.exhaustive:Exhaustive",
            "every text by number of swaps: the first flip is a minimum",
            "",
            "the size of the space",
        ),
        Entry(
            "random",
            "lexproof.attacks.random_search:RandomSearch",
            "uniform draws from the space, then swaps put back while the text stays fooled",
            "",
            "at most 1000, and putting back",
        ),
    ),
    "provers": (
        Entry(
            "interval",
            "lexproof.certify.curve:certified",
            "intervals of every value, the first layer under the budget of swaps",
            "Jia et al. 2019, Certified Robustness to Adversarial Word Substitutions (without a budget)",
            "a forward pass",
            extra="torch",
        ),
        Entry(
            "linear",
            "lexproof.certify.curve:certified",
            "backward linear relaxation with chosen slopes, minimized exactly over at most r swaps",
            "after Zhang et al. 2018, CROWN; Xu et al. 2021, Fast and Complete",
            "a backward pass a layer",
            extra="torch",
        ),
        Entry(
            "branch-and-bound",
            "lexproof.certify.pruned:PrunedBranching",
            "exact: words branch, bounds prune; mlp and one-layer cnn have solvers of their own",
            "",
            "depends on the text: most within milliseconds",
            extra="torch",
        ),
        Entry(
            "milp",
            "lexproof.certify.exact.milp:minimum_by_milp",
            "exact for mlp and one-layer cnn: integer linear program through HiGHS, a cross-check",
            "the ILP paper; Tjeng et al. 2019",
            "about a second",
        ),
        Entry(
            "enumeration",
            "lexproof.certify.enumeration:sweep_stratum",
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
