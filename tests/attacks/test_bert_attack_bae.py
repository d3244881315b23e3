"""BERT-Attack and BAE: the first flip in candidate order, hiding, and the limit on swaps."""

from __future__ import annotations

from hunting import adding, hunt

from lexproof.attacks.bae import Bae
from lexproof.attacks.bert_attack import BertAttack
from lexproof.space import Space

SCORE = adding({"good": 1.0, "poor": -1.0, "awful": -5.0})
SPACE = Space("good film", [["poor", "awful"], []])


def test_the_first_flip_in_candidate_order_ends_the_search() -> None:
    assert hunt(BertAttack(), SPACE, SCORE).found == "poor film"
    assert hunt(Bae(), SPACE, SCORE).found == "poor film"
    assert hunt(Bae(prefer="harmful"), SPACE, SCORE).found == "awful film"


def test_bert_attack_masks_and_bae_deletes() -> None:
    assert hunt(BertAttack(), SPACE, SCORE).asked[1] == ["[UNK] film"]
    assert hunt(Bae(), SPACE, SCORE).asked[1] == ["film"]


def test_without_a_flip_the_largest_drop_is_kept() -> None:
    score = adding({"good": 3.0, "nice": 2.0, "okay": 1.0, "so": 0.2, "dull": -1.5})
    space = Space("good so", [["nice", "okay"], ["dull"]])
    assert hunt(BertAttack(max_share=1.0), space, score).steps == [["nice so", "okay so"], ["okay dull"]]
    assert hunt(Bae(), space, score).found == "okay dull"


def test_bert_attack_gives_up_after_its_share_of_the_words() -> None:
    words = ["a", "b", "c", "d", "e"]
    score = adding(dict.fromkeys(words, 1.0) | dict.fromkeys("vwxyz", -0.6))
    space = Space(" ".join(words), [["v"], ["w"], ["x"], ["y"], ["z"]])
    assert len(hunt(BertAttack(), space, score).steps) == 2  # floor(0.4 * 5)
    assert hunt(BertAttack(max_share=1.0), space, score).found == "v w x y e"
    assert hunt(BertAttack(max_share=1.0), space.restrict(max_swaps=3), score).found is None
    assert len(hunt(BertAttack(max_share=0.1), space, score).steps) == 1  # at least one
