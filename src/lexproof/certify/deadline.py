"""Ending long work in time: work is handed a check that it calls now and then, and that raises when time is up."""

from __future__ import annotations

import time
from collections.abc import Callable

from lexproof.points import FloatArray

Check = Callable[[], None]


class TimeUp(Exception):
    """Raised within long work whose time is up."""


def deadline(left: FloatArray) -> Check:
    """A function that raises TimeUp once so many seconds have passed; `left` is what `TimeLeft` is answered with.

    Of use up to the next request: a search's own clock stands still while others are served.
    """
    end = time.perf_counter() + float(left[0, 0])

    def check() -> None:
        if time.perf_counter() > end:
            raise TimeUp

    return check
