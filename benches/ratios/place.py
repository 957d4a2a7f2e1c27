"""Where ratios are measured: CPUs of the two sides, a folder for what is temporary, free ports, the engine."""

import os
import random
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from httpdyno.errors import InvalidValue, NothingMeasured

__all__ = ["Place", "check_cpus", "free_port", "usable_cpus", "wait_for_port"]


@dataclass(frozen=True, slots=True)
class Place:
    """What all cases are given."""

    engine: Path
    scratch: Path
    server_cpus: tuple[int, ...]
    client_cpus: tuple[int, ...]
    rounds: int
    seconds: int
    order: random.Random = field(default_factory=lambda: random.Random(1))
    """Decides who runs first in a round."""

    def other_cpus(self) -> tuple[int, ...]:
        """Give the CPUs that the client does not have: a server on all of them is never what limits it."""
        return tuple(sorted(usable_cpus() - set(self.client_cpus)))


def usable_cpus() -> set[int]:
    """Give the CPUs of this machine that this program may use."""
    return set(os.sched_getaffinity(0))


def check_cpus(server: Sequence[int], client: Sequence[int], usable: set[int]) -> None:
    """Refuse CPUs that cannot be had, and one that both sides would share.

    Raises
    ------
    InvalidValue
        With the reason.
    """
    for cpu in (*server, *client):
        if cpu not in usable:
            raise InvalidValue(f"CPU {cpu} cannot be used here; usable are {', '.join(map(str, sorted(usable)))}")
    if shared := set(server) & set(client):
        raise InvalidValue(f"CPU {min(shared)} cannot be the server's and the client's at once")


def free_port() -> int:
    """Return a free port of the loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(port: int, *, longest_s: float = 10.0) -> None:
    """Wait until a server listens on the port.

    Raises
    ------
    NothingMeasured
        If no server listens in time.
    """
    until = time.monotonic() + longest_s
    while time.monotonic() < until:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        time.sleep(0.02)
    raise NothingMeasured(f"no server listens on port {port} after {longest_s:g} s")
