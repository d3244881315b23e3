"""kappa and rho against their definitions, by scoring every word at every position of every text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lexproof as lp
from lexproof.engine import Limits
from lexproof.errors import InputError
from lexproof.single_words.answer import FlipWords, flip_words_from_json
from lexproof.single_words.flips import TextFlips
from lexproof.single_words.question import METHODS, Asked, Method, Settings, flip_words, rows_of
from lexproof.text import Text
from lexproof.victims.base import Victim
from small_victims import WORDS, lean, transformer_victim, word_victim
from toys import Additive

RNG = np.random.default_rng(3)
TEXTS = [" ".join(RNG.choice(WORDS[:-4], size=int(RNG.integers(1, 7)))) for _ in range(12)] + ["!"]


def labels_of(victim: Victim) -> list[int]:
    """Right for all texts but two."""
    labels = victim.predict(TEXTS).tolist()
    return [(label + (at in (2, 5))) % victim.classes for at, label in enumerate(labels)]


def matrix(victim: Victim, labels: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """A of the SP paper (eq. 1) over D+, and the labels of D+."""
    predicted = victim.predict(TEXTS).tolist()
    rows, gold = [], []
    for given, label, guess in zip(TEXTS, labels, predicted, strict=True):
        if label != guess:
            continue
        text = Text.parse(given)
        placed = [str(text.swap({at: word})) for word in WORDS for at in range(len(text))]
        flips = victim.predict(placed) != label if placed else np.zeros(0, np.bool_)
        rows.append(flips.reshape(len(WORDS), len(text)).any(axis=1))
        gold.append(label)
    return np.array(rows), np.array(gold)


def agrees(found: FlipWords, a: np.ndarray, gold: np.ndarray) -> None:
    assert found.total == len(a) and found.misclassified == 2
    assert found.is_exact and found.rho.lower == found.rho.upper == pytest.approx(1 - a.mean())
    for number, word in enumerate(WORDS):
        assert found.kappa(word).lower == pytest.approx(a[:, number].mean())
        for label in np.unique(gold).tolist():
            assert found.kappa(word, label).upper == pytest.approx(a[gold == label, number].mean())
    assert found.rho.lower == pytest.approx(1 - np.mean([found.kappa(word).lower for word in WORDS]))  # theorem 1


@pytest.mark.parametrize("shape", ["mlp", "cnn", "lstm"])
def test_exact_kappa_and_rho_are_those_of_the_definitions(shape: str) -> None:
    victim = word_victim(shape, 3)
    labels = labels_of(victim)
    a, gold = matrix(victim, labels)
    assert 0.1 < a.mean() < 0.95
    agrees(flip_words(victim, TEXTS, labels, WORDS, method="exact"), a, gold)


def test_any_victim_can_be_asked_exactly(tmp_path: Path) -> None:
    for victim in (Additive(3, quadratic=0.5), transformer_victim(tmp_path / "m", 1)):
        labels = labels_of(victim)
        agrees(flip_words(victim, TEXTS, labels, WORDS, method="exact"), *matrix(victim, labels))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_a_bracket(method: Method) -> None:
    victim = lean(word_victim("lstm", 1), 0, 0.5)
    labels = labels_of(victim)
    a, _ = matrix(victim, labels)
    found = flip_words(victim, TEXTS, labels, WORDS, method=method, patience=2)
    assert (found.known.sum(1) <= a.sum(0)).all() and (a.sum(0) <= found.possible.sum(1)).all()
    assert found.rho.lower <= 1 - a.mean() <= found.rho.upper
    assert found.rho.low <= found.rho.lower and found.rho.upper <= found.rho.high
    kind = "euba" if method == "auto" else method
    assert found.method == kind


def test_bounds_close_the_bracket_from_the_other_side() -> None:
    victim = lean(word_victim("cnn", 1), 0, 1.0)
    labels = labels_of(victim)
    a, _ = matrix(victim, labels)
    alone = flip_words(victim, TEXTS, labels, WORDS, method="euba", patience=3)
    found = flip_words(victim, TEXTS, labels, WORDS, method="euba", patience=3, certify=True)
    assert (found.known == alone.known).all() and found.method == "euba+bounds"
    assert alone.rho.lower < found.rho.lower <= 1 - a.mean() <= found.rho.upper == alone.rho.upper


@pytest.mark.parametrize("method", ["exact", "euba"])
@pytest.mark.parametrize("stop", [1, 4, 9])
def test_a_run_that_goes_on_ends_alike(method: Method, stop: int) -> None:
    victim = lean(word_victim("lstm", 1), 0, 0.5)
    asked, settings = Asked.of(victim, TEXTS, labels_of(victim), WORDS), Settings(method=method, patience=2)
    whole = dict(rows_of(asked, settings))
    first: dict[int, TextFlips] = {}
    done: dict[int, TextFlips] = {}
    for key, row in rows_of(asked, settings, on_phase1=first.__setitem__):
        done[key] = row
        if len(done) == stop:
            break
    rest = dict(rows_of(asked, settings, done, phase1=first))
    assert len(done) == stop and not done.keys() & rest.keys()
    again = asked.answer(settings, {**done, **rest})
    assert (again.known == asked.answer(settings, whole).known).all()
    assert all(({**done, **rest}[key].position == row.position).all() for key, row in whole.items())


def test_examples_flip_their_texts() -> None:
    victim = word_victim("cnn", 2)
    labels = labels_of(victim)
    found = flip_words(victim, TEXTS, labels, WORDS)
    assert found.examples
    for number, examples in found.examples.items():
        for own in examples:
            text = Text.parse(TEXTS[own.text]).swap({own.position: WORDS[number]})
            assert int(victim.predict([str(text)])[0]) != labels[own.text]


def test_answers_survive_json_and_rank_words() -> None:
    victim = lean(word_victim("cnn", 1), 0, 0.5)
    found = flip_words(victim, TEXTS, labels_of(victim), [*WORDS, "unheard"], method="euba", patience=1)
    again = flip_words_from_json(found.to_json())
    assert again.to_json() == found.to_json() and again.rho == found.rho
    assert found.unknown == ("unheard",)
    top = found.top(5)
    kappas = [found.kappa(word).lower for word in top]
    assert kappas == sorted(found.kappa_lower.tolist(), reverse=True)[:5]
    with pytest.raises(InputError, match="label from 0 to 2, got 9"):
        found.top(2, label=9)
    turns = found.by_turns(6)
    first = [next(word for word in found.top(25, label) if found.known[word, label]) for label in (0, 1, 2)]
    assert turns[: len(dict.fromkeys(first))] == list(dict.fromkeys(first)) and len(set(turns)) == len(turns) == 6
    assert all(found.known[word].any() for word in found.by_turns(25))
    by_class = [int(found.known[word, 1]) for word in found.top(25, label=1)]
    assert by_class == sorted(by_class, reverse=True)


def test_own_predictions_count_as_gold_without_labels() -> None:
    victim = word_victim("mlp", 1)
    assert flip_words(victim, TEXTS, None, WORDS).total == len(TEXTS)


def test_the_vocabulary_is_the_models_own_or_that_of_the_texts(tmp_path: Path) -> None:
    transformer = transformer_victim(tmp_path / "m", 1)
    tokenizer = transformer.encoder.tokenizer  # type: ignore[attr-defined]
    assert all(word.isalpha() for word in Asked.of(Additive(), ["one two", "two 3"], [1, 1]).words)
    assert Asked.of(Additive(), ["one two", "two 3"]).words == ("two", "one")
    assert "w1" in tokenizer.get_vocab()
    with pytest.raises(InputError, match="at least one word"):
        Asked.of(transformer, ["w1 w2"])  # none of its words is all letters


@pytest.mark.parametrize(
    ("texts", "labels", "words", "problem"),
    [
        ([], None, WORDS, "at least one text"),
        (["w1"], [0, 1], WORDS, "one label a text"),
        (["w1"], [7], WORDS, "labels from 0 to 2"),
        (["w1"], None, [], "at least one word"),
        (["w1"], None, ["w1", ""], "without white space"),
        (["w1"], None, ["two words"], "without white space"),
        (["w1"], None, ["w1", 3], "single words"),
        (["w1"], ["class 0"], WORDS, "labels from 0 to 2, got 'class 0'"),
        ("w1", None, WORDS, "lists of texts"),
        (["w1"], None, "w1", "lists of texts"),
    ],
)
def test_bad_input_is_refused_in_one_line(texts: object, labels: object, words: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        flip_words(word_victim("cnn", 0), texts, labels, words)  # type: ignore[arg-type]


def test_no_correct_text_and_victims_without_gradients_are_refused() -> None:
    victim = word_victim("cnn", 0)
    wrong = [(int(label) + 1) % 3 for label in victim.predict(TEXTS)]
    with pytest.raises(InputError, match=r"classifies correctly, got none of 13 \(13 misclassified"):
        flip_words(victim, TEXTS, wrong, WORDS)
    with pytest.raises(InputError, match="gradients"):
        flip_words(Additive(), ["one two"], None, ["three"], method="euba")
    with pytest.raises(InputError, match="out of auto, exact"):
        Settings(method="fast")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="patience"):
        Settings(patience=0)


def test_the_public_face() -> None:
    assert lp.flip_words is flip_words
    assert lp.FlipWords is FlipWords


def test_bounds_leave_a_victim_without_operations_alone() -> None:
    asked = Asked.of(Additive(3), ["w1 w2 w3"], None, WORDS)
    settings = Settings(method="exact", certify=True, limits=Limits(max_queries=30))
    ((_, row),) = rows_of(asked, settings)
    assert row.possible.sum() > row.known.sum()  # the budget left words open, and nothing can close them
