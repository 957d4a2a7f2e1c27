"""A list that is too short for the rates of clients to be compared: its end is most of the trial."""

from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.judge.validity.stretch import LEAST_TURNS
from httpdyno.model import Subject, counted

__all__ = ["ShortList", "find_short"]


@dataclass(frozen=True, slots=True)
class ShortList:
    """A list, and who has too many requests in flight for it."""

    urls: int
    in_flight: int
    who: str
    """The subject whose own concurrency that is; empty where one concurrency is asked of all."""

    def __str__(self) -> str:
        whose = f" ({self.who})" if self.who else ""
        few = "1 URL is" if self.urls == 1 else f"{self.urls:,} URLs are"
        return f"{few} too few for {self.in_flight:,} in flight{whose}: a rate needs {self.needed:,}"

    @property
    def needed(self) -> int:
        """How many URLs it takes."""
        return LEAST_TURNS * self.in_flight

    @property
    def remark(self) -> str:
        """Return what to tell whoever looks at one client."""
        return f"no rate is given of {counted(self.urls, 'URL')}; it needs {self.needed:,}"

    def refusal(self, source: str | None) -> str:
        """Return what is wrong, and what to do; ``source`` is the list that was given whole."""
        where = "--limit" if source is None else f"--urls {source}"
        possible = self.urls // LEAST_TURNS
        instead = f", or a --concurrency of {possible:,} or less" if possible else ""
        return f"{where}: {self}; give so many{instead}"


def find_short(urls: int, concurrency: int | None, subjects: Sequence[Subject]) -> ShortList | None:
    """Return what is wrong with so many URLs where some client has too many requests in flight for them.

    ``concurrency`` is what is asked of all; None: each subject's own.
    """
    if concurrency is not None:
        short = ShortList(urls, concurrency, "")
    else:
        widest = max(subjects, key=lambda subject: subject.concurrency)
        short = ShortList(urls, widest.concurrency, widest.id)
    return short if urls < short.needed else None
