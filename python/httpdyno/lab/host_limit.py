"""Which URLs of a list may be asked for now, when no host is to be asked too much at once: pure, without a clock."""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from httpdyno.errors import InvalidValue

__all__ = ["HOSTS_COUNTED", "LOOKAHEAD", "HostLimit", "count_hosts", "host_of"]

LOOKAHEAD: Final = 100_000
"""How many lines are held back at most while a line further down is looked for."""
HOSTS_COUNTED: Final = 1_000_000
"""More hosts than these are not counted: a list may have ten times as many, and nobody decides otherwise for it."""
_AUTHORITY: Final = re.compile(
    rb"https?://(?:[^/?#\\@]*@)*(\[[^\]/?#\\]*\]|[^:/?#\\@]+)(?::[0-9]*)?(?=[/?#\\]|$)", re.I
)


def host_of(url: bytes) -> bytes | None:
    """Name the host that a URL belongs to, as far as a limit is concerned.

    Names are compared without their case, the dot of the root and a first ``www.``: example.org and www.example.org are
    one site, and mostly one machine. Ports are left out for the same reason.

    Returns
    -------
    bytes or None
        None for a line that is no http or https URL: no request comes of it.
    """
    found = _AUTHORITY.match(url.strip())
    if found is None:
        return None
    return found[1].lower().removesuffix(b".").removeprefix(b"www.") or None


def count_hosts(urls: Iterable[bytes]) -> int:
    """Count the hosts of a list, as the limit tells them apart; ``HOSTS_COUNTED`` at most."""
    hosts: set[bytes] = set()
    for url in urls:
        host = host_of(url)
        if host is not None:
            hosts.add(host)
            if len(hosts) >= HOSTS_COUNTED:
                break
    return len(hosts)


@dataclass(slots=True)
class _Host:
    """What is known of one host."""

    in_flight: int = 0
    free_at_ns: int = 0
    """The earliest moment of its next URL."""
    held: deque[tuple[int, bytes]] = field(default_factory=deque)
    """Its URLs that wait, each with its place in the list."""
    queued: bool = False
    """Whether it stands in one of the queues, to be asked when its time has come."""


class HostLimit:
    """Gives the URLs of a list one after the other, and holds back those whose host has enough to do.

    The list keeps its order, but for URLs that are held back: they go on as soon as their host is free. What is handed
    out counts as in flight until its answer is told, however long that takes.

    Parameters
    ----------
    lines : iterable of bytes
        The list, without line ends; read only as far as is needed.
    per_host : int
        How many URLs of one host may be in flight, 1 or more.
    interval_ns : int
        The least time between two URLs of one host, in nanoseconds.

    Raises
    ------
    InvalidValue
        If ``per_host`` is below 1, or the interval is negative.
    """

    def __init__(self, lines: Iterable[bytes], *, per_host: int = 1, interval_ns: int = 0) -> None:
        if per_host < 1:
            raise InvalidValue(f"per host: at least 1 URL at a time, not {per_host}")
        if interval_ns < 0:
            raise InvalidValue(f"per host: the interval cannot be negative: {interval_ns} ns")
        self._lines: Iterator[tuple[int, bytes]] = enumerate(lines)
        self._read = False
        self._per_host = per_host
        self._interval_ns = interval_ns
        self._hosts: dict[bytes, _Host] = {}
        self._held = 0
        self._outstanding: dict[bytes, int] = {}
        self._in_flight = 0
        # Hosts with URLs that wait and none too many in flight: those whose time has not come, and those that may go.
        self._later: list[tuple[int, bytes]] = []
        self._ready: list[tuple[int, bytes]] = []
        # Hosts that are remembered for the sake of their interval alone.
        self._resting: deque[tuple[int, bytes]] = deque()

    @property
    def held(self) -> int:
        """How many URLs were read and wait for their host."""
        return self._held

    @property
    def in_flight(self) -> int:
        """How many URLs were handed out and not answered."""
        return self._in_flight

    @property
    def finished(self) -> bool:
        """Whether every URL was handed out, as far as ``take`` has found out."""
        return self._read and self._held == 0

    @property
    def next_at_ns(self) -> int | None:
        """When an interval ends for which a URL waits; None when URLs wait for answers only, or none waits."""
        if self._ready:
            return 0
        return self._later[0][0] if self._later else None

    def take(self, now_ns: int) -> bytes | None:
        """Return the next URL that may be asked for, and count it as in flight.

        Parameters
        ----------
        now_ns : int
            Of a clock that never jumps back.

        Returns
        -------
        bytes or None
            None when all have been handed out, or those that are left have to wait.
        """
        self._forget_rested(now_ns)
        while self._later and self._later[0][0] <= now_ns:
            _, name = heappop(self._later)
            heappush(self._ready, (self._hosts[name].held[0][0], name))
        if self._ready:
            _, name = heappop(self._ready)
            host = self._hosts[name]
            host.queued = False
            self._held -= 1
            return self._handed_out(host.held.popleft()[1], name, now_ns)
        return self._read_on(now_ns)

    def answered(self, url: bytes) -> bool:
        """Note that a URL was answered, or ended with an error.

        Returns
        -------
        bool
            False when it was not in flight: never handed out, or answered as often as it was.
        """
        count = self._outstanding.get(url, 0)
        if count == 0:
            return False
        if count == 1:
            del self._outstanding[url]
        else:
            self._outstanding[url] = count - 1
        self._in_flight -= 1
        name = host_of(url)
        if name is not None:
            host = self._hosts[name]
            host.in_flight -= 1
            self._settle(name, host)
        return True

    def _read_on(self, now_ns: int) -> bytes | None:
        while self._held < LOOKAHEAD and not self._read:
            place, url = next(self._lines, (-1, b""))
            if place < 0:
                self._read = True
                break
            name = host_of(url)
            if name is None:
                return self._counted(url)
            host = self._hosts.setdefault(name, _Host())
            if not host.held and host.in_flight < self._per_host and host.free_at_ns <= now_ns:
                return self._handed_out(url, name, now_ns)
            host.held.append((place, url))
            self._held += 1
            self._settle(name, host)
        return None

    def _handed_out(self, url: bytes, name: bytes, now_ns: int) -> bytes:
        host = self._hosts[name]
        host.in_flight += 1
        host.free_at_ns = now_ns + self._interval_ns
        self._settle(name, host)
        return self._counted(url)

    def _counted(self, url: bytes) -> bytes:
        self._outstanding[url] = self._outstanding.get(url, 0) + 1
        self._in_flight += 1
        return url

    def _settle(self, name: bytes, host: _Host) -> None:
        """Put a host where it belongs: into the queue, at rest, or out of memory."""
        if host.queued or host.in_flight >= self._per_host:
            return
        if host.held:
            host.queued = True
            heappush(self._later, (host.free_at_ns, name))
        elif host.in_flight == 0 and self._interval_ns:
            self._resting.append((host.free_at_ns, name))
        elif host.in_flight == 0:
            del self._hosts[name]

    def _forget_rested(self, now_ns: int) -> None:
        """Forget hosts whose interval is over and that have nothing to do: a list may have millions of them."""
        while self._resting and self._resting[0][0] <= now_ns:
            _, name = self._resting.popleft()
            host = self._hosts.get(name)
            if host and not host.held and host.in_flight == 0 and host.free_at_ns <= now_ns:
                del self._hosts[name]
