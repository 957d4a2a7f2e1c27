"""The origin against nginx: requests per CPU second of the server, driven by wrk."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from typing import Final

from ratios.case import Case, Measured
from ratios.figures import Column, Target
from ratios.interleave import interleave
from ratios.peers import Asked, Peer, find_peer, run_peer
from ratios.place import Place
from ratios.servers import Serving, nginx, nginx_version, origin

__all__ = ["BYTES", "PLAIN", "SERVER_COLUMNS"]

_OURS: Final = "origin"
_SENDFILE: Final = "nginx, sendfile"
_BUFFERS: Final = "nginx, buffers"
_CONNECTIONS: Final = 64
_PER_CPU_S: Final = "requests_per_cpu_s"
SERVER_COLUMNS: Final = (
    Column(_PER_CPU_S, "requests per server CPU s"),
    Column("requests_per_s", "requests per s"),
    Column("server_busy", "server busy", 2),
    Column("client_busy", "client busy", 2),
)


def _drive(place: Place, serving: Serving, driver: Peer, path: str) -> Mapping[str, float]:
    """Let wrk ask, and charge the server for that stretch alone."""
    before = serving.server.cpu_s()
    report, ended = run_peer(place, driver, Asked(serving.url(path), _CONNECTIONS, place.seconds))
    server_s = serving.server.cpu_s() - before
    seconds = report.duration_ns / 1e9
    return {
        _PER_CPU_S: report.requests / server_s,
        "requests_per_s": report.requests / seconds,
        "server_busy": server_s / seconds,
        "client_busy": ended.cpu_s / seconds,
    }


def _measure(place: Place, path: str, nginxes: Mapping[str, bool]) -> Measured:
    """Measure the origin and nginx, once for each way of sending files (by label)."""
    notes: list[str] = []
    driver = find_peer("wrk")
    with ExitStack() as stack:
        serving = {_OURS: stack.enter_context(origin(place))}
        for label, sendfile in nginxes.items():
            serving[label] = stack.enter_context(nginx(place, sendfile=sendfile))
        for one in serving.values():
            run_peer(place, driver, Asked(one.url(path), _CONNECTIONS, 1))
        competitors = {label: partial(_drive, place, one, driver, path) for label, one in serving.items()}
        rounds = interleave(place, competitors, notes=notes)
    return Measured(rounds, {"nginx": nginx_version()}, tuple(notes))


PLAIN: Final = Case(
    name="origin-plain",
    title="Origin, a small answer",
    setting="`/plain`, 64 connections, driven by wrk after a second of warming up; the servers share a CPU, in turns.",
    columns=SERVER_COLUMNS,
    targets=(Target(_OURS, _PER_CPU_S, "nginx", at_least=1.1),),
    measure=partial(_measure, path="/plain", nginxes={"nginx": True}),
)

BYTES: Final = Case(
    name="origin-bytes",
    title="Origin, an answer of 16 KiB",
    setting="`/bytes/16384`, 64 connections, driven by wrk; nginx sends a file that it keeps open, in two ways.",
    columns=SERVER_COLUMNS,
    targets=tuple(Target(_OURS, _PER_CPU_S, other, at_least=1.2) for other in (_SENDFILE, _BUFFERS)),
    measure=partial(_measure, path="/bytes/16384", nginxes={_SENDFILE: True, _BUFFERS: False}),
)
