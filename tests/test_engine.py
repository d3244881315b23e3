import time
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest

from lexproof.engine import Engine, Limits, Outcome, Task
from lexproof.errors import ModelError
from lexproof.goal import Goal
from lexproof.points import MASKED, AsText, FirstOrder, FloatArray, Fresh, Sensitivity, Swaps
from lexproof.search import Search, Spent
from lexproof.space import Space
from lexproof.text import Input
from lexproof.victims.base import Bound, GradientJob, Job
from toys import Additive, random_space

SPACE = Space("a b c d", [["a1", "a2"], ["b1"], ["c1", "c2", "c3"], []], 2)
NO_LIMITS = Limits()


def run_one(victim: Additive, search: Search, *, limits: Limits = NO_LIMITS, label: int = 1, **engine: int) -> Outcome:
    return next(Engine(victim, **engine).run([Task(0, SPACE, Goal(label), search, limits)]))


def score_everything(space: Space, batch: int) -> Search[list[FloatArray]]:
    parts = []
    for start in range(0, space.size, batch):
        parts.append((yield space.points(start, min(start + batch, space.size))))
    return parts


@pytest.mark.parametrize("max_rows", [1, 3, 1000])
@pytest.mark.parametrize("max_cells", [1, 10**6])
def test_scores_do_not_depend_on_slices(max_rows: int, max_cells: int) -> None:
    victim = Additive(3)
    outcome = run_one(victim, score_everything(SPACE, 5), max_rows=max_rows, max_cells=max_cells)
    expected = victim.scores(SPACE.render(SPACE.points()))
    assert np.allclose(np.concatenate(outcome.claim), expected)
    assert outcome.cost.queries == SPACE.size
    assert outcome.cost.cached == 0


def test_many_searches_at_once_give_what_each_gives_alone() -> None:
    victim = Additive(1)
    rng = np.random.default_rng(0)
    spaces = [random_space(rng) for _ in range(50)]
    tasks = [Task(key, space, Goal(1), score_everything(space, 4)) for key, space in enumerate(spaces)]
    outcomes = {outcome.key: outcome for outcome in Engine(victim, width=7, max_rows=11).run(iter(tasks))}
    assert sorted(outcomes) == list(range(50))
    for key, space in enumerate(spaces):
        expected = victim.scores(space.render(space.points()))
        assert np.allclose(np.concatenate(outcomes[key].claim), expected)


def test_repeats_are_answered_from_memory_and_counted_apart() -> None:
    def search() -> Search[FloatArray]:
        first = yield SPACE.singles()
        again = yield np.concatenate([SPACE.points(0, 3), SPACE.points(0, 3)])
        yield SPACE.singles(positions=[0])
        assert np.allclose(again[0:3], again[3:6])
        return first

    victim = Additive()
    outcome = run_one(victim, search())
    # 6 singles are new; of points 0, 1, 2 only the original is; the rest is remembered
    assert (outcome.cost.queries, outcome.cost.cached, outcome.cost.logical) == (7, 7, 14)
    assert len(victim.asked) == 7


def test_fresh_points_are_not_remembered() -> None:
    def search() -> Search[None]:
        for _ in range(3):
            yield Fresh(SPACE.singles())

    assert run_one(Additive(), search()).cost.queries == 18


@pytest.mark.parametrize("budget", range(1, 15))
def test_budgets_are_exact(budget: int) -> None:
    victim = Additive(5)
    outcome = run_one(victim, score_everything(SPACE, 4), limits=Limits(max_queries=budget), max_rows=3)
    assert outcome.cost.queries == len(victim.asked) == min(budget, SPACE.size)
    assert (outcome.claim is None) == (budget <= SPACE.size)
    assert ("budget of" in outcome.stopped) == (budget <= SPACE.size)


