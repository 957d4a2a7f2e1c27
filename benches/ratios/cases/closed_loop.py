"""The closed loop: requests per CPU second of the client, over HTTP/1.1 and HTTP/2."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final

from httpdyno.errors import HttpdynoError
from ratios.case import Case, Measured
from ratios.figures import Column, Target
from ratios.interleave import Competitor, interleave
from ratios.load import run_load, run_load_command
from ratios.peers import Asked, Peer, find_peer, run_peer
from ratios.place import Place
from ratios.servers import Serving, nginx, nginx_version, origin

__all__ = ["CLIENT_COLUMNS", "HTTP_1", "HTTP_1_ROOMY", "HTTP_2", "HTTP_2_NGINX", "OURS", "find_peers"]

OURS: Final = "httpdyno load"
_COMMAND: Final = "httpdyno load, run kept"
_CONNECTIONS: Final = 64
_STREAMS: Final = 10
_PER_CPU_S: Final = "requests_per_cpu_s"
CLIENT_COLUMNS: Final = (
    Column(_PER_CPU_S, "requests per CPU s"),
    Column("requests_per_s", "requests per s"),
    Column("client_busy", "client busy", 2),
    Column("server_busy", "server busy", 2),
)
_HTTP_1_PEERS: Final = ("wrk", "oha", "rewrk", "hey")
_HTTP_2_ARGV: Final[Mapping[str, Sequence[str]]] = {
    "oha": ("--no-tui", "--output-format", "json", "--http2", "-p", str(_STREAMS)),
    "h2load": ("-t", "1", "-m", str(_STREAMS)),
}
"""Options of the tools that speak HTTP/2; where they go and for how long is added."""
_LENGTH: Final[Mapping[str, Sequence[str]]] = {
    "oha": ("-c", "{connections}", "-z", "{duration_s}s", "{url}"),
    "h2load": ("-c", "{connections}", "-D", "{duration_s}", "{url}"),
}


def find_peers(names: Sequence[str], notes: list[str]) -> dict[str, Peer]:
    """Find tools; a note says which are missing."""
    found = {}
    for name in names:
        try:
            found[name] = find_peer(name)
        except HttpdynoError as error:
            notes.append(error.line)
    return found


def charged(serving: Serving, run: Callable[[], tuple[int, float, float]]) -> Mapping[str, float]:
    """Run a client that gives its answers, seconds and CPU seconds; make the figures, and look at the server too."""
    before = serving.server.cpu_s()
    requests, elapsed_s, cpu_s = run()
    server_s = serving.server.cpu_s() - before
    return {
        _PER_CPU_S: requests / cpu_s,
        "requests_per_s": requests / elapsed_s,
        "client_busy": cpu_s / elapsed_s,
        "server_busy": server_s / elapsed_s,
    }


def _peer(place: Place, peer: Peer, url: str, argv: Sequence[str] | None = None) -> tuple[int, float, float]:
    report, ended = run_peer(place, peer, Asked(url, _CONNECTIONS, place.seconds), argv=argv)
    return report.requests, report.duration_ns / 1e9, ended.cpu_s


def _ours(place: Place, url: str, options: Sequence[str] = ()) -> tuple[int, float, float]:
    report, ended = run_load(place, url, connections=_CONNECTIONS, seconds=place.seconds, options=options)
    return report.requests, report.elapsed_s, ended.cpu_s


def _command(place: Place, url: str) -> tuple[int, float, float]:
    report, ended = run_load_command(place, url, connections=_CONNECTIONS, seconds=place.seconds)
    return report.requests, report.elapsed_s, ended.cpu_s


def _measure(place: Place, peers: Sequence[str], *, http_2: bool = False, roomy: bool = False) -> Measured:
    """Measure all of them; roomy: from the origin on all other CPUs, which no client brings to its limit."""
    notes: list[str] = []
    found = find_peers(peers, notes)
    with origin(place, cpus=place.other_cpus()) if roomy else nginx(place) as serving:
        url = serving.http2_url() if http_2 else serving.url()
        options = ("--http-version", "2", "--streams", str(_STREAMS)) if http_2 else ()
        competitors: dict[str, Competitor] = {OURS: partial(charged, serving, partial(_ours, place, url, options))}
        if not http_2 and not roomy:
            competitors[_COMMAND] = partial(charged, serving, partial(_command, place, url))
        for name, peer in found.items():
            argv = (peer.program, *_HTTP_2_ARGV[name], *_LENGTH[name]) if http_2 else None
            competitors[name] = partial(charged, serving, partial(_peer, place, peer, url, argv))
        rounds = interleave(place, competitors, notes=notes)
    versions = {name: peer.version or "" for name, peer in found.items()} | {"nginx": nginx_version()}
    return Measured(rounds, versions, tuple(notes))


HTTP_1: Final = Case(
    name="load-h1",
    title="Closed loop over HTTP/1.1",
    setting="`/plain` over 64 connections, all histograms on; nginx serves from one CPU, the client has another one.",
    columns=CLIENT_COLUMNS,
    targets=(
        Target(OURS, _PER_CPU_S, "wrk", at_least=1.15),
        Target(_COMMAND, _PER_CPU_S, "wrk", at_least=1.05),
        Target(OURS, _PER_CPU_S, "oha", at_least=1.8),
        Target(OURS, _PER_CPU_S, "rewrk", at_least=1.8),
        Target(OURS, _PER_CPU_S, "hey", at_least=4.0),
    ),
    measure=partial(_measure, peers=_HTTP_1_PEERS),
)

HTTP_1_ROOMY: Final = Case(
    name="load-h1-roomy",
    title="Closed loop over HTTP/1.1, from a server with room",
    setting=(
        "The same, but the origin serves, from all other CPUs: if these ratios are those of the case before, then no "
        "server's limit made them."
    ),
    columns=CLIENT_COLUMNS,
    targets=tuple(Target(OURS, _PER_CPU_S, name) for name in _HTTP_1_PEERS),
    measure=partial(_measure, peers=_HTTP_1_PEERS, roomy=True),
)

HTTP_2: Final = Case(
    name="load-h2",
    title="Closed loop over HTTP/2",
    setting=(
        "`/plain` over 64 connections with 10 streams each, with prior knowledge. The origin serves, from all other "
        "CPUs: one CPU of nginx is slower than each of these clients."
    ),
    columns=CLIENT_COLUMNS,
    targets=(Target(OURS, _PER_CPU_S, "oha", at_least=1.5), Target(OURS, _PER_CPU_S, "h2load")),
    measure=partial(_measure, peers=tuple(_HTTP_2_ARGV), http_2=True, roomy=True),
)

HTTP_2_NGINX: Final = Case(
    name="load-h2-nginx",
    title="Closed loop over HTTP/2, from nginx",
    setting="The same, but nginx serves, from one CPU, and is what limits all of them: a client that waits costs more.",
    columns=CLIENT_COLUMNS,
    targets=tuple(Target(OURS, _PER_CPU_S, name) for name in _HTTP_2_ARGV),
    measure=partial(_measure, peers=tuple(_HTTP_2_ARGV), http_2=True),
)
