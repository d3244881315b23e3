"""Exact rows of word models against the definition: every word at every position, scored as a string."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexproof.running import Limits
from lexproof.single_words.flips import NOWHERE, TextFlips, flips_from
from lexproof.single_words.sweep import WordSweep
from lexproof.text import Text
from lexproof.victims.base import Victim
from lexproof.victims.word_sweep import sweep_of
from lexproof.victims.words import WordVictim
from small_victims import SHAPES, WORDS, lean, word_victim

ODD = ["unheard", "w1 w2", "w1-w3", "'s", "étude"]
TEXTS = ["w1 w2 w3 w4 w5", "w7", "w3, w3. W9!", "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10", "w2-w3 w4's", "unheard w5 of w6"]


def flips_of(victim: Victim, text: Text, label: int, word: str) -> list[int]:
    """Positions at which the word flips the text, one string after the other."""
    texts = [text.swap({position: word}).input for position in range(len(text))]
    return [at for at, given in enumerate(texts) if int(victim.predict([given])[0]) != label]


def check(victim: Victim, text: Text, words: list[str], row: TextFlips) -> int:
    found = 0
    for number, word in enumerate(words):
        expected = flips_of(victim, text, row.label, word)
        assert (row.position[number] != NOWHERE) == bool(expected), (str(text), word)
        assert row.position[number] == NOWHERE or row.position[number] in expected, (str(text), word)
        assert row.possible[number] == bool(expected)
        found += bool(expected)
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_those_of_the_definition(shape: str) -> None:
    words, found = [*WORDS, *ODD], 0
    for seed in range(3):
        victim = word_victim(shape, seed)
        assert isinstance(victim, WordVictim)
        sweep = WordSweep(victim, words)
        for given in TEXTS:
            text = Text.parse(given)
            found += check(victim, text, words, sweep.row(text, int(victim.predict([given])[0])))
    assert 20 < found < 3 * len(TEXTS) * len(words) - 20  # or it would hold for a sweep that finds nothing, or all


def test_margins_within_rounding_are_settled_as_strings(monkeypatch: pytest.MonkeyPatch) -> None:
    victim = word_victim("cnn", 1)
    assert isinstance(victim, WordVictim)
    sweep = WordSweep(victim, WORDS)
    asked: list[object] = []
    predict = victim.predict
    monkeypatch.setattr(victim, "predict", lambda texts: asked.extend(texts) or predict(texts))
    sweep._near = np.inf  # nothing is clear: every pair has to be read
    text = Text.parse(TEXTS[0])
    row = sweep.row(text, int(predict([str(text)])[0]))
    assert len(asked) == len(text) * len(WORDS)
    monkeypatch.undo()
    assert check(victim, text, WORDS, row)


def test_a_text_of_many_words_drops_those_that_have_flipped() -> None:
    victim = word_victim("cnn-widths", 2, max_length=70)
    assert isinstance(victim, WordVictim)
    rng = np.random.default_rng(0)
    text = Text.parse(" ".join(rng.choice(WORDS, size=60)))
    row = WordSweep(victim, WORDS).row(text, int(victim.predict([str(text)])[0]))
    assert check(victim, text, WORDS, row)
    assert row.cost.queries < len(text) * len(WORDS)


def test_words_past_the_length_limit_change_nothing() -> None:
    victim = word_victim("mlp", 3)
    assert isinstance(victim, WordVictim)
    text = Text.parse("w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12")
    row = WordSweep(victim, WORDS).row(text, int(victim.predict([str(text)])[0]))
    assert row.position.max() < 7
    check(victim, text, WORDS, row)


def test_pairs_are_swept_in_the_hypothesis() -> None:
    victim = word_victim("cnn", 4)
    assert isinstance(victim, WordVictim)
    text = Text.parse("w1 w2 w3", premise="w8 w9")
    row = WordSweep(victim, WORDS).row(text, int(victim.predict([text.input])[0]))
    check(victim, text, WORDS, row)


@pytest.mark.parametrize("shape", SHAPES)
def test_logits_are_those_of_the_replaced_tokens(shape: str) -> None:
    victim = word_victim(shape, 5)
    net = victim.net  # type: ignore[attr-defined]
    words, text = torch.arange(1, 20), torch.tensor([5, 9, 3, 14, 7])
    chosen, positions = torch.tensor([0, 7, 18, 2]), torch.tensor([4, 0, 2])
    with torch.inference_mode():
        sweep = sweep_of(net, words)
        found = sweep.logits(text, positions, chosen)
        for p, position in enumerate(positions.tolist()):
            for w, word in enumerate(chosen.tolist()):
                ids = text.clone()
                ids[position] = words[word]
                expected = net(ids[None], torch.tensor([len(ids)]))[0]
                assert torch.allclose(found[p, w].double(), expected.double(), atol=1e-5 + sweep.error)


def test_rows_survive_json() -> None:
    victim = lean(word_victim("cnn", 1), 2, 2.0)
    assert isinstance(victim, WordVictim)
    row = WordSweep(victim, WORDS).row(Text.parse(TEXTS[0]), int(victim.predict([TEXTS[0]])[0]))
    again = flips_from(row.to_json())
    assert row.known.any() and not row.known.all()
    assert (again.position == row.position).all() and (again.possible == row.possible).all()
    assert (again.label, again.cost) == (row.label, row.cost)


@pytest.mark.parametrize("limits", [Limits(max_queries=30), Limits(time_limit=0.0)])
def test_a_budget_leaves_words_possible(limits: Limits) -> None:
    victim = lean(word_victim("lstm", 2), 0, 2.0)
    assert isinstance(victim, WordVictim)
    text = Text.parse("w1 w2 w3 w4 w5")
    label = int(victim.predict([str(text)])[0])
    sweep = WordSweep(victim, WORDS)
    whole, part = sweep.row(text, label), sweep.row(text, label, limits)
    assert part.possible.all() and part.cost.queries <= 30
    assert (part.known <= whole.known).all() and not whole.possible.all()


@pytest.mark.parametrize("shape", ["cnn-widths", "mlp", "lstm"])
def test_texts_swept_side_by_side_are_those_swept_alone(shape: str) -> None:
    victim = word_victim(shape, 3)
    assert isinstance(victim, WordVictim)
    items = [(at, Text.parse(given), int(victim.predict([given])[0])) for at, given in enumerate(TEXTS * 3)]
    alone = [WordSweep(victim, WORDS).row(text, label) for _, text, label in items]
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        together = dict(WordSweep(word_victim(shape, 3), WORDS).rows(items))  # type: ignore[arg-type]
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)
    assert list(together) == [key for key, _, _ in items]
    assert all((together[key].position == row.position).all() for (key, _, _), row in zip(items, alone, strict=True))


def test_a_sweep_that_is_left_early_ends() -> None:
    victim = word_victim("cnn", 3)
    assert isinstance(victim, WordVictim)
    items = [(at, Text.parse(TEXTS[0]), 0) for at in range(50)]
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        rows = WordSweep(victim, WORDS).rows(items)
        assert next(rows)[0] == 0
        rows.close()  # type: ignore[attr-defined]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
