"""Accuracy without a word and attacked with it, against counting by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from lexproof.answers import Cost
from lexproof.errors import ModelError
from lexproof.points import FloatArray
from lexproof.search import Seed
from lexproof.single_words.accuracy import Gold, WordAccuracy, accuracies, without
from lexproof.single_words.answer import Estimate
from lexproof.single_words.flips import NOWHERE, TextFlips
from lexproof.statistics.intervals import clopper_pearson
from lexproof.text import Input, Text
from toys import Additive

WORDS = [f"w{i}" for i in range(12)]
NUMBERS = {word: number for number, word in enumerate(WORDS)}
SEED = Seed(3)

REMOVED = {
    "a dull film": "a film",
    "dull film": "film",
    "film is dull": "film is",
    "dull": "",
    "Dull, DULL dull.": ",.",
    "very dull dull film": "very film",
    "so,dull film": "so, film",
    "so, dull, film": "so,, film",
    "line\ndull line": "line\nline",
    "line \n dull line": "line \n line",
    "duller than dullness": "duller than dullness",
    "": "",
}


@pytest.mark.parametrize(("given", "expected"), REMOVED.items(), ids=repr)
def test_a_word_is_removed_with_one_space(given: str, expected: str) -> None:
    assert str(without(Text.parse(given), "dull")) == expected


def test_removal_keeps_all_other_words_and_the_premise() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        words = rng.choice(["dull", "Dull", "a", "b"], size=rng.integers(0, 7)).tolist()
        gaps = rng.choice([" ", "  ", ", ", "\n", " - "], size=len(words) + 1).tolist()
        text = Text(tuple(words), tuple(gaps), "first")
        left = without(text, "dULL")
        assert left.words == tuple(word for word in words if word.lower() != "dull")
        assert Text.parse(str(left)).words == left.words  # none of them run together
        assert left.premise == "first"


def texts_of(seed: int, count: int = 40) -> list[Text]:
    rng = np.random.default_rng(seed)
    return [
        Text.from_words(rng.choice([*WORDS, "W1", "other"], size=rng.integers(1, 6)).tolist()) for _ in range(count)
    ]


def flips(victim: Additive, text: Text, label: int, word: str) -> bool:
    swapped = [text.swap({position: word}).input for position in range(len(text))]
    return bool((victim.predict(swapped) != label).any())


def rows_of(victim: Additive, texts: Sequence[Text], labels: Sequence[int]) -> dict[int, TextFlips]:
    """Row by row as the definition says."""
    rows = {}
    for key, (text, label) in enumerate(zip(texts, labels, strict=True)):
        if int(victim.predict([text.input])[0]) == label:
            known = np.array([flips(victim, text, label, word) for word in WORDS])
            rows[key] = TextFlips(label, np.where(known, 0, NOWHERE).astype(np.int32), known, Cost())
    return rows


def share(right: Sequence[bool]) -> Estimate:
    k, n = sum(right), len(right)
    return Estimate(k / n, k / n, *clopper_pearson(k, n, 0.95), n) if n else Estimate(0.0, 1.0, 0.0, 1.0, 0)


def by_hand(victim: Additive, texts: Sequence[Text], labels: Sequence[int], word: str) -> WordAccuracy:
    def right(text: Text, label: int) -> bool:
        return int(victim.predict([text.input])[0]) == label

    pairs = list(zip(texts, labels, strict=True))
    holding = [(text, label) for text, label in pairs if word in [own.lower() for own in text.words]]
    others = [(text, label) for text, label in pairs if word not in [own.lower() for own in text.words]]
    cut = [(Text.from_words([own for own in text.words if own.lower() != word]), label) for text, label in holding]
    return WordAccuracy(
        word,
        share([right(*pair) for pair in holding]),
        share([right(*pair) for pair in cut]),
        share([right(*pair) for pair in others]),
        share([right(text, label) and not flips(victim, text, label, word) for text, label in others]),
    )


@pytest.mark.parametrize("seed", range(4))
def test_all_four_are_those_counted_by_hand(seed: int) -> None:
    victim, texts = Additive(seed, bias=0.0), texts_of(seed)
    labels = np.random.default_rng(seed).integers(0, 2, len(texts)).tolist()
    found = accuracies(victim, Gold(texts, labels), rows_of(victim, texts, labels), NUMBERS, SEED)
    assert list(found) == WORDS
    for word in WORDS:
        assert found[word] == by_hand(victim, texts, labels, word)
    assert len({found[word].removed for word in WORDS}) > 3  # or the test would say little
    assert any(found[word].attacked.lower < found[word].without_word.lower for word in WORDS)


def test_without_labels_all_that_can_be_read_is_right() -> None:
    victim, texts = Additive(1), texts_of(1)
    labels = victim.predict([text.input for text in texts]).tolist()
    found = accuracies(victim, Gold(texts, None), rows_of(victim, texts, labels), NUMBERS, SEED)
    for word in WORDS:
        assert found[word] == by_hand(victim, texts, labels, word)
        assert found[word].with_word.lower == found[word].without_word.lower == 1


def test_what_rows_leave_open_is_a_bracket_around_the_truth() -> None:
    victim, texts = Additive(2), texts_of(2)
    labels = victim.predict([text.input for text in texts]).tolist()
    rows = rows_of(victim, texts, labels)
    truth = accuracies(victim, Gold(texts, labels), rows, NUMBERS, SEED)
    rng = np.random.default_rng(0)
    blurred = {}
    for key, row in rows.items():
        forgotten = rng.random(len(WORDS)) < 0.4
        position = np.where(forgotten, NOWHERE, row.position).astype(np.int32)
        blurred[key] = replace(row, position=position, possible=row.possible | forgotten)
    del blurred[0]  # a text that is not finished
    found = accuracies(victim, Gold(texts, labels), blurred, NUMBERS, SEED)
    for word in WORDS:
        open_, true = found[word].attacked, truth[word].attacked
        assert open_.lower <= true.lower <= open_.upper and open_.n == true.n
        assert open_.low <= true.low and true.high <= open_.high
        assert (found[word].with_word, found[word].removed) == (truth[word].with_word, truth[word].removed)
    assert any(found[word].attacked.lower < found[word].attacked.upper for word in WORDS)


def test_draws_are_limited_and_repeat_with_the_seed() -> None:
    victim, texts = Additive(3), texts_of(3, 120)
    labels = victim.predict([text.input for text in texts]).tolist()
    rows = rows_of(victim, texts, labels)

    def found(seed: int) -> dict[str, WordAccuracy]:
        return accuracies(victim, Gold(texts, labels), rows, NUMBERS, Seed(seed), most=9)

    assert {own.with_word.n for own in found(0).values()} == {own.attacked.n for own in found(0).values()} == {9}
    assert found(0) == found(0)
    assert found(0) != found(1)


def test_texts_that_hold_a_word_come_from_the_pool() -> None:
    victim, texts, others = Additive(4), texts_of(4, 10), texts_of(5, 60)
    labels, gold = ([int(label) for label in victim.predict([t.input for t in own])] for own in (texts, others))
    gold[0] = 1 - gold[0]
    rows = rows_of(victim, texts, labels)
    found = accuracies(victim, Gold(texts, labels), rows, NUMBERS, SEED, pool=Gold(others, gold))
    for word in WORDS:
        here, there = by_hand(victim, texts, labels, word), by_hand(victim, others, gold, word)
        assert found[word] == replace(there, without_word=here.without_word, attacked=here.attacked)


class Picky(Additive):
    """Cannot read some texts."""

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        if any("w5" in given or given == "" for given in inputs):
            raise ModelError("too long")
        return super().scores(inputs)


def test_texts_that_cannot_be_read_are_left_out() -> None:
    victim, texts = Picky(5), texts_of(6)
    readable = [text for text in texts if "w5" not in text.words]
    labels = [0] * len(texts)
    rows = rows_of(Additive(5), texts, labels)
    rows = {key: row for key, row in rows.items() if texts[key] in readable}
    found = accuracies(victim, Gold(texts, labels), rows, {"w2": 2}, SEED)["w2"]
    cut = [text for text in readable if "w2" in text.words and set(text.words) != {"w2"}]
    assert len(readable) < len(texts) and cut
    assert found.with_word.n == found.removed.n == len(cut)
    assert found.without_word.n == found.attacked.n == sum("w2" not in text.words for text in readable)


def test_everything_is_read_once_and_progress_says_how_much() -> None:
    victim, texts, told = Additive(7), texts_of(7), list[tuple[int, int]]()
    labels = victim.predict([text.input for text in texts]).tolist()
    rows = rows_of(victim, texts, labels)
    victim.asked.clear()
    accuracies(victim, Gold(texts, labels), rows, NUMBERS, SEED, progress=lambda *step: told.append(step))
    assert len(victim.asked) == len(set(victim.asked))
    assert told[-1] == (len(victim.asked), len(victim.asked))


def test_a_word_of_no_text_has_no_accuracy() -> None:
    victim = Additive(1)
    texts = [Text.parse("w1 w2")]
    labels = victim.predict(["w1 w2"]).tolist()
    found = accuracies(victim, Gold(texts, labels), rows_of(victim, texts, labels), {"w3": 3}, SEED)["w3"]
    assert found.with_word.n == found.removed.n == 0
    assert found.to_json()["with_word"]["value"] is None
    assert set(found.to_json()) == {"with_word", "removed", "without_word", "attacked"}
