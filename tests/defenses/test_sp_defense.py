"""SP-Defense and Rand: words against counts by hand, swaps against all swaps written out, shares against draws."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from lexproof.defenses.rand import Rand, with_word
from lexproof.defenses.sp_defense import OneToken, SpDefense, steepest
from lexproof.defenses.special_words import special_words, training_words, word_counts
from lexproof.errors import InputError
from lexproof.text import Input, Text
from lexproof.training import train
from lexproof.training.learner import Batch
from lexproof.victims.vocabulary import UNKNOWN
from small_training import (
    BAD,
    FILLER,
    GOOD,
    KINDS,
    batch_of,
    hardened,
    learner_for,
    reviews,
    setting_for,
    victim_for,
)

WORDS = sorted({*GOOD, *BAD, *FILLER})


def begun(defense: Any, kind: str = "cnn", count: int = 12) -> tuple[Any, Batch]:
    """A defense that has begun, and its training texts as one batch."""
    setting = setting_for(learner_for(kind), count)
    defense.begin(setting)
    return defense, batch_of(setting.learner, setting.inputs, setting.gold)


def changed_rows(one: Batch, other: Batch) -> list[int]:
    return (one.ids != other.ids).any(1).nonzero()[:, 0].tolist()


def same_weights(one: Any, other: Any) -> bool:
    mine, theirs = (getattr(victim, "net", None) or victim.model for victim in (one, other))
    pairs = zip(mine.state_dict().values(), theirs.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


# words


def test_special_words_are_those_counted_by_hand() -> None:
    texts: list[Input] = ["bad bad Bad film", "bad film 3d", ("a good premise", "dull film"), "good good film", "good"]
    counts = word_counts(texts, [0, 0, 0, 1, 1], 2)
    assert counts[0] == Counter({"bad": 4, "film": 3, "dull": 1})  # a premise stays, "3d" is no word of letters
    assert counts[1] == Counter({"good": 3, "film": 1})
    # gaps for class 0: good log 4 - log 1 = 1.39; for class 1: bad log 5, film log 4 - log 2 = 0.69, dull log 2 = 0.69
    assert special_words(counts) == [("good",), ("bad",)]
    assert special_words(counts, gap=0.69) == [("good",), ("bad", "dull", "film")]
    assert special_words(counts, gap=0.69, most=2) == [("good",), ("bad", "dull")]


def test_of_several_classes_the_one_that_says_a_word_most_decides() -> None:
    counts = [Counter({"x": 1}), Counter({"x": 2}), Counter({"x": 9, "y": 2})]
    assert math.log(10 / 3) > 1 > math.log(10 / 10)
    assert special_words(counts) == [("x", "y"), ("x", "y"), ()]
    assert special_words(counts, gap=1.5) == [("x",), (), ()]


def test_training_words_come_by_frequency() -> None:
    counts = [Counter({"b": 2, "a": 1, "c": 1}), Counter({"c": 1})]
    assert training_words(counts, 1) == ("b", "c", "a")
    assert training_words(counts, 2) == ("b", "c")
    with pytest.raises(InputError, match="at least 2 words of letters that the training texts hold 3 times, got 0"):
        training_words(counts, 3)


# rand


def test_rand_changes_one_word_of_each_text_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    given: Input = ("It is so.", "A good -- film, (was) it?")
    found: Counter[int] = Counter()
    for _ in range(400):
        new = with_word(given, WORDS, rng)
        assert isinstance(new, tuple) and new[0] == given[0]
        old, text = Text.parse(given[1]), Text.parse(new[1])
        (at,) = (i for i in range(5) if text.words[i] != old.words[i])
        assert text.gaps == old.gaps and text.words[at] in WORDS and text.words[at] != old.words[at].lower()
        found[at] += 1
    assert min(found[i] for i in range(5)) > 50  # 80 expected


def test_nothing_to_change_is_no_error() -> None:
    rng = np.random.default_rng(0)
    assert with_word("...", WORDS, rng) == "..."
    assert with_word("good", ["good"], rng) == "good"
    assert with_word("good", (), rng) == "good"


def test_rand_changes_its_share_of_the_texts() -> None:
    inputs, gold = reviews(2000)
    for share in (0.25, 1.0):
        defense, _ = begun(Rand(share=share))
        texts = defense.texts(inputs, np.array(gold), np.random.default_rng(0))
        assert np.mean([a != b for a, b in zip(texts, inputs, strict=True)]) == pytest.approx(share, abs=0.03)


# the gradient swap


def ids_of(learner: Any, inputs: list[Input]) -> list[list[int]]:
    return [np.asarray(getattr(row, "ids", row)).tolist() for row in learner.encode(inputs)]


def written_out(learner: Any, given: Input, label: int) -> tuple[float, list[int]]:
    """The largest first-order rise of all single swaps by words that stay one token, each made as text, and its ids."""
    batch = batch_of(learner, [given], [label])
    vectors = learner.vectors(batch.ids).detach().requires_grad_()
    learner.module.eval()
    loss = nn.functional.cross_entropy(learner.logits(batch, vectors), batch.gold)
    (slope,) = torch.autograd.grad(loss, vectors)
    learner.module.train()
    text, old = Text.parse(str(given)), batch.ids[0].tolist()
    swaps = [text.swap({i: word}).input for i in range(len(text)) for word in WORDS]
    best: tuple[float, list[int]] = (-math.inf, old)
    for ids in ids_of(learner, swaps):
        if len(ids) == len(old) and sum(a != b for a, b in zip(ids, old, strict=True)) == 1:
            rise = float((slope[0] * (learner.vectors(torch.tensor(ids)) - vectors[0]).detach()).sum())
            best = max(best, (rise, ids))
    return best


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_swap_is_the_best_of_all_swaps_written_out(kind: str) -> None:
    defense, batch = begun(SpDefense(), kind, count=6)
    learner = defense.setting.learner
    single = OneToken(learner, WORDS)
    rows = np.array([0, 2, 3, 5])
    found = steepest(batch, rows, single)
    assert changed_rows(found, batch) == rows.tolist()
    for b in rows.tolist():
        rise, ids = written_out(learner, batch.inputs[b], int(batch.gold[b]))
        assert rise > 0
        assert found.ids[b].tolist() == ids + batch.ids[b].tolist()[len(ids) :]  # padding stays


def test_words_of_several_tokens_special_tokens_and_unknown_words_stay() -> None:
    for kind, given in (("transformer", "zebra film xylophone"), ("cnn", "zebra film xylophone")):
        learner = learner_for(kind)
        single = OneToken(learner, [*WORDS, "zebra", "giraffe"])
        assert len(single.tokens) == len(WORDS) and UNKNOWN not in single.tokens.tolist()
        batch = batch_of(learner, [given, "good"], [1, 0])
        (b,) = (b for b, own in enumerate(batch.inputs) if own == given)
        found = steepest(batch, np.array([b]), single)
        (at,) = (found.ids[b] != batch.ids[b]).nonzero()[:, 0].tolist()
        film = batch_of(learner, ["film"], [0]).ids[0]
        assert batch.ids[b, at] in film  # the only word that is a known token


def test_a_text_without_such_a_word_stays() -> None:
    learner = learner_for("cnn")
    batch = batch_of(learner, ["zebra ...", "good"], [1, 0])
    found = steepest(batch, np.arange(2), OneToken(learner, WORDS))
    assert [batch.inputs[b] for b in changed_rows(found, batch)] == ["good"]


def test_no_frequent_word_of_one_token_is_said() -> None:
    with pytest.raises(InputError, match="one token each"):
        OneToken(learner_for("transformer"), ["zebra", "giraffe", "gnu"])


@pytest.mark.parametrize("kind", ["cnn", "transformer"])
def test_choosing_leaves_no_trace(kind: str) -> None:
    defense, batch = begun(SpDefense(), kind)
    learner = defense.setting.learner
    learner.module.get_submodule(next(name for name, _ in learner.module.named_modules() if name)).eval()
    modes = [part.training for part in learner.module.modules()]
    state, before = torch.get_rng_state(), batch.ids.clone()
    steepest(batch, np.arange(4), defense._single)
    assert modes == [part.training for part in learner.module.modules()] and len(set(modes)) == 2
    assert torch.equal(state, torch.get_rng_state()) and torch.equal(before, batch.ids)
    assert all(weight.grad is None for weight in learner.module.parameters())
    assert not any(part._forward_hooks for part in learner.module.modules())


@pytest.mark.parametrize("kind", ["cnn", "transformer"])
def test_the_swap_raises_the_loss_of_a_trained_model(kind: str) -> None:
    victim = hardened(None, kind, options={"epochs": 20 if kind == "transformer" else 6})
    learner = learner_for(kind)
    learner.module.load_state_dict((getattr(victim, "net", None) or victim.model).state_dict())
    learner.module.eval()
    inputs, gold = reviews(40, 7)
    batch = batch_of(learner, inputs, gold)
    found = steepest(batch, np.arange(40), OneToken(learner, WORDS))
    with torch.no_grad():
        old, new = (
            nn.functional.cross_entropy(learner.logits(own), own.gold, reduction="none") for own in (batch, found)
        )
    assert float((new > old).float().mean()) > 0.8
    assert float(new.mean()) > 1.5 * float(old.mean())


# the batch


def test_the_augmentations_have_their_shares() -> None:
    defense, _ = begun(SpDefense(gradient=0.5, random=0.3, special=0.1), count=64)
    # a word that no class is without is random, never special
    defense.words, defense.special_words = ("random",), [("special0",), ("special1",)]
    inputs, gold = reviews(1000)
    texts = defense.texts(inputs, np.array(gold), np.random.default_rng(0))
    kinds: Counter[str] = Counter()
    for old, new, label in zip(inputs, texts, gold, strict=True):
        added = [word for word in str(new).split() if word in ("random", "special0", "special1")]
        assert len(added) == (old != new) and added in ([], ["random"], [f"special{label}"])
        kinds[(added or ["original"])[0].rstrip("01")] += 1
    assert kinds["random"] == pytest.approx(300, abs=35)
    assert kinds["special"] == pytest.approx(100, abs=30)


@pytest.mark.parametrize("source", ["original", "augmented"])
def test_half_of_the_batch_gets_the_gradient_swap(source: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    defense, _ = begun(SpDefense(source=source), count=60)
    setting = defense.setting
    texts = defense.texts(setting.inputs, np.array(setting.gold), np.random.default_rng(0))
    batch = batch_of(setting.learner, texts, setting.gold)
    trained: list[Batch] = []
    logits = setting.learner.logits
    monkeypatch.setattr(setting.learner, "logits", lambda own, *rest: (trained.append(own), logits(own, *rest))[1])
    defense.backward(batch)
    choosing, training = trained
    # one more pass, for the half alone: 1.5 x
    assert len(choosing.ids) == 30 and len(training.ids) == 60
    rows = changed_rows(training, batch)
    assert len(rows) == 30
    augmented = [batch.inputs[b] != setting.inputs[batch.numbers[b]] for b in range(60)]
    # of the half that stays, two thirds are changed as text: 20; of all 60: 40, of which the gradient takes half
    assert sum(augmented) == pytest.approx(20 if source == "original" else 40, abs=9)
    assert any(augmented[b] for b in rows) == (source == "augmented")


def test_the_gradient_half_differs_from_step_to_step() -> None:
    defense, batch = begun(SpDefense(random=0.0, special=0.0), count=20)
    halves = {tuple(defense._rows(batch).tolist()) for _ in range(5)}
    assert len(halves) == 5 and all(len(half) == 10 for half in halves)


# the training


@pytest.mark.parametrize("kind", ["cnn", "bilstm", "transformer"])
def test_switched_off_is_plain_training_and_each_part_is_not(kind: str) -> None:
    plain = hardened(None, kind)
    off = {"gradient": 0.0, "random": 0.0, "special": 0.0}
    assert same_weights(hardened(SpDefense(**off), kind), plain)
    assert same_weights(hardened(Rand(share=0.0), kind), plain)
    for part in off:
        assert not same_weights(hardened(SpDefense(**{**off, part: 0.5}), kind), plain)
    assert not same_weights(hardened(Rand(), kind), plain)


@pytest.mark.parametrize("defense", [Rand, SpDefense])
def test_the_same_seed_gives_the_same_weights(defense: Any) -> None:
    assert same_weights(hardened(defense(), "cnn"), hardened(defense(), "cnn"))


def firm_reviews(count: int, seed: int) -> tuple[list[Input], list[int]]:
    """Sentences with three words that say the label: no single word ought to decide it."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(count) % 2).tolist()
    words = [[*rng.choice(GOOD if label else BAD, 3), *rng.choice(FILLER, int(rng.integers(2, 5)))] for label in labels]
    return [" ".join(rng.permutation(own).tolist()) for own in words], labels


