"""SP-Attack: the pool and its order, when it stops, and which flip it claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hunting import POSITIVE, Hunted, hunt

import lexproof as lp
from lexproof.attacks.sp_attack import SpAttack, sp_attack_space
from lexproof.attacks.specs import from_spec
from lexproof.candidates import Vocabulary
from lexproof.errors import DataError, InputError, ModelError
from lexproof.fluency.joint import Joint
from lexproof.fluency.ngram import Ngram
from lexproof.points import FloatArray
from lexproof.search import Seed
from lexproof.space import Space
from toys import Additive, Letters, brute_minimum, random_space

BLIND = SpAttack(similarity=False)
SPACE = Space("aa bb cc", [[f"{word}{i}" for i in range(10)] for word in ("aa", "bb", "cc")])
ORDINARY = {f"{word}{i}" for word in ("aa", "bb", "cc") for i in range(10)}


class Ranked:
    """A model of fluency that prefers texts in the order of a list."""

    name = "ranked"

    def __init__(self, order: Sequence[str]) -> None:
        self.order, self.asked = list(order), [""]

    def perplexity(self, texts: Sequence[str]) -> FloatArray:
        self.asked += texts[1:]
        return np.array([1.0 + self.order.index(text) if text in self.order else 1e3 for text in texts])


def flipped_by(*words: str):  # type: ignore[no-untyped-def]
    """Scores of a classifier that these words turn round."""
    return lambda text: [0.9, 0.1] if set(text.split()) & set(words) else [0.2, 0.8]


def asked(hunted: Hunted) -> list[str]:
    return [text for texts in hunted.asked for text in texts]


def test_the_pool_is_every_single_swap_once_and_not_the_text() -> None:
    hunted = hunt(replace(BLIND, batch=7), SPACE, flipped_by())
    assert hunted.found is None
    assert len(asked(hunted)) == len(set(asked(hunted))) == 30
    assert "aa bb cc" not in asked(hunted)
    assert [len(texts) for texts in hunted.asked] == [7, 7, 7, 7, 2]
    assert asked(hunted) != sorted(asked(hunted))  # shuffled


def test_the_seed_shuffles() -> None:
    victim = Additive(1, bias=0.05)
    space = Space("w0 w1 w2", [[f"w{i}s{j}" for j in range(20)] for i in range(3)])
    label = int(victim.predict([str(space.original)])[0])
    found = {seed: lp.find(victim, space, label, attack=BLIND, seed=seed) for seed in range(6)}
    assert len({answer.witness for answer in found.values() if isinstance(answer, lp.Broken)}) > 1
    assert found[3].witness == lp.find(victim, space, label, attack=BLIND, seed=3).witness  # type: ignore[union-attr]


def test_the_best_of_the_flips_is_claimed() -> None:
    flipping = ["aa3", "bb1", "bb8", "cc5"]
    texts = ["aa3 bb cc", "aa bb1 cc", "aa bb8 cc", "aa bb cc5"]
    for best in texts:
        judge = Ranked(["aa bb cc", best, *(text for text in texts if text != best)])
        assert hunt(SpAttack(joint=Joint(fluency=judge)), SPACE, flipped_by(*flipping)).found == best
        assert set(judge.asked[1:]) == set(texts)  # nothing but flips is judged


def test_it_stops_at_k_flips_and_judges_no_more() -> None:
    judge = Ranked([])
    hunted = hunt(SpAttack(k=4, batch=5, joint=Joint(fluency=judge)), SPACE, flipped_by(*ORDINARY))
    assert [len(texts) for texts in hunted.asked] == [5]
    assert len(judge.asked) - 1 == 4


def test_the_claim_does_not_depend_on_the_batch() -> None:
    judge = Joint(encoder=Letters())
    flipping = flipped_by(*sorted(ORDINARY)[::3])
    found = {hunt(SpAttack(k=4, batch=batch, joint=judge), SPACE, flipping).found for batch in (1, 2, 5, 64)}
    assert len(found) == 1


def test_without_a_judge_the_first_flip_ends_it() -> None:
    hunted = hunt(replace(BLIND, batch=1), SPACE, flipped_by("aa1", "bb2", "cc3"))
    assert asked(hunted)[-1] == hunted.found
    assert sum(text in ("aa1 bb cc", "aa bb2 cc", "aa bb cc3") for text in asked(hunted)) == 1


def test_it_finds_a_single_swap_wherever_there_is_one() -> None:
    rng = np.random.default_rng(0)
    found = missed = 0
    for seed in range(60):
        space, victim = random_space(rng, max_swaps=2), Additive(seed)
        label = int(victim.predict([str(space.original)])[0])
        least = brute_minimum(victim, space.restrict(max_swaps=1), label)
        answer = lp.find(victim, space, label, attack=replace(BLIND, joint=Joint(encoder=Letters())), seed=seed)
        assert isinstance(answer, lp.Broken) == (least is not None)
        found += least is not None
        missed += least is None
        if isinstance(answer, lp.Broken):
            assert answer.swaps == 1
    assert found > 5 and missed > 5


def test_what_is_found_within_a_budget_is_judged() -> None:
    judge = Ranked([])
    attack = SpAttack(batch=3, joint=Joint(fluency=judge))
    victim = lp.BlackBox(lambda texts: [flipped_by(*ORDINARY)(text) for text in texts], labels=["n", "p"])
    answer = lp.find(victim, SPACE, 1, attack=attack, max_queries=8)
    assert isinstance(answer, lp.Broken)
    assert answer.queries == 8
    assert len(judge.asked) - 1 == 6  # two batches of three after the text itself; the rest of the third was not told
    assert answer.witness in judge.asked
    nothing = lp.find(victim, SPACE, 1, attack=attack, max_queries=1)
    assert isinstance(nothing, lp.Unknown)


def test_other_words_are_left_alone(tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("AA3\nbb7\nelsewhere\n")
    hunted = hunt(replace(BLIND, words=str(words)), SPACE, flipped_by())
    assert set(asked(hunted)) == {"aa3 bb cc", "aa bb7 cc"}
    words.write_text("elsewhere\n")
    assert hunt(replace(BLIND, words=str(words)), SPACE, flipped_by()).asked == []


def test_the_space_of_the_paper() -> None:
    space = sp_attack_space("A dull film", Vocabulary(["dull", "zen", *(f"w{i}" for i in range(60))]))
    assert (space.max_swaps, space.sizes.tolist()) == (1, [50, 50, 50])
    assert space.choices[0][0] == "Dull" and space.choices[1][0] == "zen"
    assert sp_attack_space("", Vocabulary(["x"]), 1).size == 1


def test_settings_of_a_line(tmp_path: Path) -> None:
    Ngram.train(["a film", "a film"]).save(tmp_path / "x.ngram")
    attack = from_spec(f"sp-attack?variant=paper&similarity=0&k=5&alpha=2&fluency=ngram:{tmp_path / 'x.ngram'}")
    assert isinstance(attack, SpAttack)
    assert (attack.k, attack.weights, attack.alpha, attack.beta) == (5, "paper", 2.0, 20.0)
    assert "_judge" not in repr(attack) and "fluency='ngram:" in repr(attack)
    assert attack == replace(attack) and hash(attack) == hash(replace(attack))
    assert hunt(attack, SPACE, flipped_by("aa3")).found == "aa3 bb cc"


def test_what_cannot_be_used_is_told_before_any_search(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected k >= 1 and batch >= 1, got 0 and 32"):
        SpAttack(k=0)
    with pytest.raises(InputError, match="expected weights out of code, paper, got 'mine'"):
        SpAttack(weights="mine", similarity=False)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected no encoder with similarity=0, got 'x'"):
        SpAttack(similarity=False, encoder="x")
    with pytest.raises(ModelError, match="expected an n-gram model"):
        SpAttack(similarity=False, fluency=f"ngram:{tmp_path / 'nothing'}")
    with pytest.raises(ModelError, match="expected a causal language model"):
        SpAttack(similarity=False, fluency=f"causal:{tmp_path}")
    with pytest.raises(ModelError, match="expected a Hugging Face model"):
        SpAttack(encoder=str(tmp_path))
    with pytest.raises(DataError, match="expected a text file with one word a line"):
        SpAttack(similarity=False, words=str(tmp_path / "nothing"))


def test_a_space_without_swaps_asks_nothing() -> None:
    for space in (Space("aa", [["bb"]], 0), Space("aa", [[]]), Space("", [])):
        search = BLIND(space, POSITIVE, Seed(0))
        with pytest.raises(StopIteration) as end:
            next(search)
        assert end.value.value is None
