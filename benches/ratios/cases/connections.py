"""Ten thousand connections against 64: throughput and memory."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from ratios.case import Case, Measured
from ratios.cases.closed_loop import find_peers
from ratios.figures import Column, Target
from ratios.interleave import Competitor, interleave
from ratios.load import run_load
from ratios.peers import Asked, Peer, run_peer
from ratios.place import Place
from ratios.servers import Serving, origin

__all__ = ["CASE"]

_FEW: Final = 64
_MANY: Final = 10_000
_FEWEST_S: Final = 4
_STEADY: Final = "steady_per_s"
_MEBIBYTE: Final = 1 << 20


def _label(who: str, connections: int) -> str:
    return f"{who}, {connections:,} connections"


def _seconds(place: Place) -> int:
    """Give whole seconds enough for some without the opening of connections, also on a slow machine."""
    return max(place.seconds, _FEWEST_S)


def _ours(place: Place, serving: Serving, connections: int) -> Mapping[str, float]:
    before = serving.server.cpu_s()
    report, ended = run_load(place, serving.url(), connections=connections, seconds=_seconds(place))
    server_s = serving.server.cpu_s() - before
    figures = {
        "requests_per_s": report.per_s,
        "requests_per_cpu_s": report.requests / ended.cpu_s,
        "peak_memory_mib": max(ended.peak_memory_bytes, report.peak_memory_bytes) / _MEBIBYTE,
        "server_busy": server_s / report.elapsed_s,
    }
    return figures | ({} if report.steady_per_s is None else {_STEADY: report.steady_per_s})


def _peer(place: Place, serving: Serving, peer: Peer, connections: int) -> Mapping[str, float]:
    before = serving.server.cpu_s()
    report, ended = run_peer(place, peer, Asked(serving.url(), connections, _seconds(place)))
    server_s = serving.server.cpu_s() - before
    seconds = report.duration_ns / 1e9
    return {
        "requests_per_s": report.requests / seconds,
        "requests_per_cpu_s": report.requests / ended.cpu_s,
        "peak_memory_mib": ended.peak_memory_bytes / _MEBIBYTE,
        "server_busy": server_s / seconds,
    }


def _measure(place: Place) -> Measured:
    notes: list[str] = []
    peers = find_peers(("wrk",), notes)
    with origin(place, cpus=place.other_cpus()) as serving:
        competitors: dict[str, Competitor] = {}
        for connections in (_MANY, _FEW):
            competitors[_label("httpdyno", connections)] = partial(_ours, place, serving, connections)
            for name, peer in peers.items():
                competitors[_label(name, connections)] = partial(_peer, place, serving, peer, connections)
        rounds = interleave(place, competitors, notes=notes)
    return Measured(rounds, {name: peer.version or "" for name, peer in peers.items()}, tuple(notes))


CASE: Final = Case(
    name="connections",
    title="10,000 connections",
    setting=(
        "`/plain`, closed loop, from the origin on all other CPUs: many connections cost a server more, too. "
        "Steady: without the first second, in which they are opened."
    ),
    columns=(
        Column(_STEADY, "steady requests per s"),
        Column("requests_per_s", "requests per s"),
        Column("requests_per_cpu_s", "requests per CPU s"),
        Column("peak_memory_mib", "peak memory, MiB", 1),
        Column("server_busy", "server busy", 2),
    ),
    targets=(
        Target(_label("httpdyno", _MANY), _STEADY, _label("httpdyno", _FEW), at_least=0.85),
        Target(_label("httpdyno", _MANY), "requests_per_s", _label("httpdyno", _FEW)),
        Target(_label("httpdyno", _MANY), "peak_memory_mib", at_most=200.0),
        Target(_label("wrk", _MANY), "requests_per_s", _label("wrk", _FEW)),
    ),
    measure=_measure,
)