def test_the_worst_single_word_does_less_to_the_defended_model() -> None:
    texts, labels = firm_reviews(20, 99)
    worst = {}
    for defense in (None, SpDefense()):
        victim = train(
            "cnn", *firm_reviews(120, 0), valid=firm_reviews(16, 50), label_names=["no", "yes"], seed=0,
            start=victim_for("cnn"), defense=defense, epochs=6, patience=6, batch_size=16, learning_rate=0.01,
        )  # fmt: skip
        least = []
        for given, label in zip(texts, labels, strict=True):
            text = Text.parse(str(given))
            swaps = [text.swap({i: word}).input for i in range(len(text)) for word in WORDS]
            least.append(victim.scores(swaps)[:, label].min())
        worst[defense is None] = float(np.mean(least))
    assert worst[False] > worst[True] + 0.02  # the probability of the label that one swap leaves


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"gradient": 1.5}, r"gradient in \[0, 1\]"),
        ({"random": -0.1}, r"random in \[0, 1\]"),
        ({"special": math.nan}, r"special in \[0, 1\]"),
        ({"gradient": 0.8}, r"gradient \+ random \+ special of at most 1, got 1.13"),
        ({"source": "both"}, "original or augmented"),
        ({"gap": 0.0}, "gap > 0"),
        ({"most": 0}, "most to be a whole number of at least 1"),
        ({"least": 1.5}, "least to be a whole number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        SpDefense(**settings)


def test_settings_of_rand_are_checked() -> None:
    with pytest.raises(InputError, match=r"share in \[0, 1\]"):
        Rand(share=2.0)
