"""What a trial is asked to do: the workload, the link and the place of the trial in its run."""

import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.model.subject import Subject
from httpdyno.model.units import format_exact

__all__ = ["LIVE", "Condition", "Link", "TrialPlan", "Workload"]

LIVE: Final = "live"
"""Name of the real internet among the webs."""

_NO_TEXT: Final = frozenset({"Cc", "Cs"})
"""Unicode's control characters, and bytes that are no UTF-8, which Python holds as lone surrogates."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What a client is given: its URLs and the settings of the client contract.

    Raises
    ------
    InvalidValue
        If the timeout is not positive, or the user agent is more than one line of text.
    """

    urls: tuple[str, ...] | Path
    """The URLs themselves, or a file with one URL a line."""
    timeout_s: float = 5.0
    user_agent: str = ""
    """Empty: the client's own."""
    keepalive: bool = True
    check: str = ""
    http_version: str = ""
    """Empty: the client's default."""

    def __post_init__(self) -> None:
        """Refuse a timeout that no request can meet, and a user agent that no request can carry."""
        if not self.timeout_s > 0:
            raise InvalidValue(f"timeout must be more than 0 seconds, not {self.timeout_s}")
        if any(unicodedata.category(character) in _NO_TEXT for character in self.user_agent):
            raise InvalidValue(
                f"user agent {self.user_agent[:60]!r}: no header can carry it; leave out control characters"
            )

    def environment(self, concurrency: int) -> dict[str, str]:
        """Give the environment variables that carry the workload to a client (``subjects/CONTRACT.md``)."""
        variables = {
            "CONCURRENCY": str(concurrency),
            "REQUEST_TIMEOUT": format_exact(self.timeout_s),
            "KEEPALIVE": "1" if self.keepalive else "0",
            "CHECK": self.check,
            "HTTP_VERSION": self.http_version,
        }
        if self.user_agent:
            variables["USER_AGENT"] = self.user_agent
        return variables


@dataclass(frozen=True, slots=True)
class Link:
    """The path between subject and peer; the default is a direct one that adds nothing.

    Raises
    ------
    InvalidValue
        If the round-trip time is negative, the rate is not positive, or the loss is not within 0 and 1.
    """

    round_trip_ns: int = 0
    rate_bits_per_s: int | None = None
    loss: float = 0.0
    """Share of packets that are lost, 0 to 1."""

    def __post_init__(self) -> None:
        """Refuse a link that cannot exist."""
        if self.round_trip_ns < 0:
            raise InvalidValue(f"link: the round-trip time cannot be negative: {self.round_trip_ns} ns")
        if self.rate_bits_per_s is not None and self.rate_bits_per_s <= 0:
            raise InvalidValue(f"link: the rate must be positive: {self.rate_bits_per_s} bit/s")
        if not 0 <= self.loss <= 1:
            raise InvalidValue(f"link: the loss must be within 0 and 1: {self.loss}")

    @property
    def direct(self) -> bool:
        """Whether the link adds no delay, no limit and no loss."""
        return self.round_trip_ns == 0 and self.rate_bits_per_s is None and self.loss == 0

    def __str__(self) -> str:
        """Write the link as the command line and the records do: ``rtt=40ms,rate=1000000bit,loss=0.1%``."""
        parts = [f"rtt={format_exact(self.round_trip_ns / 1e6)}ms"] if self.round_trip_ns else []
        if self.rate_bits_per_s is not None:
            parts.append(f"rate={self.rate_bits_per_s}bit")
        if self.loss:
            parts.append(f"loss={self.loss * 100:g}%")
        return ",".join(parts) or "direct"


@dataclass(frozen=True, slots=True)
class Condition:
    """One point of an experiment's grid.

    Raises
    ------
    InvalidValue
        If the deadline is not positive, or a host may be asked for nothing at all.
    """

    experiment: str
    web: str
    """Name of a built-in web, the path of a model, or ``live``."""
    workload: Workload
    seed: int = 1
    concurrency: int | None = None
    """None: each subject's own."""
    link: Link = field(default_factory=Link)
    deadline_s: float = 600.0
    memory_bytes: int | None = None
    rate_per_s: float | None = None
    """Open loop: URLs a second. None: closed loop."""
    per_host: int = 1
    """How many URLs of one host may be in flight on the real internet; a web of ours is not limited."""
    per_host_interval_s: float = 0.0
    """The least time between two URLs of one host there."""
    name: str = ""
    """Names the point among the others of its grid; empty when there is one only."""

    def __post_init__(self) -> None:
        """Refuse a deadline before which nothing can happen."""
        if not self.deadline_s > 0:
            raise InvalidValue(f"duration must be more than 0 seconds, not {self.deadline_s}")
        if self.per_host < 1 or not self.per_host_interval_s >= 0:
            raise InvalidValue(f"a host cannot be asked for {self.per_host} URLs every {self.per_host_interval_s} s")

    @property
    def live(self) -> bool:
        """Whether the web is the real internet, where no answer can be verified."""
        return self.web == LIVE


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """A trial that is to be run: which subject under which condition, and its place in the run.

    Trials of one block share what the machine was like at that time, so that comparisons within a block are paired.
    """

    number: int
    """Counts the trials of a run from 0."""
    block: int
    position: int
    """Place within the block, from 0."""
    subject: Subject
    condition: Condition
    why: str = ""
    """Why it is made, where that depends on the trials before it; empty for one of a list."""

    @property
    def concurrency(self) -> int:
        """The condition's, else the subject's own."""
        return self.subject.concurrency if self.condition.concurrency is None else self.condition.concurrency
