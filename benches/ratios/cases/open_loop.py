"""The open loop: 50,000 requests a second on a schedule, and how late they were sent."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from ratios.case import Case, Measured
from ratios.cases.closed_loop import OURS, find_peers
from ratios.figures import Column, Target
from ratios.interleave import Competitor, interleave
from ratios.load import run_load
from ratios.peers import Asked, Peer, run_peer
from ratios.place import Place
from ratios.servers import Serving, nginx, nginx_version

__all__ = ["CASE"]

_RATE: Final = 50_000
_CONNECTIONS: Final = 64
_ARGV: Final[Mapping[str, Sequence[str]]] = {
    "fortio": (
        "load",
        "-quiet",
        "-json",
        "-",
        "-qps",
        str(_RATE),
        "-c",
        "{connections}",
        "-t",
        "{duration_s}s",
        "{url}",
    ),
    "oha": (
        *("--no-tui", "--output-format", "json", "--latency-correction", "-q", str(_RATE)),
        *("-c", "{connections}", "-z", "{duration_s}s", "{url}"),
    ),
}
"""Both send at a rate; only oha's latencies count from when a request was due."""


def _ours(place: Place, serving: Serving) -> Mapping[str, float]:
    options = ("--rate", str(_RATE))
    report, ended = run_load(place, serving.url(), connections=_CONNECTIONS, seconds=place.seconds, options=options)
    figures = {
        "requests_per_s": report.per_s,
        "client_busy": ended.cpu_s / report.elapsed_s,
        "missing": report.unsent + max(0, round(_RATE * place.seconds) - report.requests - report.open_at_end),
    }
    reported = {
        "p50_us": report.response_p50_ns,
        "p99_us": report.response_p99_ns,
        "send_lag_p99_us": report.send_lag_p99_ns,
        "send_lag_max_us": report.send_lag_max_ns,
    }
    return figures | {name: value / 1000 for name, value in reported.items() if value is not None}


def _peer(place: Place, serving: Serving, peer: Peer) -> Mapping[str, float]:
    argv = (peer.program, *_ARGV[peer.id])
    report, ended = run_peer(place, peer, Asked(serving.url(), _CONNECTIONS, place.seconds), argv=argv)
    seconds = report.duration_ns / 1e9
    figures = {
        "requests_per_s": report.requests / seconds,
        "client_busy": ended.cpu_s / seconds,
        "missing": float(max(0, _RATE * place.seconds - report.requests)),
    }
    percentiles = report.latency.percentiles_ns if report.latency else {}
    return figures | {
        f"p{percent:g}_us": percentiles[percent] / 1000 for percent in (50.0, 99.0) if percent in percentiles
    }


def _measure(place: Place) -> Measured:
    notes: list[str] = []
    peers = find_peers(tuple(_ARGV), notes)
    with nginx(place) as serving:
        competitors: dict[str, Competitor] = {OURS: partial(_ours, place, serving)}
        competitors |= {name: partial(_peer, place, serving, peer) for name, peer in peers.items()}
        rounds = interleave(place, competitors, notes=notes)
    return Measured(
        rounds, {name: peer.version or "" for name, peer in peers.items()} | {"nginx": nginx_version()}, tuple(notes)
    )


CASE: Final = Case(
    name="open-loop",
    title="Open loop at 50,000 requests a second",
    setting=(
        "`/plain` over 64 connections, from nginx. Send lag is from when a request was due to when it was sent; "
        "missing are requests that were due and got no answer. p50 and p99 are each tool's own: response time for "
        "httpdyno and oha, service time for fortio."
    ),
    columns=(
        Column("requests_per_s", "requests per s"),
        Column("missing", "missing"),
        Column("send_lag_p99_us", "send lag p99, us", 1),
        Column("send_lag_max_us", "send lag max, us"),
        Column("p50_us", "p50, us"),
        Column("p99_us", "p99, us"),
        Column("client_busy", "client busy", 2),
    ),
    targets=(
        Target(OURS, "send_lag_p99_us", at_most=50.0),
        Target(OURS, "missing", at_most=0.0, every_round=True),
    ),
    measure=_measure,
)