class Sloped(Additive):
    """Has gradients, of a kind."""

    has_gradients = True

    def sensitivity(self, bound: Bound, request: Sensitivity) -> FloatArray:
        self.asked.extend(bound.space.render(request.points))
        return np.ones(request.points.shape)

    def first_order(self, bound: Bound, request: FirstOrder) -> FloatArray:
        self.asked.extend(bound.space.render(request.points))
        return np.ones((len(request.points), len(bound.space.singles())))


@pytest.mark.parametrize("budget", range(1, 6))
@pytest.mark.parametrize(("kind", "columns"), [(Sensitivity, 4), (FirstOrder, 6)])
def test_gradients_are_paid_for(budget: int, kind: type[Sensitivity | FirstOrder], columns: int) -> None:
    def search() -> Search[str]:
        for rows in (1, 2):
            yield SPACE.points(rows, 2 * rows)
            found = yield kind(SPACE.points(0, rows), 1)
            assert found.shape == (rows, columns)
        return "all"

    victim = Sloped(5)
    outcome = run_one(victim, search(), limits=Limits(max_queries=budget))
    assert outcome.cost.queries == len(victim.asked) <= budget
    assert (outcome.claim, outcome.stopped) == (None, f"budget of {budget} queries used up")
    assert run_one(Sloped(5), search(), limits=Limits(max_queries=6)).claim == "all"


def test_gradients_of_many_texts_are_asked_for_together_but_not_without_end() -> None:
    class Wide(Sloped):
        calls: ClassVar[list[list[int]]] = []

        def gradients(self, jobs: Sequence[GradientJob]) -> list[FloatArray]:
            self.calls.append([request.points.size for _, request in jobs])
            return super().gradients(jobs)

    def search(space: Space, rows: int) -> Search[str]:
        found = yield FirstOrder(np.zeros((rows, space.n), np.int32), 1)
        assert found.shape == (rows, 1)
        return "all"

    spaces = [Space("w0 " + "a " * 999, [["x"], *[[]] * 999]) for _ in range(20)]
    rows = [20, *[3] * 19]  # the first alone is more than fits
    tasks = [Task(key, space, Goal(1), search(space, rows[key])) for key, space in enumerate(spaces)]
    assert {outcome.claim for outcome in Engine(Wide()).run(tasks)} == {"all"}
    assert Wide.calls == [[20_000], *[[3000] * 5] * 3, [3000] * 4]


def test_a_spent_search_may_return_what_it_has() -> None:
    def search() -> Search[str]:
        try:
            yield SPACE.points()
        except Spent as spent:
            return f"half: {spent.reason}"
        return "all"

    outcome = run_one(Additive(), search(), limits=Limits(max_queries=2))
    assert outcome.claim == "half: budget of 2 queries used up"


def test_a_spent_search_may_not_ask_again() -> None:
    def search() -> Search[None]:
        try:
            yield SPACE.points()
        except Spent:
            yield SPACE.points()

    with pytest.raises(RuntimeError, match="it asked again"):
        run_one(Additive(), search(), limits=Limits(max_queries=2))


def test_time_limit() -> None:
    def search() -> Search[None]:
        while True:
            yield Fresh(SPACE.singles())

    outcome = run_one(Additive(), search(), limits=Limits(time_limit=0.05))
    assert outcome.stopped == "time limit of 0.05 s reached"
    assert outcome.cost.seconds >= 0.05


def test_a_time_limit_leaves_time_for_the_text_itself() -> None:
    def search() -> Search[int]:
        scores = yield SPACE.origin[None]
        yield SPACE.singles()
        return len(scores)

    outcome = run_one(Additive(), search(), limits=Limits(time_limit=1e-9))
    assert (outcome.cost.queries, outcome.stopped) == (1, "time limit of 1e-09 s reached")


