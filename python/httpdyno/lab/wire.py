"""How long a packet takes from a subject to its peer and back with no program in between: measured in a room."""

import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from httpdyno.errors import EngineFailed
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.room import Command, Pinning, RoomSpec, Web
from httpdyno.lab.run_room import run_room
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition

__all__ = ["Wire"]

_TIMES: Final = 300
_ENOUGH_S: Final = 5.0
"""Over a long way fewer will do."""
_DEADLINE_S: Final = 20.0
_HTTP_PORT: Final = 80
_HERE: Final = "http://wire.example"
_PROBE: Final = f"""
import json, socket, sys, time
times, enough = [], time.monotonic() + {_ENOUGH_S}
family, kind, _, _, address = min(socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), type=socket.SOCK_STREAM))
while len(times) < {_TIMES} and time.monotonic() < enough:
    one = socket.socket(family, kind)
    begin = time.perf_counter_ns()
    one.connect(address)
    times.append(time.perf_counter_ns() - begin)
    one.close()
print(json.dumps(sorted(times)[len(times) // 2]))
"""
"""Connects: the peer's kernel answers that by itself, so that it takes the wire's round trip and a system call."""


@dataclass(slots=True)
class Wire:
    """Measures it, once for each link: the same CPUs and the same kernel carry all packets of a run."""

    engine: Engine
    pinning: Pinning
    interruption: Interruption
    _known: dict[str, int | None] = field(default_factory=dict)

    def round_trip_ns(self, condition: Condition) -> int | None:
        """Return the median of some hundred TCP connects in such a room; None where they cannot be made."""
        if condition.link_name not in self._known:
            self._known[condition.link_name] = self._measured(condition)
        return self._known[condition.link_name]

    def _measured(self, condition: Condition) -> int | None:
        # The network is the same whoever plays the peer; our origin is there at once. One elsewhere plays its own web.
        web = Web("plain" if condition.against is None else condition.web, condition.seed, condition.against)
        path = os.environ.get("PATH", os.defpath)
        there = urlsplit(condition.against or _HERE)
        argv = (sys.executable, "-I", "-c", _PROBE, there.hostname or "", str(there.port or _HTTP_PORT))
        spec = RoomSpec(
            Command(argv, Path("/"), {"PATH": path}),
            web,
            deadline_s=_DEADLINE_S,
            link=condition.link,
            link_seed=condition.link_seed,
            pinning=self.pinning,
            receive_steering=condition.receive_steering,
        )
        try:
            with (
                ScratchFile() as nothing,
                run_room(self.engine.path, spec, nothing, self.interruption) as left,
            ):
                return int(json.loads(left.stdout.read_text()))
        except (EngineFailed, ValueError):
            return None
