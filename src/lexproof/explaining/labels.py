"""The label to explain, by name or number."""

from __future__ import annotations

import operator

from lexproof.errors import InputError
from lexproof.goal import Goal
from lexproof.victims.base import Victim


def label_number(given: int | str, victim: Victim) -> int:
    """The number of a label of the victim; InputError for one that it does not have."""
    if isinstance(given, str) and given in victim.labels:
        return victim.labels.index(given)
    try:
        number = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        names = ", ".join(victim.labels)
        raise InputError(f"expected a label out of {names} or its number, got {given!r}") from None
    Goal(number).check(victim.classes)
    return number
