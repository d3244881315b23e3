"""From a victim and a space to what the provers work on: a program of operations, or a network with an exact solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lexproof.errors import NoRule
from lexproof.goal import Goal
from lexproof.space import Space
from lexproof.victims.base import Victim

if TYPE_CHECKING:
    from lexproof.bounds.program import Program

_WORD_MODELS = ("mlp", "cnn", "lstm", "bilstm")


def is_network(victim: Victim) -> bool:
    """Whether a victim shows its operations."""
    return victim.kind in _WORD_MODELS or victim.kind == "transformer"


def program_of(victim: Victim, space: Space) -> Program:
    """The operations of the victim over the swaps of a space; NoRule names what has no rule."""
    if victim.kind in _WORD_MODELS:
        from lexproof.victims.word_candidates import token_candidates
        from lexproof.victims.word_program import word_program
        from lexproof.victims.words import WordVictim

        assert isinstance(victim, WordVictim)
        return word_program(victim.net, [token_candidates(victim.bind(space))], space.max_swaps)
    if victim.kind == "transformer":
        from lexproof.victims.transformer import Transformer
        from lexproof.victims.transformer_program import transformer_program

        assert isinstance(victim, Transformer)
        return transformer_program(victim, space)
    raise NoRule(f"no bound rule for a {victim.kind!r} victim: it does not show its operations")


def rivals(goal: Goal, classes: int) -> list[int]:
    """The classes that must not overtake the label: all others, or the target.

    Keeping the label above the target keeps the target from being predicted; with more than two classes that is enough,
    not necessary.
    """
    return [k for k in range(classes) if k != goal.label] if goal.target is None else [goal.target]


def threshold(goal: Goal) -> float:
    """What a margin of logits must exceed: twice the rounding of a margin of scores, which the softmax halves."""
    return 2.0 * goal.slack


def form_of(goal: Goal, classes: int) -> Any:
    """The margins as forms of the logits: (K, classes)."""
    from lexproof.bounds.backward import margins

    return margins(classes, goal.label, rivals(goal, classes))
