"""Tiny data and learners to train with in a test, and a defense trained by the real loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lexproof.candidates import Table
from lexproof.candidates.base import Source
from lexproof.text import Input
from lexproof.training import train
from lexproof.training.defense import Defense, Setting
from lexproof.training.learner import Batch
from lexproof.training.transformer_learner import TransformerLearner
from lexproof.training.word_learner import WordLearner
from lexproof.victims.cnn import Cnn, CnnSettings
from lexproof.victims.lstm import BiLstm, BiLstmSettings, Lstm, LstmSettings
from lexproof.victims.mlp import Mlp, MlpSettings
from lexproof.victims.transformer import Transformer
from lexproof.victims.vocabulary import Vocabulary
from lexproof.victims.words import WordVictim

GOOD, BAD = ["good", "great", "fine", "charming"], ["bad", "dull", "poor", "awful"]
FILLER = ["the", "film", "was", "and", "plot", "it"]
SHAPES: dict[str, dict[str, Any]] = {
    "mlp": {"dim": 4, "max_length": 16, "hidden": 8},
    "cnn": {"dim": 8, "filters": 8, "widths": (2, 3), "max_length": 16},
    "lstm": {"dim": 8, "units": 8, "dropout": 0.1, "max_length": 16},
    "bilstm": {"dim": 8, "units": 8, "dropout": 0.1, "max_length": 16},
}
WORD_KINDS = tuple(SHAPES)
KINDS = (*WORD_KINDS, "transformer")
SYNONYMS = {
    **{word: [other for other in GOOD if other != word] for word in GOOD},
    **{word: [other for other in BAD if other != word] for word in BAD},
    "film": ["plot"],
    "plot": ["film"],
}
_VICTIMS: dict[str, tuple[type[WordVictim], Any]] = {
    "mlp": (Mlp, MlpSettings),
    "cnn": (Cnn, CnnSettings),
    "lstm": (Lstm, LstmSettings),
    "bilstm": (BiLstm, BiLstmSettings),
}


def reviews(count: int, seed: int = 0) -> tuple[list[Input], list[int]]:
    """Sentences whose label is decided by one word."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(count) % 2).tolist()
    texts: list[Input] = []
    for label in labels:
        words = rng.choice(FILLER, int(rng.integers(2, 7))).tolist()
        words.insert(int(rng.integers(0, len(words))), str(rng.choice(GOOD if label else BAD)))
        texts.append(" ".join(words))
    return texts, labels


def synonyms() -> Source:
    """Substitutes among the good, the bad, and the two nouns."""
    return Table(SYNONYMS)


def small_transformer(seed: int = 0, *, layers: int = 2, dropout: float = 0.1) -> Transformer:
    """A BERT of a few dozen units with random weights; its tokenizer knows the words of `reviews` and letters."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    words = [*GOOD, *BAD, *FILLER, *"abcdefghijklmnopqrstuvwxyz"]
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *words,
        *(f"##{letter}" for letter in words if len(letter) == 1),
    ]
    table = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    backend = Tokenizer(models.WordPiece(table, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.BertProcessing(("[SEP]", table["[SEP]"]), ("[CLS]", table["[CLS]"]))
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=32, **names)
    config = BertConfig(
        vocab_size=len(table), hidden_size=16, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=32, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout, num_labels=2,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertForSequenceClassification(config)
    return Transformer.of(model, tokenizer, ("no", "yes"), max_length=32)


def victim_for(kind: str, seed: int = 0, **settings: Any) -> Any:
    """An untrained victim of this kind that knows the words of `reviews`."""
    if kind == "transformer":
        return small_transformer(seed, **settings)
    victim_type, settings_type = _VICTIMS[kind]
    vocabulary = Vocabulary.of(reviews(200)[0])
    return victim_type(vocabulary, ("no", "yes"), settings=settings_type(**{**SHAPES[kind], **settings}), seed=seed)


def learner_for(kind: str, seed: int = 0, **settings: Any) -> Any:
    """A learner of this kind with random weights that ask for gradients, in training mode."""
    victim = victim_for(kind, seed, **settings)
    learner = TransformerLearner(victim) if kind == "transformer" else WordLearner(victim)
    learner.module.requires_grad_(True).train()
    return learner


def batch_of(learner: Any, inputs: Sequence[Input], gold: Sequence[int]) -> Batch:
    """Texts as one batch, nothing hidden."""
    labels = np.asarray(gold, np.int64)
    return learner.batch(learner.encode(inputs), inputs, labels, np.arange(len(inputs)), None)


def setting_for(
    learner: Any, count: int = 32, *, source: Source | None = None, epochs: int = 2, seed: int = 0
) -> Setting:
    """What a defense is begun with."""
    inputs, gold = reviews(count, seed)
    rng = np.random.default_rng(seed)
    return Setting(learner, inputs, gold, epochs, seed, rng, source, reviews(16, seed + 1))


def hardened(
    defense: Defense | None,
    kind: str,
    *,
    count: int = 48,
    seed: int = 0,
    source: Source | None = None,
    progress: Any = None,
    checkpoint: Path | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """A victim trained by the real loop for two short epochs from fixed weights (plain training without a defense)."""
    chosen = {"epochs": 2, "batch_size": 16, "learning_rate": 0.01, **(options or {})}
    victim = train(
        kind,
        *reviews(count, seed),
        valid=reviews(16, seed + 1),
        label_names=["no", "yes"],
        start=victim_for(kind, seed),
        seed=seed,
        defense=defense,
        synonyms=source if source is not None else synonyms(),
        progress=progress,
        checkpoint=checkpoint,
        **chosen,
    )
    return victim if defense is None else defense.finish(victim)
