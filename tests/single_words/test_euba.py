"""EUBA: exact without a stop, the paper's algorithm step by step with one, and never a flip that is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from lexproof.engine import Engine, Limits, Task
from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.points import MASKED, BoolArray, WordGradient
from lexproof.single_words.brute import brute
from lexproof.single_words.euba import VARIANTS, euba
from lexproof.single_words.first_order import best_positions, estimated
from lexproof.single_words.flips import NOWHERE, TextFlips
from lexproof.single_words.placing import Placings
from lexproof.text import Text
from lexproof.victims.base import Bound, Victim
from small_victims import SHAPES, WORDS, transformer_victim, word_victim
from toys import Additive

pytest.importorskip("torch")

EVERYTHING = 10**9
VOCABULARY = [*WORDS, "never", "W3", "w1 w2"]  # known, unknown, known in another case, two tokens


def correct_texts(victim: Victim, seed: int, count: int = 6, words: int = 6) -> tuple[list[Text], list[int]]:
    """Random texts with what the victim predicts of them: the label of none of them is wrong."""
    rng = np.random.default_rng(seed)
    texts = [
        Text.parse(" ".join(rng.choice([*WORDS, "other,"], size=int(rng.integers(1, words + 1))))) for _ in range(count)
    ]
    return texts, victim.predict([text.input for text in texts]).tolist()


def true_flips(victim: Victim, text: Text, label: int, words: Sequence[str]) -> BoolArray:
    """Which words flip the text at some position, each text written out and asked for by itself."""
    return np.array(
        [any(victim.predict([text.swap({i: word}).input])[0] != label for i in range(len(text))) for word in words]
    )


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> Victim:
    pytest.importorskip("transformers")
    return transformer_victim(Path(tmp_path_factory.mktemp("transformer")), 3)


@pytest.fixture(params=[*SHAPES, "transformer"])
def victim(request: pytest.FixtureRequest) -> Victim:
    found: Victim = (
        request.getfixturevalue("transformer") if request.param == "transformer" else word_victim(request.param, 2)
    )
    return found


def test_without_a_stop_it_is_exact(victim: Victim) -> None:
    texts, labels = correct_texts(victim, 1)
    expected = [true_flips(victim, text, label, VOCABULARY) for text, label in zip(texts, labels, strict=True)]
    assert 0 < np.mean(expected) < 1, "choose another seed: nothing or everything flips"
    forced = dict(brute(victim, texts, labels, VOCABULARY))
    assert sorted(forced) == list(range(len(texts)))
    for at, row in forced.items():
        assert row.is_exact
        assert (row.known == expected[at]).all()
    for variant in ("mask", "no-mask"):
        rows = dict(euba(victim, texts, labels, VOCABULARY, patience=EVERYTHING, variant=variant))
        assert sorted(rows) == list(range(len(texts)))
        for at, row in rows.items():
            assert (row.known == expected[at]).all()


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_found_flips_the_text_as_a_fresh_string(victim: Victim, variant: str) -> None:
    texts, labels = correct_texts(victim, 5)
    found = 0
    for at, row in euba(victim, texts, labels, VOCABULARY, patience=3, variant=variant):
        assert row.label == labels[at]
        assert (row.possible >= row.known).all()
        for word in np.flatnonzero(row.known):
            swapped = texts[at].swap({int(row.position[word]): VOCABULARY[word]})
            assert swapped != texts[at]
            assert victim.predict([swapped.input])[0] != row.label
            found += 1
    assert found


class Algorithm:
    """The pseudocode of the paper, one text after the other in each phase, one placement at a time."""

    def __init__(self, victim: Victim, texts: list[Text], labels: list[int], variant: str, patience: int) -> None:
        self.victim, self.texts, self.labels, self.patience = victim, texts, labels, patience
        self.queries = [0] * len(texts)
        placings = Placings(victim, texts, labels, VOCABULARY)
        vectors = victim.word_vectors(VOCABULARY)
        tables = []
        for at, label in enumerate(labels):
            search = estimated(placings[at], label, vectors, masked=variant != "no-mask")
            outcome = next(Engine(victim).run([Task(0, placings[at].space, Goal(label), search)]))
            self.queries[at] += outcome.cost.queries
            tables.append(outcome.claim)
        tried: list[set[tuple[int, int]]] = [set() for _ in texts]
        self.success: list[dict[int, int]] = [{} for _ in texts]
        for at, u in enumerate(tables):
            order = sorted(
                ((float(u[i, w]), i, w) for i in range(u.shape[0]) for w in range(u.shape[1]) if u[i, w] < np.inf),
                key=lambda placed: placed[0],
            )
            if variant == "top1":
                order = [placed for placed in order if best_positions(u)[placed[2]] == placed[1]]
                order.sort(key=lambda placed: (placed[0], placed[2]))
            self.go_through(at, [placed[1:] for placed in order], tried[at])
        count = {label: np.zeros(len(VOCABULARY)) for label in labels}
        for at, label in enumerate(labels):
            count[label][list(self.success[at])] += 1
        for at, u in enumerate(tables):
            ranked = sorted(range(len(VOCABULARY)), key=lambda w: (-count[labels[at]][w], w))
            self.go_through(at, [(int(best_positions(u)[w]), w) for w in ranked], tried[at])

    def go_through(self, at: int, order: Sequence[tuple[int, int]], tried: set[tuple[int, int]]) -> None:
        misses = 0
        for place, word in order:
            if word in self.success[at]:
                continue
            flips = False
            if place != NOWHERE and (place, word) not in tried:
                self.queries[at] += 1
                text = self.texts[at].swap({place: VOCABULARY[word]})
                flips = self.victim.predict([text.input])[0] != self.labels[at]
            tried.add((place, word))
            if flips:
                self.success[at][word] = place
                misses = 0
            else:
                misses += 1
                if misses >= self.patience:
                    return


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", ["cnn", "lstm", "mlp-mean"])
@pytest.mark.parametrize("patience", [1, 2, 5, 17, 80])
def test_it_is_the_paper_s_algorithm(shape: str, variant: str, patience: int) -> None:
    victim = word_victim(shape, 4)
    texts, labels = correct_texts(victim, 2)
    expected = Algorithm(victim, texts, labels, variant, patience)
    for at, row in euba(victim, texts, labels, VOCABULARY, patience=patience, variant=variant):
        assert {int(w): int(row.position[w]) for w in np.flatnonzero(row.known)} == expected.success[at]
        assert row.cost.queries == expected.queries[at]  # no text is asked for that the paper would not ask for


def test_estimates_are_the_first_order_of_the_log_probability(transformer: Victim) -> None:
    text = Text.parse("w1 w2 w3")
    for victim in (word_victim("bilstm", 1), transformer):
        placing = Placings(victim, [text], [0], VOCABULARY)[0]
        vectors = victim.word_vectors(VOCABULARY)
        for masked in (True, False):
            search = estimated(placing, 0, vectors, masked=masked)
            found = next(Engine(victim).run([Task(0, placing.space, Goal(0), search)])).claim
            for i in range(3):
                point = placing.space.origin[None]
                point[0, i] = MASKED if masked else 0
                request = WordGradient(point, np.zeros(1, np.int32), np.array([i], np.int32), 0)
                (slope,) = victim.word_gradient(Bound(placing.space), request)
                written = text.swap({i: mask_of(victim)}) if masked else text
                probability = victim.scores([written.input])[0, 0]
                there = mask_vector(victim) if masked else victim.word_vectors([text.words[i]])[0]
                expected = (vectors - there) @ slope[:-2] / probability + np.log(probability)
                expected[placing.own[i]] = np.inf
                np.testing.assert_allclose(found[i], expected, atol=1e-4)


def mask_of(victim: Victim) -> str:
    return "[MASK]" if victim.kind == "transformer" else "unheard"


def mask_vector(victim: Victim) -> np.ndarray:
    if victim.kind != "transformer":
        return victim.word_vectors(["unheard"])[0]
    return victim.model.get_input_embeddings().weight[victim.encoder.tokenizer.mask_token_id].detach().numpy()


def positions(rows: Iterator[tuple[int, TextFlips]]) -> dict[int, list[int]]:
    return {at: row.position.tolist() for at, row in rows}


@pytest.mark.parametrize("variant", VARIANTS)
def test_rows_do_not_depend_on_the_order_of_texts(victim: Victim, variant: str) -> None:
    texts, labels = correct_texts(victim, 8)
    found = positions(euba(victim, texts, labels, VOCABULARY, patience=4, variant=variant))
    backwards = positions(euba(victim, texts[::-1], labels[::-1], VOCABULARY, patience=4, variant=variant))
    assert found == {len(texts) - 1 - at: row for at, row in backwards.items()}


def test_a_run_goes_on_where_phase_1_was_left() -> None:
    victim = word_victim("cnn", 4)
    texts, labels = correct_texts(victim, 3, count=8)
    kept: dict[int, TextFlips] = {}
    told: list[tuple[str, int, int]] = []
    whole = dict(
        euba(
            victim, texts, labels, VOCABULARY, patience=3,
            on_phase1=kept.__setitem__, progress=lambda *args: told.append(args),
        )
    )  # fmt: skip
    assert sorted(kept) == list(range(8))
    assert told == [(f"phase {phase}", done, 8) for phase in (1, 2) for done in range(1, 9)]
    assert any((whole[at].known != kept[at].known).any() for at in kept), "choose another seed: phase 2 finds nothing"
    part = {at: kept[at] for at in (0, 3, 4)}
    again: dict[int, TextFlips] = {}
    resumed = dict(euba(victim, texts, labels, VOCABULARY, patience=3, phase1=part, on_phase1=again.__setitem__))
    assert sorted(again) == [1, 2, 5, 6, 7]
    assert all((resumed[at].position == whole[at].position).all() for at in range(8))
    assert all(whole[at].cost.queries >= kept[at].cost.queries for at in kept)
    first = dict(euba(victim, texts, labels, VOCABULARY, patience=3, phases=(1,), phase1=part))
    assert all((first[at].position == kept[at].position).all() for at in range(8))
    second = dict(euba(victim, texts, labels, VOCABULARY, patience=3, phases=(2,), phase1=kept))
    assert all((second[at].position == whole[at].position).all() for at in range(8))
    for given in (kept, {}):  # what is finished counts, whether its row is given or made again
        rest = dict(euba(victim, texts, labels, VOCABULARY, patience=3, phase1=given, finished={0, 2, 5}))
        assert sorted(rest) == [1, 3, 4, 6, 7]
        assert all((rest[at].position == whole[at].position).all() for at in rest)
        only = dict(euba(victim, texts, labels, VOCABULARY, patience=3, phase1=given, finished={0}, phases=(1,)))
        assert sorted(only) == list(range(1, 8))


@pytest.mark.parametrize("budget", [0, 1, 5, 6, 9, 40, 10_000])
def test_budgets_are_kept_and_what_was_found_stands(budget: int) -> None:
    victim = word_victim("lstm", 2)
    texts, labels = correct_texts(victim, 1)
    for method in (brute, euba):
        for at, row in method(victim, texts, labels, VOCABULARY, limits=Limits(max_queries=budget)):
            expected = true_flips(victim, texts[at], labels[at], VOCABULARY)
            assert row.cost.queries <= budget
            assert (row.known <= expected).all()
            assert (expected <= row.possible).all()
            assert row.is_exact or method is euba or budget < 10_000


def test_edges() -> None:
    victim = word_victim("cnn", 1)
    texts = [Text.parse("?!"), Text.parse("w1"), Text.parse("w1 w1"), Text.parse("w2 w3", premise="w4 w5")]
    labels = victim.predict([text.input for text in texts]).tolist()
    words = ["w1", "w9"]
    expected = [true_flips(victim, text, label, words) for text, label in zip(texts, labels, strict=True)]
    for method in (brute, euba):
        rows = dict(method(victim, texts, labels, words))
        assert sorted(rows) == [0, 1, 2, 3]
        assert not rows[0].possible.any()
        assert not rows[1].possible[0]  # it stands there already, and changes nothing
        assert not rows[2].possible[0]
        assert rows[0].cost.queries == 0
        for at, row in rows.items():
            assert (row.known == expected[at]).all()
            assert (expected[at] <= row.possible).all()


def test_words_of_the_text_are_tried_elsewhere() -> None:
    """The texts of a placement are those that `Text.swap` writes, also where the vocabulary holds words of the text."""
    text = Text.parse("b, a c", premise="a b")
    placing = Placings(Additive(), [text], [0], ["a", "b", "x", "c"])[0]
    places, words = (grid.reshape(-1).astype(np.int32) for grid in np.indices((3, 4)))
    rendered = placing.space.render(placing.points(places, words))
    assert rendered == [text.swap({int(i): placing.words[w]}).input for i, w in zip(places, words, strict=True)]


def test_brute_force_serves_black_boxes() -> None:
    victim = Additive(3, quadratic=0.5)
    texts, labels = correct_texts(victim, 4)
    for at, row in brute(victim, texts, labels, VOCABULARY):
        assert row.is_exact
        assert (row.known == true_flips(victim, texts[at], labels[at], VOCABULARY)).all()
    with pytest.raises(InputError, match="expected a victim with gradients, got 'additive'"):
        euba(victim, texts, labels, VOCABULARY)


def test_a_word_that_has_flipped_is_not_tried_again() -> None:
    victim = Additive(0, bias=-99)
    rows = dict(brute(victim, [Text.parse("a b c")], [1], ["x", "y", "a"]))
    assert rows[0].position.tolist() == [0, 0, 1]
    assert rows[0].cost.queries == 3


def test_bad_input() -> None:
    victim = word_victim("cnn", 1)
    text = Text.parse("w1 w2")
    with pytest.raises(InputError, match="expected at least one word to place, got an empty vocabulary"):
        brute(victim, [text], [0], [])
    with pytest.raises(InputError, match="expected distinct words, got 'a' more than once"):
        brute(victim, [text], [0], ["a", "b", "a"])
    with pytest.raises(InputError, match="expected a label for each of 1 texts, got 2"):
        brute(victim, [text], [0, 1], ["a"])
    with pytest.raises(InputError, match="expected a label from 0 to 2, got 3"):
        euba(victim, [text], [3], ["a"])
    with pytest.raises(InputError, match="expected patience >= 1, got 0"):
        euba(victim, [text], [0], ["a"], patience=0)
    with pytest.raises(InputError, match="expected a variant of mask, top1, no-mask, got 'all'"):
        euba(victim, [text], [0], ["a"], variant="all")
    with pytest.raises(InputError, match=r"expected phases \(1,\), \(2,\) or \(1, 2\), got \(\)"):
        euba(victim, [text], [0], ["a"], phases=())
    row = dict(brute(victim, [text], [0], ["a", "b"]))[0]
    with pytest.raises(InputError, match="expected rows of the same texts, labels and words, got another one for text"):
        euba(victim, [text], [0], ["a"], phase1={0: row})
