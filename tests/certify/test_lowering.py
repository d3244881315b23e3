"""From a victim, a space and a goal to what the provers work on."""

import numpy as np
import pytest

import lexproof as lp
from lexproof.certify.lowering import form_of, is_network, program_of, rivals, threshold
from lexproof.errors import NoRule
from lexproof.goal import Goal
from lexproof.space import Space
from small_victims import SHAPES, word_space, word_victim
from toys import Additive


def test_every_rival_or_the_target() -> None:
    assert rivals(Goal(1), 4) == [0, 2, 3]
    assert rivals(Goal(1, 3), 4) == [3]
    assert form_of(Goal(1), 3).tolist() == [[-1.0, 1.0, 0.0], [0.0, 1.0, -1.0]]
    assert form_of(Goal(2, 0), 3).tolist() == [[-1.0, 0.0, 1.0]]


@pytest.mark.parametrize("classes", [2, 3, 7])
def test_a_margin_of_logits_above_the_threshold_is_one_of_scores_above_half_the_rounding(classes: int) -> None:
    """The threshold leaves a margin of logits of twice the rounding: more than floating point moves a difference by."""
    goal = Goal(0, None, 1e-4)
    assert threshold(goal) == 2e-4
    rng = np.random.default_rng(classes)
    for _ in range(50):
        logits = rng.normal(size=classes)
        logits[0] = logits[1:].max() + threshold(goal)
        powers = np.exp(logits)
        assert goal.strict.margin(powers[None] / powers.sum())[0] > 0


@pytest.mark.parametrize("shape", SHAPES)
def test_networks_show_their_operations(shape: str) -> None:
    victim = word_victim(shape, 0)
    assert is_network(victim)
    space = word_space(4, max_swaps=2)
    program = program_of(victim, space)
    assert program.region.budget.tolist() == [2]
    assert program.budgeted(5).region.budget.tolist() == [5]
    assert program.graph.nodes[-1].op.is_linear


def test_other_victims_do_not() -> None:
    victim = lp.BlackBox(lambda texts: Additive(3).scores(texts), labels=["no", "yes"])
    assert not is_network(victim)
    with pytest.raises(NoRule, match="no bound rule for a 'blackbox' victim: it does not show its operations"):
        program_of(victim, Space("a b", [["c"], []]))
