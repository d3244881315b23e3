"""Words that are proven unable to flip a text never do: against every placement, scored as strings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from lexproof.errors import NoRule
from lexproof.single_words.certified import provably_safe
from lexproof.text import Text
from lexproof.victims.base import Victim
from small_victims import WORDS, lean, transformer_victim, word_victim
from toys import Additive

TEXTS = ["w1 w2 w3 w4 w5", "w3 w3 w9", "w6"]
EVERY = np.ones(len(WORDS), np.bool_)


def check(victim: Victim, given: str) -> tuple[int, int]:
    """Numbers of words proven safe, and of words that truly are."""
    text = Text.parse(given)
    label = int(victim.predict([given])[0])
    safe = provably_safe(victim, text, label, WORDS, EVERY)
    truly = 0
    for word, is_safe in zip(WORDS, safe.tolist(), strict=True):
        flips = victim.predict([str(text.swap({at: word})) for at in range(len(text))]) != label
        assert not (is_safe and flips.any()), (given, word)
        truly += not flips.any()
    return int(safe.sum()), truly


def lean_on(victim: Victim, label: int) -> None:
    """Raise the logit of a class by far, so that something can be proven."""
    last = victim.model.classifier if victim.kind == "transformer" else victim.net.last  # type: ignore[attr-defined]
    with torch.no_grad():
        last.bias[label] += 10.0


@pytest.mark.parametrize("shape", ["mlp", "mlp-mean", "cnn", "cnn-widths", "cnn-deep", "cnn-flat", "lstm", "bilstm"])
def test_no_proven_word_flips(shape: str) -> None:
    proven = truly = 0
    for seed in range(2):
        for given in TEXTS:
            victim = word_victim(shape, seed, scale=0.7)
            label = int(victim.predict([given])[0])
            found = check(lean(victim, label, 0.1 if shape == "bilstm" else 0.6), given)
            proven, truly = proven + found[0], truly + found[1]
    assert 0 < proven <= truly < 2 * len(TEXTS) * len(WORDS)  # or nothing was proven, or there was nothing to refute


def test_no_proven_word_flips_a_transformer(tmp_path: Path) -> None:
    found = [check(transformer_victim(tmp_path / str(seed), seed, classes=2), TEXTS[0]) for seed in range(2)]
    assert sum(proven for proven, _ in found) > 0


def test_what_is_not_one_token_for_one_token_is_left_open_and_stops_nothing(tmp_path: Path) -> None:
    words = [*WORDS, "w1 w2", "unheard"]
    for victim in (word_victim("mlp", 0, classes=2), transformer_victim(tmp_path / "m", 0, classes=2)):
        for given in ("w1 w2 w3 w4 w5", "w1, w2. w3!", " ".join(WORDS[:20])):
            text = Text.parse(given)
            label = int(victim.predict([given])[0])
            lean_on(victim, label)
            safe = provably_safe(victim, text, label, words, np.ones(len(words), np.bool_))
            for word, is_safe in zip(words, safe.tolist(), strict=True):
                flips = victim.predict([str(text.swap({at: word})) for at in range(len(text))]) != label
                assert not (is_safe and flips.any()), (given, word)
            assert safe[:24].any() and not safe[words.index("w1 w2")], given


def test_a_text_with_a_word_of_several_pieces_proves_nothing(tmp_path: Path) -> None:
    victim = transformer_victim(tmp_path / "m", 0, classes=2)
    assert not provably_safe(victim, Text.parse("w1 w3-w4"), 0, WORDS, EVERY).any()


def test_only_what_is_asked_is_answered_and_nothing_without_time() -> None:
    victim = lean(word_victim("mlp", 0), 0, 50.0)
    text = Text.parse(TEXTS[0])
    some = EVERY.copy()
    some[::2] = False
    assert provably_safe(victim, text, 0, WORDS, EVERY).all()
    assert (provably_safe(victim, text, 0, WORDS, some) == some).all()
    assert not provably_safe(victim, text, 0, WORDS, EVERY, time_limit=-1.0).any()


def test_a_victim_without_operations_is_refused() -> None:
    with pytest.raises(NoRule):
        provably_safe(Additive(), Text.parse("w1 w2"), 1, WORDS, EVERY)
