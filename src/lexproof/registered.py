"""What the package carries under which name: where it lives, and what to say of it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from lexproof.errors import MissingExtra


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


BUILT_IN: dict[str, tuple[Entry, ...]] = {
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
    "defenses": (
        Entry(
            "ada",
            "lexproof.defenses.ada:Ada",
            "texts made by an attack on a trained model, trained on beside the given ones",
            "after Si et al. 2021, Better Robustness by More Coverage; Li et al. 2021",
            "1.2 x, and an attack",
            extra="torch",
            family="adversarial data",
        ),
        Entry(
            "mixada",
            "lexproof.defenses.mixada:MixAda",
            "ada, and mixtures of texts and of their labels",
            "Si et al. 2021, Better Robustness by More Coverage",
            "2.1 x, and an attack",
            extra="torch",
            family="adversarial data",
        ),
        Entry(
            "a2t",
            "lexproof.defenses.a2t:A2TTraining",
            "each epoch texts of the gradient-guided attack A2T on the present model",
            "Yoo and Qi 2021, Towards Improving Adversarial Training of NLP Models",
            "1.2 x, and an attack an epoch",
            extra="torch",
            family="adversarial data",
        ),
        Entry(
            "minimal",
            "lexproof.defenses.minimal:Minimal",
            "each epoch exactly minimal adversarial texts of the present model",
            "the ILP paper",
            "1.1 x, and a search an epoch",
            extra="torch",
            family="adversarial data",
        ),
        Entry(
            "pgd",
            "lexproof.defenses.pgd:Pgd",
            "word vectors moved K steps up the loss inside a ball; the last is trained on",
            "Madry et al. 2018, Towards Deep Learning Models Resistant to Adversarial Attacks",
            "6 x",
            extra="torch",
            family="gradient",
        ),
        Entry(
            "pgd++",
            "lexproof.defenses.pgd:PgdPlusPlus",
            "pgd without a ball, 10 steps",
            "Li et al. 2021, Searching for an Effective Defender",
            "11 x",
            extra="torch",
            family="gradient",
        ),
        Entry(
            "freelb",
            "lexproof.defenses.freelb:FreeLb",
            "word vectors moved up the loss inside a ball; every step is trained on",
            "Zhu et al. 2020, FreeLB",
            "5 x",
            extra="torch",
            family="gradient",
        ),
        Entry(
            "freelb++",
            "lexproof.defenses.freelb:FreeLbPlusPlus",
            "freelb without a ball, 10 steps",
            "Li et al. 2021, Searching for an Effective Defender",
            "10 x",
            extra="torch",
            family="gradient",
        ),
        Entry(
            "ta-vat",
            "lexproof.defenses.ta_vat:TaVat",
            "freelb whose moves start from a table of tokens that training remembers",
            "Li and Qiu 2021, Token-Aware Virtual Adversarial Training",
            "2 x",
            extra="torch",
            family="gradient",
        ),
        Entry(
            "infobert",
            "lexproof.defenses.infobert:InfoBert",
            "freelb, a bottleneck on words, and a trained critic that ties stable words to the text",
            "Wang et al. 2021, InfoBERT",
            "6 x",
            extra="torch",
            family="gradient",
        ),
        Entry(
            "dne",
            "lexproof.defenses.dne:DNE",
            "random and adversarial points of the hull of each word and its synonyms",
            "Zhou et al. 2021, Defense via Dirichlet Neighborhood Ensemble",
            "4 x",
            extra="torch",
            family="hull",
        ),
        Entry(
            "ascc",
            "lexproof.defenses.ascc:ASCC",
            "the worst sparse point of the hull of each word and its synonyms",
            "Dong et al. 2021, Towards Robustness Against Natural Language Word Substitutions",
            "8 x",
            extra="torch",
            family="hull",
        ),
        Entry(
            "ibp",
            "lexproof.defenses.ibp:Ibp",
            "the worst case that intervals allow over all synonyms, with or without a budget",
            "Jia et al. 2019, Certified Robustness to Adversarial Word Substitutions",
            "3 x (cnn), 6 x (recurrent)",
            extra="torch",
            family="certified",
        ),
        Entry(
            "sp-defense",
            "lexproof.defenses.sp_defense:SpDefense",
            "single words swapped: by gradient, at random, for words of another class",
            "Xu et al. 2024, Single Word Change is All You Need",
            "2.5 x",
            extra="torch",
            family="single word",
        ),
        Entry(
            "rand",
            "lexproof.defenses.rand:Rand",
            "one random word of each text swapped at random",
            "Xu et al. 2024, Single Word Change is All You Need",
            "1 x",
            extra="torch",
            family="single word",
        ),
        Entry(
            "safer",
            "lexproof.defenses.safer:SaferTraining",
            "smoothing: each word drawn from its synonyms, answers averaged or voted on",
            "Ye et al. 2020, SAFER",
            "1 x; 100 copies a prediction",
            extra="torch",
            family="smoothing",
        ),
        Entry(
            "ranmask",
            "lexproof.defenses.ranmask:RanMaskTraining",
            "smoothing: most words masked, answers averaged or voted on",
            "Zeng et al. 2021, Certified Robustness to Text Adversarial Attacks by Randomized [MASK]",
            "1 x; 100 copies a prediction",
            extra="torch",
            family="smoothing",
        ),
    ),
}
