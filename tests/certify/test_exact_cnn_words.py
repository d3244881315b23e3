"""Convolutional word models as windowed nets: the same scores, and certificates that no attack contradicts."""

import json
from pathlib import Path

import numpy as np
import pytest
from exact_cnn_check import check_proof

import lexproof as lp
from lexproof.candidates import default
from lexproof.certify.exact.cnn_solver import minimum
from lexproof.certify.exact.cnn_words import windowed_net
from lexproof.certify.exact.milp_maxpool import minimum_by_milp
from lexproof.data import read
from lexproof.errors import NoRule
from lexproof.points import IntArray
from lexproof.resources import reviews
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.cnn import Cnn, CnnSettings
from lexproof.victims.vocabulary import Vocabulary

WORDS = Vocabulary(["good", "bad", "film", "the", "very", "dull", "fine"])


def model(widths: tuple[int, ...] = (3, 4, 5), max_length: int = 10, labels: int = 2, **more: object) -> Cnn:
    settings = CnnSettings(dim=3, filters=4, widths=widths, max_length=max_length, **more)
    return Cnn(WORDS, [str(label) for label in range(labels)], settings=settings, seed=7)


def margins(victim: Cnn, space: Space, points: IntArray, label: int, rivals: list[int]) -> np.ndarray:
    """The victim's own margins: differences of logarithms of its probabilities."""
    scores = np.log(victim.scores(space.render(points)))
    return scores[:, [label]] - scores[:, rivals]


def agree(victim: Cnn, space: Space, label: int) -> None:
    """Every point of the space has the margins of its set of candidates, or of those of them that count."""
    rivals = [k for k in range(len(victim.labels)) if k != label]
    net, swaps = windowed_net(victim, victim.bind(space), label, rivals)
    number = {(int(position), int(choice)): c for c, (position, choice) in enumerate(swaps)}
    points = space.points()
    tokens = victim.bind(space)
    same = tokens.canonical(points)  # substitutes with the same token are one candidate, the first
    sets = [[number[i, int(row[i])] for i in np.flatnonzero(row) if (i, int(row[i])) in number] for row in same]
    np.testing.assert_allclose(net.margins(sets), margins(victim, space, points, label, rivals), atol=1e-5)
    assert {c for chosen in sets for c in chosen} == set(range(net.candidates))


@pytest.mark.parametrize("widths", [(3, 4, 5), (1,), (2,), (1, 4), (5,)])
def test_margins_are_those_of_the_victim(widths: tuple[int, ...]) -> None:
    text = Text.parse("the good film , very bad")
    choices = [["a"], ["fine", "bad"], ["good", "zzz", "qqq"], [], ["dull"]]
    agree(model(widths, labels=3), Space(text, choices, 3), 1)


def test_texts_shorter_than_a_filter() -> None:
    agree(model(), Space("good", [["bad", "dull"]]), 0)
    agree(model((5,)), Space("good film", [["bad"], ["very"]]), 1)


def test_a_text_without_words() -> None:
    net, swaps = windowed_net(model(), model().bind(Space("", [])), 0, [1])
    assert (net.candidates, len(swaps)) == (0, 0)


def test_words_past_max_length_are_not_candidates() -> None:
    agree(model(max_length=3), Space("the film very bad good", [["a"], ["dull"], ["fine"], ["good"], ["bad"]], 2), 0)


def test_pairs_keep_their_premise() -> None:
    text = Text.parse("good film", premise="the very dull film")
    agree(model(), Space(text, [["bad", "fine"], ["very"]]), 1)


def test_unknown_words_and_duplicates_are_one_candidate() -> None:
    space = Space("good zzz", [["Bad", "bad", "yyy", "xxx"], ["qqq", "film"]])
    _, swaps = windowed_net(model(), model().bind(space), 0, [1])
    assert swaps.tolist() == [[0, 1], [0, 3], [1, 2]]
    agree(model(), space, 0)


def test_what_has_no_rule_is_said() -> None:
    space = Space("good film", [["bad"], []])
    for odd in (model(layers=2), model(pooling="flatten")):
        with pytest.raises(NoRule, match="expected a single convolution with max-pool"):
            windowed_net(odd, odd.bind(space), 0, [1])
    with pytest.raises(NoRule, match="one token for one token"):
        windowed_net(model(), model().bind(Space("good film", [["very bad"], []])), 0, [1])


def test_small_models_are_solved_as_enumeration_and_the_milp_solve_them() -> None:
    solved_at = set()
    for seed in range(12):
        settings = CnnSettings(dim=3, filters=3, widths=(2, 3), max_length=10)
        victim = Cnn(WORDS, ["a", "b", "c"], settings=settings, seed=seed)
        space = Space("the good film very bad", [["fine", "dull"], ["bad"], ["good", "very"], [], ["the", "film"]])
        label = int(victim.predict([str(space.original)])[0])
        rivals = [k for k in range(3) if k != label]
        net, _ = windowed_net(victim, victim.bind(space), label, rivals)
        found = minimum(net, theta=victim.rounding, max_swaps=4, time_limit=1e9)
        points = space.points()
        flips = margins(victim, space, points, label, rivals).min(axis=1) <= victim.rounding
        least = min(np.count_nonzero(points[flips], axis=1), default=None)
        assert found.upper == least == minimum_by_milp(net, theta=victim.rounding).upper
        solved_at.add(least)
    assert len(solved_at) > 1


def check_texts(texts: list[str], max_swaps: int) -> tuple[int, int]:
    """Solve each text and compare with the strongest attack; the number of minima, and of texts proven robust."""
    victim = lp.load("movies-cnn")
    assert isinstance(victim, Cnn)
    broken = robust = 0
    for text in texts:
        label = int(victim.predict([text])[0])
        space = Space.around(text, default(), max_swaps=max_swaps)
        net, swaps = windowed_net(victim, victim.bind(space), label, [1 - label])
        solved = minimum(net, theta=victim.rounding, max_swaps=max_swaps, time_limit=1e9, record=True)
        answer = lp.find(victim, space, label=label, attack="best", seed=0)
        assert solved.reason == ""
        assert check_proof(net, json.loads(json.dumps(solved.proof)), victim.rounding) >= min(
            solved.lower - 1, net.positions
        )
        if isinstance(answer, lp.Broken):
            assert solved.upper is not None
            assert solved.upper <= answer.swaps
        if solved.upper is None:
            robust += 1
            continue
        point = space.origin
        chosen = swaps[list(solved.swaps)]
        point[chosen[:, 0]] = chosen[:, 1]
        assert space.contains(point)
        assert margins(victim, space, point[None], label, [1 - label])[0, 0] <= 2 * victim.rounding
        assert solved.is_closed
        broken += 1
    return broken, robust


def test_no_attack_contradicts_a_certificate_on_own_reviews() -> None:
    broken, robust = check_texts([row["text"] for row in reviews()[:20]], 3)
    assert broken > 3
    assert robust > 3


@pytest.mark.data
def test_no_attack_contradicts_a_certificate_on_movie_reviews(data_folder: Path) -> None:
    broken, robust = check_texts(list(read(data_folder / "mr", split="test").texts[:20]), 100)
    assert broken + robust == 20
    assert broken > 10
