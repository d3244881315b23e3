"""What each method says of each word, against brute force and against victims that can be read off."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import lexproof as lp
from lexproof.constraints import Constraints
from lexproof.explaining import METHODS, Explainer, Explanation, usual_methods
from lexproof.points import Sensitivity
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.base import Victim
from small_victims import SHAPES, word_space, word_victim
from toys import Additive, Letters, random_space, weight

BLACK_BOX = lp.BlackBox(
    lambda texts: [[0.9, 0.1] if "dull" in text else [0.2, 0.8] for text in texts], labels=["negative", "positive"]
)


def ask(victim: Victim, space: Space, *methods: str, label: int | None = None) -> Explanation:
    return Explainer(methods=methods, lime_samples=300).explain(victim, space, label)


# ---------------------------------------------------------------- swaps


@pytest.mark.parametrize("seed", range(20))
def test_swaps_are_the_largest_drops_over_all_substitutes(seed: int) -> None:
    space = random_space(np.random.default_rng(seed), words=6, options=4, max_swaps=1)
    victim = Additive(seed, quadratic=0.5)
    label = seed % 2
    found = ask(victim, space, "swaps", label=label)
    before = victim.scores([str(space.original)])[0]
    for i, choices in enumerate(space.choices):
        value, detail = found["swaps"].values[i], found["swaps"].details[i]
        if not choices:
            assert value is None and detail is None
            continue
        texts = [str(space.original.swap({i: word})) for word in choices]
        drops = before[label] - victim.scores(texts)[:, label]
        assert value == pytest.approx(drops.max(), abs=1e-12)
        assert detail is not None and detail.substitute in choices
        scores = victim.scores([str(space.original.swap({i: detail.substitute}))])[0]
        assert (detail.drop, detail.score) == pytest.approx((value, scores[label]), abs=1e-12)
        assert detail.flips == (before.argmax() == label != scores.argmax())


@pytest.mark.parametrize("shape", ["mlp", "cnn-deep", "bilstm"])
def test_swaps_of_word_models_are_those_of_the_texts(shape: str) -> None:
    victim, space = word_victim(shape, 3), word_space(8, words=6, options=6, max_swaps=1, odd=0.5)
    found = ask(victim, space, "swaps")
    before = victim.scores([str(space.original)])[0, found.label]
    assert found.label == found.predicted
    for i, choices in enumerate(space.choices):
        texts = [str(space.original.swap({i: word})) for word in choices]
        if texts:
            drops = before - victim.scores(texts)[:, found.label]
            assert found["swaps"].values[i] == pytest.approx(drops.max(), abs=2 * victim.rounding)


def test_a_word_whose_substitutes_all_help_the_label_has_a_negative_drop() -> None:
    victim = lp.BlackBox(lambda texts: [[0.4 - 0.3 * ("b" in t), 0.6 + 0.3 * ("b" in t)] for t in texts], ["n", "p"])
    found = ask(victim, Space("a c", [["b"], []], 1), "swaps")
    assert found["swaps"].values == (pytest.approx(-0.3), None)
    assert found["swaps"].order() == [0, 1]


def test_swaps_that_the_space_does_not_allow_are_not_tried() -> None:
    text = Text.parse("ab cd")
    choices = [["zz", "aa"], ["cc"]]
    drops = {"zz": 0.5, "aa": 0.2, "cc": 0.1}

    def score(texts: list[str]) -> list[list[float]]:
        lost = [max([drops.get(word, 0.0) for word in text.split()]) for text in texts]
        return [[0.1 + own, 0.9 - own] for own in lost]

    victim = lp.BlackBox(score, labels=["n", "p"])
    assert ask(victim, Space(text, choices, 1), "swaps")["swaps"].details[0].substitute == "zz"  # type: ignore[union-attr]
    far = Constraints(floor=0.6, max_swaps=1)  # letters in common
    allowed = far.space(text, lambda _: choices, Letters())
    found = ask(victim, allowed, "swaps")["swaps"]
    assert allowed.accepts(allowed.singles()).tolist() == [False, True, True]
    assert [None if own is None else own.substitute for own in found.details] == ["aa", "cc"]
    assert ask(victim, Space(text, choices, 0), "swaps")["swaps"].values == (None, None)


def test_labels_alone_are_enough_for_swaps() -> None:
    victim = lp.LabelOnly(BLACK_BOX)
    found = ask(victim, Space("a fun film", [["the"], ["dull"], []], 1), "swaps")["swaps"]
    assert found.values == (0.0, 1.0, None)
    assert found.details[1] is not None and found.details[1].flips


# ---------------------------------------------------------------- deletion and gradient


@pytest.mark.parametrize("seed", range(5))
def test_deletion_is_the_drop_without_the_word(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = [f"w{rng.integers(0, 4)}" for _ in range(5)]
    victim = Additive(seed)
    found = ask(victim, Space(" ".join(words), [()] * 5, 0), "deletion", label=1)
    before = victim.scores([" ".join(words)])[0, 1]
    rest = [" ".join(words[:i] + words[i + 1 :]) for i in range(5)]
    assert found["deletion"].values == pytest.approx((before - victim.scores(rest)[:, 1]).tolist())


def test_gradient_is_the_victims_sensitivity() -> None:
    victim, space = word_victim("cnn", 1), word_space(8, words=6)
    found = ask(victim, space, "gradient")
    expected = victim.sensitivity(victim.bind(space), Sensitivity(space.origin[None], found.label))[0]
    assert found["gradient"].values == pytest.approx(expected.tolist())
    assert max(expected) > 0


# ---------------------------------------------------------------- lime


@pytest.mark.parametrize("seed", range(3))
def test_lime_ranks_the_words_of_an_additive_victim_by_their_weights(seed: int) -> None:
    """Words are told apart by position, whatever they look like; a repeated word has the same weight each time."""
    words = ["don't", "well-known", "naïve", "don't", "x", "Ünder", "it's"]
    text = Text.parse("¿don't, well-known; naïve... don't x — Ünder (it's)!")
    assert list(text.words) == words

    def score(texts: list[str]) -> list[list[float]]:
        sums = [sum(weight(word, seed) for word in Text.parse(one).words if word in words) for one in texts]
        return [[0.5 - 0.05 * own, 0.5 + 0.05 * own] for own in sums]

    found = ask(lp.BlackBox(score, labels=["n", "p"]), Space(text, [()] * 7, 0), "lime", label=1)["lime"]
    expected = [0.05 * weight(word, seed) for word in words]
    assert found.values == pytest.approx(expected, abs=0.003)
    assert words[found.order()[0]] == words[int(np.argmax(expected))]


def test_lime_is_seeded_and_explains_the_label() -> None:
    space = Space("w0 w1 w2 w3", [()] * 4, 0)
    one = Explainer(methods=("lime",), lime_samples=50, seed=1)
    assert one.explain(Additive(), space, 1)["lime"].values == one.explain(Additive(), space, 1)["lime"].values
    other = Explainer(methods=("lime",), lime_samples=50, seed=2)
    assert other.explain(Additive(), space, 1)["lime"].values != one.explain(Additive(), space, 1)["lime"].values
    opposite = one.explain(Additive(), space, 0)["lime"].array
    assert opposite == pytest.approx(-one.explain(Additive(), space, 1)["lime"].array)


def test_without_the_package_lime_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lime", None)
    with pytest.raises(lp.MissingExtra, match=r"saliency by LIME needs 'lime'.*pip install 'lexproof\[lime\]'"):
        lp.explain(BLACK_BOX, "a fun film", methods=["lime"])
    found = lp.explain(BLACK_BOX, "a fun film")  # a default method is left out, as one that the victim cannot serve
    assert found["swaps"].values
    assert found["lime"].values == ()
    assert "pip install 'lexproof[lime]'" in found["lime"].reason
    methods, note = usual_methods()
    assert methods == ("radius", "swaps")
    assert note.startswith("lime is left out: ") and "pip install 'lexproof[lime]'" in note


def test_radius_swaps_and_lime_are_asked_by_default() -> None:
    assert usual_methods() == (("radius", "swaps", "lime"), "")
    assert [own.method for own in lp.explain(BLACK_BOX, "a fun film").saliencies] == ["radius", "swaps", "lime"]


# ---------------------------------------------------------------- what cannot be answered, and edges


def test_a_black_box_is_explained_by_what_is_left() -> None:
    found = lp.explain(BLACK_BOX, "a fun film", methods=list(METHODS), lime_samples=20)
    assert [own.method for own in found.answered] == ["swaps", "deletion", "lime"]
    assert "no embedding to move in" in found["radius"].reason
    assert "no gradients: expected a victim that is differentiable, got a 'blackbox' victim" in found["gradient"].reason
    assert found["radius"].values == ()
    with pytest.raises(lp.UnknownName, match="unknown method of this explanation 'magic'; available: deletion, grad"):
        found["magic"]


@pytest.mark.parametrize("surface", ["", "...", "fun", "\u202e fun \x00"])
def test_texts_of_no_word_or_one(surface: str) -> None:
    found = lp.explain(BLACK_BOX, surface, methods=["swaps", "deletion", "lime"], lime_samples=20)
    n = len(Text.parse(surface))
    assert [len(own.values) for own in found.answered] == [n, n, n]
    assert all(own.spearman is None for own in found.agreement())
    assert found._repr_html_()


def test_pairs_keep_their_premise() -> None:
    victim = lp.BlackBox(lambda pairs: [[0.9, 0.1] if "dull" in a + b else [0.2, 0.8] for a, b in pairs], ["n", "p"])
    found = lp.explain(victim, ("a dull day", "so it is"), 0, methods=["deletion"])
    assert found.text.premise == "a dull day"
    assert found["deletion"].values == (0.0, 0.0, 0.0)
    assert found.to_json()["premise"] == "a dull day"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"methods": ["magic"]}, "unknown method 'magic'; available: deletion, gradient, lime, radius, swaps"),
        ({"methods": []}, "expected at least one method, got none; choose from radius, swaps"),
        ({"norm": 3}, "expected the norm 1, 2 or inf, got 3"),
        ({"lime_samples": 1}, "expected lime_samples >= 2, got 1"),
        ({"time_limit": -1}, "expected time_limit >= 0, got -1"),
        ({"label": 2}, "expected a label from 0 to 1, got 2"),
        ({"label": "great"}, "expected a label out of negative, positive or its number, got 'great'"),
        ({"label": 0.5}, "expected a label out of negative, positive or its number, got 0.5"),
        ({"methods": "magic"}, "unknown method 'magic'; available: deletion, gradient, lime, radius, swaps"),
        ({"methods": [3]}, "expected names of methods out of radius, swaps, deletion, gradient, lime, got 3"),
        ({"methods": 3}, "expected names of methods out of radius, swaps, deletion, gradient, lime, got 3"),
    ],
)
def test_bad_input(given: dict[str, object], message: str) -> None:
    with pytest.raises(lp.InputError, match=message):
        lp.explain(BLACK_BOX, "a fun film", **given)  # type: ignore[arg-type]


def test_one_method_by_its_name_and_a_label_by_its_name() -> None:
    found = lp.explain(BLACK_BOX, "a fun film", "negative", methods="deletion")
    assert ([own.method for own in found.saliencies], found.label) == (["deletion"], 0)
    assert Explainer(methods="swaps").methods == ("swaps",)
    assert lp.explain(BLACK_BOX, "a fun film", np.int64(1), methods="deletion").to_json()["label"] == 1


def test_progress_is_told_as_a_share_of_the_work() -> None:
    victim, told = word_victim("mlp", 1), list[float]()
    space = Space(Text.from_words(["w0"] * 300), [()] * 300, 0)
    Explainer(methods=("radius", "deletion"), progress=told.append).explain(victim, space)
    assert told == sorted(told) and told[-1] == 1.0
    assert sum(0 < share < 0.5 for share in told) >= 2  # radii of some of the words are there


def test_methods_named_twice_are_asked_once() -> None:
    assert Explainer(methods=("swaps", "deletion", "swaps")).methods == ("swaps", "deletion")


def test_one_text_that_fails_stops_no_other() -> None:
    def picky(texts: list[str]) -> list[list[float]]:
        if any("bad" in text for text in texts):
            raise ValueError("too bad")
        return [[0.3, 0.7] for _ in texts]

    from lexproof.asking import Item

    victim = lp.BlackBox(picky, labels=["n", "p"])
    items = [Item(k, Space(text, [()] * 2, 0)) for k, text in enumerate(["a film", "bad film", "a plot"])]
    found = list(Explainer(methods=("deletion",)).explain_all(victim, items))
    assert [own.explanation is None for own in found] == [False, True, False]
    assert "too bad" in str(found[1].error)


def test_every_word_model_is_explained_by_every_probe() -> None:
    for shape in SHAPES:
        found = ask(word_victim(shape, 0), word_space(8, words=6, max_swaps=1), "swaps", "deletion", "gradient")
        assert len(found.answered) == 3, shape
