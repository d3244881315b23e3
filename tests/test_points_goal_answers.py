import json

import numpy as np
import pytest

from lexproof.answers import Bracket, Broken, Certificate, Cost, Minimum, Robust, Share, Step, Unknown, from_json
from lexproof.errors import InputError, MissingExtra, UnknownName, require
from lexproof.goal import Goal, steady
from lexproof.space import Change

STEPS = (
    Step(method="enumeration", first=0, last=0, margin=0.25, points=1),
    Step(method="branch-and-bound", first=1, last=1, margin=1e-4, detail={"nodes": 3, "proof": None}),
)
CERTIFICATE = Certificate(label=1, target=None, radius=1, rounding=1e-5, victim="v", space="s", steps=STEPS)
CHANGED = (Change(0, "a", "b"), Change(2, "c", "d"))
COST = Cost(queries=7, cached=2, seconds=0.5)
ANSWERS = [
    Broken(witness="b x d", changed=CHANGED, witness_predicted=0, cost=COST),
    Robust(radius=1, certificate=CERTIFICATE, cost=COST),
    Minimum(witness="b x d", changed=CHANGED, witness_predicted=0, certificate=CERTIFICATE, cost=COST),
    Minimum(witness="a x c", changed=(), witness_predicted=0, certificate=None),
    Bracket(lower=2, upper=3, witness="w", changed=CHANGED, witness_predicted=1, certificate=CERTIFICATE, reason="r"),
    Bracket(lower=2, upper=None, witness=None, changed=(), witness_predicted=None, certificate=None, reason=""),
    Share(value=0.5, low=0.4, high=0.6, confidence=0.95, n=10, flips=5, method="hoeffding", radius=2, seed=3),
    Unknown(reason="time limit"),
]


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.kind)
def test_json_round_trip(answer) -> None:  # type: ignore[no-untyped-def]
    assert from_json(json.loads(json.dumps(answer.to_json()))) == answer


def test_json_keys_that_users_rely_on() -> None:
    broken = ANSWERS[0].to_json()
    assert {"answer", "swaps", "witness", "changed", "queries", "seconds"} <= broken.keys()
    assert (broken["answer"], broken["swaps"], broken["queries"], broken["logical"]) == ("broken", 2, 7, 9)
    minimum = ANSWERS[2].to_json()
    assert (minimum["swaps"], minimum["lower"], minimum["upper"]) == (2, 2, 2)
    assert {"value", "low", "high", "confidence", "n"} <= ANSWERS[6].to_json().keys()


def test_from_json_says_what_is_wrong() -> None:
    with pytest.raises(InputError, match=r"expected 'answer' to be one of broken, .*, got 'brokn'"):
        from_json({"answer": "brokn"})
    with pytest.raises(InputError, match="missing reason"):
        from_json({"answer": "unknown"})


def test_share_and_cost() -> None:
    assert ANSWERS[6].robust == 0.5
    assert Cost(queries=14, cached=4, seconds=1.0) == COST + COST


SCORES = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.5, 0.4, 0.1], [0.1, 0.1, 0.8]])


def test_untargeted_goal() -> None:
    goal = Goal(1)
    assert goal.reached(SCORES).tolist() == [False, True, True, True]  # row 1 ties, and the first largest wins
    assert np.allclose(goal.margin(SCORES), [0.2, 0.0, -0.1, -0.7])
    assert np.allclose(goal.progress(SCORES), [0.5, 0.6, 0.6, 0.9], rtol=2**-16)


def test_progress_does_not_see_noise_and_does_see_small_drops() -> None:
    confident = np.array([[1 - 1e-9, 1e-9], [1 - 1e-9 - 1e-16, 1e-9 + 1e-16], [1 - 2e-9, 2e-9]])
    progress = Goal(0).progress(confident)
    assert progress[0] == progress[1]
    assert progress[2] > 1.9 * progress[0]


def test_targeted_goal() -> None:
    goal = Goal(1, target=2)
    assert goal.reached(SCORES).tolist() == [False, False, False, True]
    assert np.allclose(goal.margin(SCORES), [0.2, 0.2, 0.4, -0.7])


def test_slack_wants_more_than_rounding() -> None:
    goal = Goal(1, slack=0.2)
    assert goal.reached(SCORES).tolist() == [False, False, False, True]
    assert goal.strict.reached(SCORES).tolist() == [False, True, True, True]


@pytest.mark.parametrize("target", [None, 2])
@pytest.mark.parametrize("slack", [0.0, 1e-5, 0.1])
def test_reached_is_a_margin_beyond_the_slack(target: int | None, slack: float) -> None:
    scores = np.random.default_rng(0).random((500, 4)).round(1)  # rounded: many ties
    goal = Goal(1, target=target, slack=slack)
    if slack:
        expected = goal.margin(scores) <= -slack
    else:
        expected = scores.argmax(axis=1) == 2 if target else scores.argmax(axis=1) != 1
    assert (goal.reached(scores) == expected).all()
    assert 20 < expected.sum() < 480


def test_steady_keeps_sixteen_digits() -> None:
    values = np.array([1.0, 1 + 2**-15, 1 + 2**-16, 1 + 3 * 2**-16, 3e-9, 0.0, -0.75, 1e300])
    expected = [1.0, 1 + 2**-15, 1 + 2**-15, 1 + 2**-14, 3e-9, 0.0, -0.75, 1e300]  # halves go away from 0
    assert steady(values) == pytest.approx(expected, rel=2**-16)
    assert steady(values)[[0, 1, 2, 3, 5, 6]].tolist() == [expected[k] for k in (0, 1, 2, 3, 5, 6)]
    assert values[0] == 1.0
    assert steady(values * (1 + 1e-9)).tolist()[4] == steady(values).tolist()[4]


def test_bad_goals() -> None:
    with pytest.raises(InputError, match="expected a label from 0 to 1, got 2"):
        Goal(2).check(2)
    with pytest.raises(InputError, match="expected a target from 0 to 1, got -1"):
        Goal(0, target=-1).check(2)
    with pytest.raises(InputError, match="expected a target other than the label, got 1 for both"):
        Goal(1, target=1).check(2)


def test_errors_name_the_remedy() -> None:
    with pytest.raises(MissingExtra, match=r"run: pip install 'lexproof\[spacy\]'"):
        require("a_package_that_is_not_there", "spacy", "tagging")
    assert str(UnknownName("attack", "gredy", ["greedy", "beam"])) == (
        "unknown attack 'gredy'; did you mean 'greedy'? available: beam, greedy"
    )
    assert str(UnknownName("attack", "zzz", ["beam"])) == "unknown attack 'zzz'; available: beam"
