"""How much time a client is given where faults that never end and honest answers are told apart by it."""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

__all__ = ["DELAYS_MS", "OTHER_TIMEOUTS_S", "TIMEOUTS_S", "first_done"]

TIMEOUTS_S: Final = (2.0, 6.0, 20.0, 60.0)
"""Request timeouts, one attempt after the other.

Stalls never end: a longer timeout tells the same faults apart, only later. A correct client is right as soon as its
machine leaves it the time for the honest answers; one that is wrong is wrong with each of them.
"""
OTHER_TIMEOUTS_S: Final = (3.5, 9.5, 31.5, 95.5)
"""Those of another crawl, so far from each of the first and from whole seconds that no constant is right with both."""
DELAYS_MS: Final = (300, 2_000, 10_000)
"""How long answers are held back, alike: so long that requests which are meant to be in flight together are."""

Time = TypeVar("Time")
Tried = TypeVar("Tried")


def first_done(times: Iterable[Time], attempt: Callable[[Time], Tried], is_done: Callable[[Tried], bool]) -> Tried:
    """Try with more and more time; return the first attempt that more would not change, or else the last."""
    for time in times:
        tried = attempt(time)
        if is_done(tried):
            break
    return tried
