"""Words in the place of words: every one is tried, and the nearest that changes the class is found."""

from pathlib import Path

import numpy as np
import pytest

import lexproof as lp
from lexproof.errors import NoRule
from lexproof.safe_radius.replacements import Replacements
from lexproof.safe_radius.tree import TreeSearch
from lexproof.safe_radius.vocabulary import words_of
from lexproof.victims.balls import Item, opened, scale_of, tokens_of
from lexproof.victims.base import Victim
from small_victims import WORDS, transformer_victim, word_victim

TEXT = lp.Text.parse("w1 w2 w9 w3 w2")


def by_brute_force(victim: Victim, word: int, norm: float) -> list[tuple[float, str]]:
    """Each word that changes the class, with its distance, from the networks' own center."""
    label = victim.predict([TEXT.input])[0]
    center = opened(victim, [Item(TEXT, (word,))]).groups[0].network.center[0]
    found = []
    for new in WORDS:
        text = TEXT.swap({word: new})
        if victim.predict([text.input])[0] != label:
            other = opened(victim, [Item(text, (word,))]).groups[0].network.center[0]
            found.append((float(np.linalg.norm((other - center).flatten().numpy(), ord=norm)), new))
    return sorted(found)


@pytest.mark.parametrize("shape", ["mlp", "cnn", "cnn-deep", "lstm", "bilstm", "transformer"])
@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_the_nearest_of_all_words_is_found(shape: str, norm: float, tmp_path: Path) -> None:
    victim = transformer_victim(tmp_path, 3) if shape == "transformer" else word_victim(shape, 3)
    found = Replacements(norm=norm).of(victim, TEXT, range(len(TEXT)))
    some = False
    for word, own in enumerate(found):
        wanted = by_brute_force(victim, word, norm)
        assert own.flips == len(wanted)
        assert own.tried == len(WORDS) - 1
        assert (own.nearest is None) == (not wanted)
        if own.nearest is not None:
            some = True
            assert own.nearest.distance == pytest.approx(wanted[0][0])
            assert victim.predict([own.nearest.text])[0] == own.nearest.predicted != victim.predict([TEXT.input])[0]
            assert [change.position for change in own.nearest.changed] == [word]
    assert some


def test_only_the_nearest_are_tried_if_asked() -> None:
    victim = word_victim("cnn", 3)
    everything = Replacements().of(victim, TEXT, range(len(TEXT)))
    few = Replacements(neighbors=3).of(victim, TEXT, range(len(TEXT)))
    assert all(own.tried == 3 for own in few)
    assert all(own.flips <= other.flips for own, other in zip(few, everything, strict=True))
    assert sum(own.flips for own in few) < sum(own.flips for own in everything)


def test_words_of_other_parts_of_speech_are_left_out() -> None:
    victim = lp.load("movies-cnn")
    text = lp.Text.parse("a charming and often affecting journey")
    (any_,) = Replacements(same_part_of_speech=False).of(victim, text, [1])
    (same,) = Replacements().of(victim, text, [1])
    assert 0 < same.flips < any_.flips
    assert same.tried == any_.tried
    assert any_.nearest is not None and same.nearest is not None
    assert any_.nearest.distance <= same.nearest.distance


def test_a_replacement_is_written_like_the_word() -> None:
    victim = lp.load("movies-cnn")
    text = lp.Text.parse("A CHARMING and often affecting journey")
    (found,) = Replacements().of(victim, text, [1])
    assert found.nearest is not None
    assert found.nearest.changed[0].new.isupper()


def test_unknown_words_are_replaced_and_unread_ones_are_not() -> None:
    victim = word_victim("cnn", 3, max_length=3)
    text = lp.Text.parse("w1 never w2 w3")
    known, unknown, _, unread = Replacements().of(victim, text, range(4))
    assert known.tried == len(WORDS) - 1
    assert unknown.tried == len(WORDS)
    assert unread == (None, 0, 0)


@pytest.mark.parametrize("norm", [1.0, 2.0, np.inf])
def test_a_tree_search_changes_words_of_its_set_and_states_their_distance(norm: float) -> None:
    victim = word_victim("cnn", 3)
    known = words_of(victim, scale_of(victim))
    item = Item(TEXT, (0, 2, 3))
    flip = TreeSearch(norm=norm, sims=50).nearest(victim, item, known)
    assert flip is not None
    assert {change.position for change in flip.changed} <= set(item.words)
    assert victim.predict([flip.text])[0] == flip.predicted != victim.predict([TEXT.input])[0]
    new = TEXT.swap({change.position: change.new for change in flip.changed})
    assert str(new) == flip.text
    centers = [opened(victim, [Item(text, item.words)]).groups[0].network.center[0] for text in (TEXT, new)]
    assert flip.distance == pytest.approx(float(np.linalg.norm((centers[1] - centers[0]).flatten().numpy(), ord=norm)))
    assert flip == TreeSearch(norm=norm, sims=50).nearest(victim, item, known)


def test_a_tree_search_may_swap_fewer_words_than_its_set_has() -> None:
    victim = word_victim("cnn", 3)
    known = words_of(victim, scale_of(victim))
    flip = TreeSearch(sims=50).nearest(victim, Item(TEXT, (0, 1, 2, 3, 4)), known, max_swaps=1)
    assert flip is not None
    assert len(flip.changed) == 1


def test_words_without_vectors_cannot_be_measured() -> None:
    victim = lp.BlackBox(lambda texts: [[0.4, 0.6]] * len(texts), labels=["a", "b"])
    with pytest.raises(NoRule, match="no embedding to move in"):
        Replacements().of(victim, TEXT, [0])
    with pytest.raises(NoRule, match="no embedding to measure in: a 'blackbox' victim has no word vectors"):
        words_of(victim, scale_of(word_victim("mlp", 0)))


def test_pieces_of_words_and_special_tokens_are_no_words(tmp_path: Path) -> None:
    victim = transformer_victim(tmp_path, 0)
    known = words_of(victim, scale_of(victim))
    assert sorted(known.words) == sorted(WORDS)
    for word, number in zip(known.words[:3], known.ids[:3].tolist(), strict=True):
        assert tokens_of(victim, Item(lp.Text.parse(word), (0,))).ids[1] == number
