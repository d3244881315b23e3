"""Spaces are compiled when a search needs it: texts and gradients by single words do without."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lexproof.engine import Engine, Limits, Outcome, Task
from lexproof.errors import ModelError
from lexproof.goal import Goal
from lexproof.points import AsText, FirstOrder, FloatArray, Fresh, Request, WordGradient
from lexproof.search import Search
from lexproof.space import Space
from lexproof.text import Text
from lexproof.victims.base import Bound
from small_victims import transformer_victim
from toys import Additive

SPACE = Space("a b", [["x", "y"], ["z"]])
GRADIENT = WordGradient(np.zeros((1, 2), np.int32), np.zeros(2, np.int32), np.arange(2, dtype=np.int32), 1)


class Unbound(Additive):
    """Cannot compile a space, but reads texts and has gradients, of a kind."""

    has_gradients = True

    def bind(self, space: Space) -> Bound:
        raise ModelError("cannot bind")

    def word_gradient(self, bound: Bound, request: WordGradient) -> FloatArray:
        self.asked.extend(bound.space.render(request.points))
        return np.ones((len(request.rows), 4))

    def first_order(self, bound: Bound, request: FirstOrder) -> FloatArray:
        raise AssertionError("asked about a space that was not compiled")


def run(search: Search[object], victim: Additive, limits: Limits | None = None) -> Outcome:
    return next(Engine(victim).run([Task(0, SPACE, Goal(1), search, limits or Limits())]))


def asks(*requests: Request) -> Search[list[FloatArray]]:
    found = []
    for request in requests:
        found.append((yield request))
    return found


def test_texts_and_gradients_by_words_need_no_compiled_space() -> None:
    victim = Unbound()
    outcome = run(asks(AsText(SPACE.points()), GRADIENT, AsText(SPACE.points(0, 1))), victim)
    assert outcome.error is None
    assert [answer.shape for answer in outcome.claim] == [(6, 2), (2, 4), (1, 2)]
    assert outcome.cost.queries == len(victim.asked) == 6 + 1 + 1  # one text, however many of its words


@pytest.mark.parametrize(
    "request_",
    [SPACE.points(), SPACE.singles(), Fresh(SPACE.points()), FirstOrder(SPACE.origin[None], 1)],
    ids=["points", "swaps", "fresh", "first-order"],
)
@pytest.mark.parametrize("later", [False, True])
def test_what_needs_one_ends_with_the_error(request_: Request, later: bool) -> None:
    before = [AsText(SPACE.points(0, 1)), GRADIENT] if later else []
    outcome = run(asks(*before, request_, AsText(SPACE.points())), Unbound())
    assert (outcome.claim, outcome.stopped, str(outcome.error)) == (None, "error", "cannot bind")
    assert outcome.cost.queries == (2 if later else 0)


def test_a_space_is_compiled_once() -> None:
    class Counting(Additive):
        bound = 0

        def bind(self, space: Space) -> Bound:
            self.bound += 1
            return super().bind(space)

    victim = Counting()
    run(asks(SPACE.points(0, 2), Fresh(SPACE.points()), SPACE.singles(), AsText(SPACE.points())), victim)
    assert victim.bound == 1


def test_gradients_by_words_are_paid_for_by_the_point() -> None:
    assert run(asks(GRADIENT, GRADIENT), Unbound(), Limits(max_queries=2)).stopped == ""
    outcome = run(asks(GRADIENT, GRADIENT), Unbound(), Limits(max_queries=1))
    assert (outcome.stopped, outcome.cost.queries) == ("budget of 1 queries used up", 1)


def test_transformers_score_texts_beside_compiled_spaces(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    victim = transformer_victim(tmp_path, 1)
    space = Space(Text.parse("w1 w2", premise="w3"), [["w4", "w5"], ["w6"]])
    jobs = [(Bound(space), space.points()), (victim.bind(space), space.points()), (Bound(SPACE), SPACE.points())]
    text, bound, other = victim.score(jobs)
    np.testing.assert_allclose(text, bound, atol=1e-6)
    np.testing.assert_allclose(text, victim.scores(space.render(space.points())), atol=1e-6)
    assert other.shape == (6, 3)