@pytest.mark.parametrize("budget", [1, None])
def test_the_seconds_of_the_last_call_count(budget: int | None) -> None:
    class Slow(Additive):
        def score(self, jobs: Sequence[Job]) -> list[FloatArray]:
            time.sleep(0.05)
            return super().score(jobs)

    def search() -> Search[None]:
        yield SPACE.origin[None]

    begun = time.perf_counter()
    outcome = run_one(Slow(), search(), limits=Limits(max_queries=budget))
    assert 0.05 <= outcome.cost.seconds <= time.perf_counter() - begun  # and it counts once


def test_a_search_may_say_why_it_gives_up() -> None:
    def search() -> Search[None]:
        yield SPACE.origin[None]
        raise Spent("too steep")

    outcome = run_one(Additive(), search())
    assert (outcome.claim, outcome.stopped, outcome.error) == (None, "too steep", None)


def test_the_best_flip_seen_is_kept_even_if_the_search_is_blind() -> None:
    victim = Additive(2)
    label = int(victim.predict([str(SPACE.original)])[0])
    points = SPACE.points()
    flips = victim.predict(SPACE.render(points)) != label
    assert flips.any(), "choose another seed: this space has no flip"
    outcome = run_one(victim, score_everything(SPACE, 50), label=label)
    assert outcome.best is not None
    assert np.count_nonzero(outcome.best) == np.count_nonzero(points[flips], axis=1).min()


def test_probes_are_scored_but_never_kept_as_flips() -> None:
    def search() -> Search[FloatArray]:
        return (yield Swaps.of(SPACE.origin, np.arange(4), np.full(4, MASKED)))

    victim = Additive(0, bias=-9)  # everything is negative, so everything flips label 1
    outcome = run_one(victim, search(), label=1)
    assert outcome.claim.shape == (4, 2)
    assert outcome.best is None


class Hasty(Additive):
    """Scores bound points wrongly, texts rightly."""

    def bind(self, space: Space) -> Bound:
        return HastyBound(space)

    def score(self, jobs: Sequence[Job]) -> list[FloatArray]:
        return [
            scores[:, ::-1] if isinstance(bound, HastyBound) else scores
            for (bound, _), scores in zip(jobs, super().score(jobs), strict=True)
        ]


class HastyBound(Bound):
    pass


def test_as_text_goes_through_the_text_interface() -> None:
    points = SPACE.points(0, 2)

    def search() -> Search[tuple[FloatArray, FloatArray]]:
        return (yield points), (yield AsText(points))

    bound, text = run_one(Hasty(), search()).claim
    honest = Additive().scores(SPACE.render(points))
    assert np.allclose(text, honest)
    assert np.allclose(bound, honest[:, ::-1])


def test_predicate_is_respected_by_the_best_flip() -> None:
    victim = Additive(0, bias=-9)
    space = Space("a b", [["x"], ["y"]], predicate=lambda texts: np.array(["x" not in text for text in texts]))
    outcome = next(Engine(victim).run([Task(0, space, Goal(1), score_everything(space, 9))]))
    assert space.text(outcome.best) == "a b"
    only_swaps = space.points()[1:]

    def search() -> Search[None]:
        yield only_swaps

    outcome = next(Engine(victim).run([Task(0, space, Goal(1), search())]))
    assert space.text(outcome.best) == "a y"


def test_the_predicate_is_asked_about_many_flips_at_once() -> None:
    calls: list[int] = []

    def only_last(texts: Sequence[Input]) -> np.ndarray:
        calls.append(len(texts))
        return np.array([text == "x99" for text in texts])

    space = Space("a", [[f"x{j}" for j in range(100)]], predicate=only_last)

    def search() -> Search[None]:
        yield space.singles()

    outcome = next(Engine(Additive(0, bias=-9)).run([Task(0, space, Goal(1), search())]))
    assert space.text(outcome.best) == "x99"
    assert len(calls) < 8  # an encoder reads a hundred texts at once in the time of a few single ones


class Picky(Additive):
    """Fails on texts that hold a certain word."""

    def __init__(self, poison: str) -> None:
        super().__init__()
        self.poison = poison

    def scores(self, inputs: Sequence[Input]) -> FloatArray:
        for given in inputs:
            if self.poison in given:
                raise ModelError(f"cannot read {given!r}")
        return super().scores(inputs)


