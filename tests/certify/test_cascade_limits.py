"""Limits and reasons of the provers: what is spent is counted once, and what stopped a proof is said."""

import numpy as np
import pytest

import lexproof as lp
from lexproof.certify import cascade
from lexproof.certify.deadline import TimeUp
from lexproof.certify.exact.offered import Exact
from lexproof.certify.ledger import Ledger
from lexproof.certify.lowering import form_of, program_of, threshold
from lexproof.certify.pruned import PrunedBranching
from lexproof.engine import Engine, Limits, Task
from lexproof.goal import Goal
from lexproof.points import FloatArray, Fresh, TimeLeft
from lexproof.search import Search
from lexproof.space import Space
from lexproof.victims.base import Victim
from small_victims import lean, word_space, word_victim


@pytest.fixture
def _bounds_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cascade, "_SMALL", 0)
    monkeypatch.setattr(cascade, "_TEXTS_A_PASS", 0)


def _hard(max_swaps: int) -> tuple[Victim, Space, Goal]:
    """A space that bounds do not settle and that holds no flip."""
    victim = word_victim("cnn-deep", 3, scale=0.8, max_length=12)
    options = [[f"w{(i + j) % 20}" for j in range(1, 4)] for i in range(10)]
    space = Space(" ".join(f"w{i}" for i in range(10)), options, max_swaps)
    label = int(victim.predict([str(space.original)])[0])
    for _ in range(20):
        least = Goal(label).margin(victim.scores(space.render(space.points()))).min()
        if least > 0.05:
            break
        lean(victim, label, 1.0)
    return victim, space, Goal(label, None, victim.rounding)


def test_the_time_left_is_asked_for_before_each_bound() -> None:
    """What passes while other searches are served is not their time: a proof does not depend on what runs beside it."""
    victim, space, goal = _hard(2)
    space = Space(space.original, space.choices, 3)
    program, form = program_of(victim, space), form_of(goal, victim.classes)
    pruned = PrunedBranching(program, form, threshold(goal), max_points=None, max_nodes=None, leaf_points=0)
    search, asked, safe = pruned(space, goal, 3), 0, np.eye(3)[[goal.label]]
    request = next(search)
    with pytest.raises(TimeUp):
        for _ in range(1000):
            if isinstance(request, TimeLeft):
                asked += 1
                request = search.send(np.full((1, 1), np.inf if asked < 2 else -1.0))
            else:
                assert isinstance(request, Fresh)
                request = search.send(np.repeat(safe, len(request.points), axis=0))
    assert asked == 2


@pytest.mark.usefixtures("_bounds_first")
def test_max_points_is_for_the_whole_proof() -> None:
    victim, space, goal = _hard(2)
    spent = {}
    for limit in (None, 450):
        ledger = Ledger()
        provers = cascade.Cascade(victim, ("branch-and-bound", "enumeration"), limit, None, record=False)

        def search(ledger: Ledger = ledger, provers: cascade.Cascade = provers) -> Search[None]:
            yield from cascade.settle_text(space, goal, ledger)
            yield from provers(space, goal, ledger, 2)

        (outcome,) = Engine(victim).run([Task(0, space, goal, search(), Limits())])
        spent[limit] = outcome.cost.queries, ledger.points
    assert spent[None][1] > 450
    assert spent[450][1] <= 450


@pytest.mark.parametrize(
    ("shape", "prover", "reason", "cases"),
    [
        ("lstm", "milp", "no exact solver for a 'lstm' victim", 8),
        ("mlp", "interval", "the provers that were asked did not settle it", 40),
    ],
    ids=["milp of an lstm", "a bound that is too loose"],
)
def test_a_bracket_says_what_is_missing(shape: str, prover: str, reason: str, cases: int) -> None:
    victim, seen = word_victim(shape, 1), 0
    for seed in range(cases):
        space = word_space(seed, words=6, max_swaps=3)
        answer = lp.minimize(victim, space, provers=(prover,))
        is_open = isinstance(answer, lp.Bracket) and answer.lower <= space.max_swaps
        assert not is_open or answer.reason.startswith(reason), seed
        assert is_open or isinstance(answer, lp.Minimum) or not answer.reason
        seen += is_open
    assert seen > 0


def test_the_milp_is_not_asked_what_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    own = Exact.solve

    def solve(self: Exact, method: str, *args: object, **settings: object) -> object:
        asked.append(method)
        return own(self, method, *args, **settings)  # type: ignore[arg-type]

    monkeypatch.setattr(Exact, "solve", solve)
    broken = 0
    for seed in range(10):
        victim, space = word_victim("mlp", seed), word_space(seed + 30, words=4, max_swaps=3)
        answer = lp.prove(victim, space, provers=("branch-and-bound", "milp"))
        broken += isinstance(answer, lp.Broken) and answer.swaps > 0
    assert broken > 1
    assert set(asked) == {"branch-and-bound"}


def test_a_tie_keeps_no_attack_from_the_upper_end() -> None:
    def score(texts: list[str]) -> FloatArray:
        bad = np.array([text.count("bad") for text in texts])
        other = np.choose(np.minimum(bad, 2), [0.1, 0.5, 0.9])
        return np.stack([1 - other, other], axis=1)

    victim = lp.BlackBox(score, labels=["no", "yes"])
    answer = lp.minimize(victim, Space("a b", [["bad"], ["bad"]], 2), 0)
    assert isinstance(answer, lp.Bracket)
    assert (answer.lower, answer.upper, answer.reason) == (1, 2, "a tie within rounding at 1 swap")
