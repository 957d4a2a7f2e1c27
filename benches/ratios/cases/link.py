"""The emulated link: what one CPU carries over it, how late packets are, how long a room with one takes."""

import json
import shutil
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from httpdyno.errors import NothingMeasured
from ratios.case import Case, Measured
from ratios.figures import Column, Target
from ratios.interleave import Competitor, interleave
from ratios.place import Place, usable_cpus
from ratios.processes import run_pinned

__all__ = ["CARRYING", "STARTING"]

_PEER: Final = "198.18.0.1"
_VETH: Final = "veth, no link"
_LONG: Final = "a link of 20 ms"
_SHORT: Final = "a link without delay"
_RATED: Final = "a link of 20 ms and 1 Gbit/s"
_SMALL: Final = "a link of 20 ms and 1 Gbit/s that loses 1 in 1,000,000"
_LINKS: Final[Mapping[str, str]] = {
    _VETH: "direct",
    _SHORT: "mtu=1499",
    _LONG: "rtt=20ms",
    _RATED: "rtt=20ms,rate=1gbit",
    _SMALL: "rtt=20ms,rate=1gbit,loss=0.0001%",
}
"""A link that adds nothing would be none: it has a byte less a packet."""
_STREAMS: Final = 8
_LEAST_GBIT: Final = 5.0
_MOST_LATE_US: Final = 200.0
_ROOM: Final = "room"
_STARTED: Final[Mapping[str, str]] = {
    _ROOM: "direct",
    "room, a link of 0.5 ms": "rtt=0.5ms",
    "room, a link of 1 Gbit/s": "rate=1gbit",
    "room, a link of 40 ms and 1 Gbit/s": "rtt=40ms,rate=1gbit",
}
_MOST_START_MS: Final = 500.0


def _room(place: Place, link: str, command: list[str], *options: str | Path) -> list[str | Path]:
    cpus = {"--engine-cpus": place.server_cpus, "--subject-cpus": place.client_cpus}
    pinned = [part for name, numbers in cpus.items() for part in (name, ",".join(map(str, numbers)))]
    return [place.engine, "room", "--link", link, *pinned, *options, "--", *command]


def _carried(place: Place, link: str) -> Mapping[str, float]:
    report = place.scratch / "link.json"
    client = ["iperf3", "-c", _PEER, "-J", "-P", str(_STREAMS), "-t", str(place.seconds), "-O", "1"]
    # Checked in the other case; here a busy machine would only refuse what is to be measured.
    options = ("--link-check", "off", "--peer", "iperf3 -s", "--report", report)
    # The server may be a moment from listening.
    patient = ["sh", "-c", f"sleep 0.3; exec {' '.join(client)}"]
    argv = _room(place, link, patient, *options)
    ended = run_pinned(argv, cpus=sorted(usable_cpus()), scratch=place.scratch)
    said: dict[str, Any] = json.loads(ended.stdout)
    if "error" in said:
        raise NothingMeasured(f"iperf3: {said['error']}")
    received = said["end"]["sum_received"]
    figures = {"gbit_per_s": received["bits_per_second"] / 1e9}
    seen: dict[str, Any] | None = json.loads(report.read_text())["link"]
    if seen is None:
        return figures
    late = [seen[way]["lateness_ns"] for way in ("up", "down")]
    bits = 8 * (seen["up"]["bytes"] + seen["down"]["bytes"])
    return figures | {
        "gbit_per_cpu_s": bits / seen["cpu_time_ns"],
        "late_p99_us": max(way["p99"] for way in late) / 1000,
        "late_p99_9_us": max(way["p99_9"] for way in late) / 1000,
    }


def _started(place: Place, link: str, clock: Callable[[], float] = time.monotonic) -> Mapping[str, float]:
    began = clock()
    argv = _room(place, link, ["true"], "--web", "plain")
    run_pinned(argv, cpus=sorted(usable_cpus()), scratch=place.scratch, longest_s=30)
    return {"room_ms": (clock() - began) * 1000}


def _measure_carrying(place: Place) -> Measured:
    if shutil.which("iperf3") is None:
        raise NothingMeasured("no iperf3; install it with: scripts/setup-peers")
    return _measure(place, {name: partial(_carried, place, link) for name, link in _LINKS.items()})


def _measure_starting(place: Place) -> Measured:
    return _measure(place, {name: partial(_started, place, link) for name, link in _STARTED.items()})


def _measure(place: Place, competitors: Mapping[str, Competitor]) -> Measured:
    notes: list[str] = []
    return Measured(interleave(place, competitors, notes=notes), notes=tuple(notes))


CARRYING: Final = Case(
    name="link",
    title="The emulated link",
    setting=(
        f"iperf3 over {_STREAMS} TCP connections from the subject to its peer, each on a CPU of its own, the link's "
        "thread on a third where there is one. A CPU second of the link is all that its thread took, waiting by "
        "spinning included. Late is how long after its planned moment a packet was handed over."
    ),
    columns=(
        Column("gbit_per_s", "Gbit/s", 2),
        Column("gbit_per_cpu_s", "Gbit per CPU s of the link", 2),
        Column("late_p99_us", "late p99, us", 1),
        Column("late_p99_9_us", "late p99.9, us", 1),
    ),
    targets=(
        Target(_LONG, "gbit_per_s", at_least=_LEAST_GBIT),
        Target(_LONG, "gbit_per_s", to=_VETH),
        Target(_SHORT, "gbit_per_s", to=_VETH),
        Target(_RATED, "late_p99_us", at_most=_MOST_LATE_US),
    ),
    measure=_measure_carrying,
)

STARTING: Final = Case(
    name="link-start",
    title="A room with a link",
    setting="The whole of `room -- true` with a web, the check of the link included.",
    columns=(Column("room_ms", "ms"),),
    targets=tuple(Target(name, "room_ms", at_most=_MOST_START_MS if name != _ROOM else None) for name in _STARTED),
    measure=_measure_starting,
)