def test_one_text_that_cannot_be_answered_fails_alone() -> None:
    spaces = [Space(f"text{key}", [["x"]]) for key in range(10)]
    tasks = [Task(key, space, Goal(1), score_everything(space, 9)) for key, space in enumerate(spaces)]
    outcomes = {outcome.key: outcome for outcome in Engine(Picky("text4")).run(tasks)}
    failed = [key for key, outcome in outcomes.items() if outcome.error is not None]
    assert failed == [4]
    assert "cannot read 'text4'" in str(outcomes[4].error)


@pytest.mark.parametrize("width", [40, 256])
def test_bad_texts_at_the_front_do_not_stop_the_run(width: int) -> None:
    spaces = [Space(f"{'bad' if key < 30 else 'good'} text{key}", [["x"], []]) for key in range(60)]
    tasks = [Task(key, space, Goal(1), score_everything(space, 9)) for key, space in enumerate(spaces)]
    outcomes = list(Engine(Picky("bad"), width=width).run(tasks))
    assert sorted(outcome.key for outcome in outcomes if outcome.error is not None) == list(range(30))


def test_a_victim_that_is_down_is_not_asked_for_ever() -> None:
    victim = Picky("text")
    asked: list[Input] = []

    def scores(inputs: Sequence[Input]) -> FloatArray:
        asked.append(inputs[0])
        raise ModelError("no answer")

    victim.scores = scores  # type: ignore[method-assign]
    spaces = [Space(f"text{key}", [["x"]]) for key in range(200)]
    tasks = [Task(key, space, Goal(1), score_everything(space, 9)) for key, space in enumerate(spaces)]
    with pytest.raises(ModelError, match="no answer"):
        list(Engine(victim).run(tasks))
    assert len(asked) == 9  # all at once, then eight of them alone


def test_a_text_that_cannot_be_bound_fails_alone() -> None:
    class Deaf(Additive):
        def bind(self, space: Space) -> Bound:
            if "text3" in str(space.original):
                raise ModelError("cannot bind")
            return super().bind(space)

    spaces = [Space(f"text{key}", [["x"]]) for key in range(6)]
    tasks = [Task(key, space, Goal(1), score_everything(space, 9)) for key, space in enumerate(spaces)]
    failed = [outcome for outcome in Engine(Deaf()).run(tasks) if outcome.error is not None]
    assert [(outcome.key, str(outcome.error)) for outcome in failed] == [(3, "cannot bind")]


def test_a_victim_that_answers_nothing_stops_the_run() -> None:
    spaces = [Space(f"text{key}", [["x"]]) for key in range(10)]
    tasks = [Task(key, space, Goal(1), score_everything(space, 9)) for key, space in enumerate(spaces)]
    with pytest.raises(ModelError, match="cannot read"):
        list(Engine(Picky("text")).run(tasks))


def test_searches_that_ask_nothing_end_at_once() -> None:
    def nothing() -> Search[str]:
        return "done"
        yield

    tasks = (Task(key, SPACE, Goal(1), nothing()) for key in range(200))
    assert [outcome.claim for outcome in Engine(Additive(), width=3).run(tasks)] == ["done"] * 200


def test_empty_requests_are_answered() -> None:
    def search() -> Search[tuple[int, ...]]:
        scores = yield SPACE.singles(positions=[])
        fresh = yield Fresh(np.empty((0, 4), np.int32))
        return scores.shape + fresh.shape

    assert run_one(Additive(), search()).claim == (0, 2, 0, 2)


def test_clock_splits_model_and_python() -> None:
    engine = Engine(Additive())
    list(engine.run([Task(0, SPACE, Goal(1), score_everything(SPACE, 2))]))
    assert engine.clock.model > 0
    assert engine.clock.python > 0
