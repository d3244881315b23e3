"""What a run says of a defended victim: that attacker and defender share their substitutes, and only if they do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lexproof.auditing.about import about_victim
from lexproof.candidates import Source, Table
from lexproof.candidates.neighbors import Neighbors
from lexproof.candidates.typos import Typos
from toys import Additive

FILMS, CARS = Table({"film": ["movie"]}), Table({"car": ["auto"]})
WORDS = ["film", "movie", "car"]
VERY = "the defense (ascc) was trained on the very substitutes that are used here"
MUCH = "was trained on substitutes of the same source, "


def neighbors(third: float, k: int = 2) -> Neighbors:
    return Neighbors(WORDS, [[1.0, 0.0], [0.9, 0.1], [third, 1.0]], k=k, floor=0.0)


def said(defender: Source | None, attacker: Source) -> tuple[str, ...]:
    """The caveats about a victim that was trained with the one's substitutes and is attacked with the other's."""
    victim: Any = Additive()
    known = None if defender is None else {**defender.spec, "fingerprint": defender.fingerprint}
    # as a saved model remembers it
    victim.training = json.loads(json.dumps({"defense": {"name": "ascc"}, "synonyms": known}))
    return tuple(about_victim(victim, attacker).get("caveats", ()))


def test_the_very_substitutes() -> None:
    (caveat,) = said(FILMS, Table({"film": ["movie"]}))
    assert caveat.startswith(VERY)


@pytest.mark.parametrize(
    ("defender", "attacker", "name"),
    [
        (neighbors(0.2, k=1), neighbors(0.2, k=2), "neighbors"),
        (FILMS, CARS | FILMS, "table"),  # some of them
        (FILMS | Typos(), FILMS, "table"),
    ],
)
def test_other_settings_of_the_same_source(defender: Source, attacker: Source, name: str) -> None:
    (caveat,) = said(defender, attacker)
    assert MUCH + name + "," in caveat


@pytest.mark.parametrize(
    ("defender", "attacker"),
    [
        (None, FILMS),
        (Typos(), FILMS),
        (FILMS, CARS),  # both are tables, of other words
        (neighbors(0.2), neighbors(-0.2)),  # of other vectors
        (FILMS | Typos(seed=1), CARS | neighbors(0.2)),
    ],
)
def test_nothing_is_said_of_sources_that_share_nothing(defender: Source | None, attacker: Source) -> None:
    assert said(defender, attacker) == ()
