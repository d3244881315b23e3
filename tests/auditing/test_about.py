"""What a run says of a defended victim: that attacker and defender share their substitutes, and only if they do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lexproof.auditing.about import about_victim
from lexproof.candidates import Source, Table
from lexproof.candidates.neighbors import Neighbors
from lexproof.candidates.typos import Typos
from lexproof.victims.smoothed import RanMask
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


def test_a_model_that_went_on_from_a_defended_one_tells_of_it() -> None:
    victim: Any = Additive()
    known = {**FILMS.spec, "fingerprint": FILMS.fingerprint}
    first = {"fingerprint": "1", "defense": {"name": "ascc"}, "synonyms": known}
    victim.training = {"defense": {"name": "rand"}, "synonyms": None, "start": {"fingerprint": "2", "start": first}}
    told = about_victim(victim, FILMS)
    assert told["defense"] == {"name": "rand"} and told["earlier_defenses"] == [{"name": "ascc"}]
    (caveat,) = told["caveats"]
    assert caveat.startswith(VERY)


def test_a_smoothed_model_tells_the_settings_that_it_is_loaded_with() -> None:
    base: Any = Additive()
    base.training = {"defense": {"name": "ranmask", "samples": 7, "ensemble": "logit", "rate": 0.5}}
    told = about_victim(RanMask(base, samples=3, ensemble="vote", rate=0.5))
    assert told["defense"] == {"name": "ranmask", "samples": 3, "ensemble": "vote", "rate": 0.5}


def test_the_base_of_a_smoothed_model_has_not_its_defense() -> None:
    base: Any = Additive()
    base.training = {"defense": {"name": "ranmask", "samples": 7}}
    told = about_victim(base)
    assert "defense" not in told
    (caveat,) = told["caveats"]
    assert caveat.startswith("this is the base of a smoothed model (ranmask)")


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
