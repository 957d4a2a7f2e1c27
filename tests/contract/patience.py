"""How long faults are given: as little as tells them apart, and more for a client out of processor time."""

from collections.abc import Callable, Sized
from typing import Protocol, TypeVar

TIMEOUTS_S = (1.0, 2.0, 4.0, 8.0, 16.0)
"""One attempt after the other. Stalls never end: a longer timeout tells the same faults apart, only later."""


class Tried(Protocol):
    """What has to be known of a crawl."""

    @property
    def wrong(self) -> Sized:
        """The samples at fault."""

    @property
    def starved(self) -> bool:
        """Whether want of processor time is a reason for them."""


T = TypeVar("T", bound=Tried)


def tried_with_patience(crawl: Callable[[float], T]) -> T:
    """Crawl with the shortest timeout, and with a longer one where the client went wrong for want of processor time.

    That honest answers are quick is true only of a client that has a processor. What starts cold may need all of it for
    its first seconds, others may take it away, and the same second would be too short as often as it is tried.
    """
    for timeout_s in TIMEOUTS_S:
        tried = crawl(timeout_s)
        if not (tried.wrong and tried.starved):
            break
    return tried
