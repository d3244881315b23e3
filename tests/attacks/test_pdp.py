"""PDP against a straightforward reading of Algorithm 1, and what look-ahead, limit and target do."""

import numpy as np
import pytest

import lexproof as lp
from lexproof.attacks.beam import Beam
from lexproof.attacks.pdp import Pdp, _draw
from lexproof.goal import Goal
from lexproof.points import FloatArray, Sensitivity, dense
from lexproof.search import Seed
from lexproof.space import Space
from toys import Additive, brute_minimum, random_space


class Table(Additive):
    """Two classes; the second one's score is the sum of what each word adds, read off a table."""

    def __init__(self, bias: float, **weights: float) -> None:
        super().__init__()
        self.weights, self.bias = weights, bias

    def scores(self, inputs):  # type: ignore[no-untyped-def]
        self.asked.extend(inputs)
        positive = np.array([self.bias + sum(self.weights.get(word, 0.0) for word in text.split()) for text in inputs])
        return np.stack([1 - positive, positive], axis=1)


def literal_pdp(victim: Additive, space: Space, label: int, beam: int) -> int | None:
    """Algorithm 1 word for word, all texts drawn for the look-ahead; the number of swaps of its result."""

    def harm(point: tuple[int, ...]) -> float:
        return float(1 - victim.scores([space.text(np.array(point))])[0, label])

    texts = [tuple(space.origin.tolist())]
    waiting = space.open.tolist()
    while waiting:
        texts = sorted(texts, key=lambda text: -harm(text))[:beam]
        best = max(
            waiting,
            key=lambda p: max(harm((*x[:p], w, *x[p + 1 :])) for x in texts for w in range(1, int(space.sizes[p]) + 1)),
        )
        texts = [(*x[:best], w, *x[best + 1 :]) for x in texts for w in range(int(space.sizes[best]) + 1)]
        waiting.remove(best)
        counts = [np.count_nonzero(x) for x in texts if harm(x) > 0.5 and np.count_nonzero(x) <= space.max_swaps]
        if counts:
            return int(min(counts))
    return None


@pytest.mark.parametrize("beam", [1, 3, 50])
def test_it_is_algorithm_1(beam: int) -> None:
    victim = Additive(7, quadratic=0.6)
    rng = np.random.default_rng(beam)
    found = 0
    for _ in range(40):
        space = random_space(rng, words=6, options=3)
        label = int(victim.predict([str(space.original)])[0])
        wanted = literal_pdp(victim, space, label, beam)
        answer = lp.find(victim, space, label, attack=Pdp(beam=beam, samples=10_000))
        assert (answer.swaps if isinstance(answer, lp.Broken) else None) == wanted
        found += wanted is not None
    assert found > 5


def test_a_beam_that_forgets_nothing_finds_a_flip_wherever_there_is_one() -> None:
    victim = Additive(2, quadratic=0.6)
    rng = np.random.default_rng(0)
    for _ in range(40):
        space = random_space(rng, words=5, options=2)
        label = int(victim.predict([str(space.original)])[0])
        answer = lp.find(victim, space, label, attack=Pdp(beam=10_000))
        assert isinstance(answer, lp.Broken) == (brute_minimum(victim, space, label) is not None)


def test_look_ahead_takes_the_position_that_helps_most() -> None:
    victim = Table(0.9, small=-0.1, large=-0.3)
    space = Space("a b", [["small"], ["large"]])
    search = Pdp()(space, Goal(1), Seed(0))
    search.send(None)
    first = search.send(victim.scores(["a b"]))
    assert sorted(map(tuple, dense(first).tolist())) == [(0, 1), (1, 0)]  # type: ignore[arg-type]
    second = search.send(victim.scores(space.render(first)))  # type: ignore[arg-type]
    assert sorted(map(tuple, dense(second).tolist())) == [(0, 0), (0, 1)]  # type: ignore[arg-type]


def test_the_word_itself_stays_so_that_a_detour_costs_no_swap() -> None:
    # b looks best alone, but only a and c together flip: texts without a swap at b must have survived
    def scores(texts: list[str]) -> FloatArray:
        values = {"x b c": 0.8, "a y c": 0.55, "a b z": 0.85, "x b z": 0.2, "x y c": 0.55, "a y z": 0.55, "x y z": 0.55}
        positive = np.array([values.get(text, 0.9) for text in texts])
        return np.stack([1 - positive, positive], axis=1)

    victim = lp.BlackBox(scores, ["no", "yes"])
    space = Space("a b c", [["x"], ["y"], ["z"]])
    answer = lp.find(victim, space, 1, attack="pdp")
    assert isinstance(answer, lp.Broken)
    assert answer.witness == "x b z"


def test_targeted_goals() -> None:
    rng = np.random.default_rng(3)

    def scores(texts: list[str]) -> FloatArray:
        votes = {"up": (0, 0.2, 0.5), "down": (0, 0.6, 0.0)}
        total = np.array([np.sum([(0.5, 0, 0), *(votes.get(w, (0, 0, 0)) for w in t.split())], axis=0) for t in texts])
        return total

    victim = lp.BlackBox(scores, ["a", "b", "c"])
    space = Space("one two", [["down", "up"], ["down", "up"]])
    answer = lp.find(victim, space, 0, target=2, attack="pdp", seed=int(rng.integers(9)))
    assert isinstance(answer, lp.Broken)
    assert answer.witness_predicted == 2
    assert answer.swaps == 2


def test_the_white_box_variant_asks_for_gradients_of_the_drawn_texts() -> None:
    space = Space("a b", [["x"], ["y"]])
    search = Pdp(look="gradient")(space, Goal(0, target=1), Seed(0))
    search.send(None)
    request = search.send(np.array([[0.9, 0.1]]))
    assert isinstance(request, Sensitivity)
    assert request.label == 1
    product = search.send(np.array([[0.1, 0.7]]))
    assert sorted(map(tuple, dense(product).tolist())) == [(0, 0), (0, 1)]  # type: ignore[arg-type]


def test_gradients_are_refused_before_the_search_where_there_are_none() -> None:
    with pytest.raises(lp.InputError, match=r"attack 'pdp\?variant=white-box' needs gradients"):
        lp.find(Additive(), Space("w0", [["w0s0"]]), 1, attack="pdp?variant=white-box")


def test_texts_are_drawn_in_proportion_to_their_score() -> None:
    progress = np.array([0.1, 0.3, 0.6])
    drawn = np.array([_draw(np.random.default_rng(seed), progress, 1)[0] for seed in range(4000)])
    assert np.abs(np.bincount(drawn) / 4000 - progress).max() < 0.03
    assert sorted(_draw(np.random.default_rng(0), progress, 3)) == [0, 1, 2]
    below = _draw(np.random.default_rng(0), np.array([-3.0, -1.0, -2.0]), 2)  # logits may be negative
    assert len(set(below.tolist())) == 2


@pytest.mark.parametrize("attack", [Pdp, Beam])
def test_settings_are_checked(attack: type[Pdp] | type[Beam]) -> None:
    with pytest.raises(lp.InputError, match=r"expected (beam|width) >= 1"):
        attack(**{"beam" if attack is Pdp else "width": 0})
