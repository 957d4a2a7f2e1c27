"""TLS: full handshakes per CPU second of the server, the origin against nginx."""

import json
import re
import ssl
import subprocess
from collections.abc import Mapping
from functools import partial
from typing import Final

from httpdyno.errors import NothingMeasured
from ratios.case import Case, Measured
from ratios.figures import Column, Target
from ratios.interleave import interleave
from ratios.peers import Asked, Peer, find_peer, run_peer
from ratios.place import Place
from ratios.servers import Serving, nginx, nginx_version, origin

__all__ = ["CASE", "handshake_of"]

_CONNECTIONS: Final = 64
_DRIVER: Final = ("-q", "-r", "-c", "{connections}", "-t", "{duration_s}", "-n", "100000000", "{url}")
"""ab opens a connection for each request and never resumes a session; wrk, which is faster, does resume them."""
_LOGGED_S: Final = 1
_PER_CPU_S: Final = "handshakes_per_cpu_s"
_TICKET: Final = re.compile(r"^Post-Handshake New Session Ticket arrived:", re.MULTILINE)
_FACTS: Final = (
    re.compile(r"^New, (TLSv[0-9.]+), Cipher is (\S+)", re.MULTILINE),
    re.compile(r"^(?:Server Temp Key|Negotiated TLS1.3 group): ([\w-]+)", re.MULTILINE),
    re.compile(r"^Server public key is ([0-9]+) bit", re.MULTILINE),
)


def handshake_of(said: str) -> tuple[str, ...]:
    """Give what was agreed on, and how many tickets came, from what ``openssl s_client`` prints."""
    agreed = [part for fact in _FACTS for found in fact.findall(said)[:1] for part in _parts(found)]
    return (*agreed, f"{len(_TICKET.findall(said))} tickets")


def _parts(found: str | tuple[str, ...]) -> tuple[str, ...]:
    return (found,) if isinstance(found, str) else found


def _handshake(serving: Serving) -> tuple[str, ...]:
    """Shake hands once as the driver's TLS library does, and wait for the tickets that come afterwards."""
    argv = ["openssl", "s_client", "-connect", f"127.0.0.1:{serving.https}", "-ign_eof"]
    asked = "GET /plain HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
    try:
        done = subprocess.run(argv, input=asked, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NothingMeasured(f"openssl s_client: {error}") from error
    return handshake_of(done.stdout)


def _drive(place: Place, serving: Serving, driver: Peer) -> Mapping[str, float]:
    argv = (driver.program, *_DRIVER)
    before = serving.server.cpu_s()
    report, ended = run_peer(place, driver, Asked(serving.https_url(), _CONNECTIONS, place.seconds), argv=argv)
    server_s = serving.server.cpu_s() - before
    seconds = report.duration_ns / 1e9
    return {
        _PER_CPU_S: report.requests / server_s,
        "handshakes_per_s": report.requests / seconds,
        "server_busy": server_s / seconds,
        "client_busy": ended.cpu_s / seconds,
    }


def _measure(place: Place) -> Measured:
    driver = find_peer("ab")
    notes = [_full(place, driver)]
    with nginx(place) as theirs:
        with origin(place) as ours:
            agreed = {"origin": _handshake(ours), "nginx": _handshake(theirs)}
            if agreed["origin"] != agreed["nginx"]:
                raise NothingMeasured(f"origin and nginx do not shake hands alike: {agreed}")
            competitors = {
                "origin": partial(_drive, place, ours, driver),
                "nginx": partial(_drive, place, theirs, driver),
            }
            rounds = interleave(place, competitors, notes=notes)
        notes += [f"{name}: {', '.join(what)}" for name, what in agreed.items()]
        notes += _counted(place)
    return Measured(rounds, {"nginx": nginx_version(), "OpenSSL": ssl.OPENSSL_VERSION}, tuple(notes))


def _full(place: Place, driver: Peer) -> str:
    """Have nginx say for a second, which is not measured, that none of its sessions was resumed."""
    log = place.scratch / "resumed.log"
    with nginx(place, log=log) as logging:
        asked = Asked(logging.https_url(), _CONNECTIONS, _LOGGED_S)
        run_peer(place, driver, asked, argv=(driver.program, *_DRIVER))
    lines = log.read_text(encoding="utf-8").split()
    resumed = lines.count("r")
    if resumed or not lines:
        raise NothingMeasured(f"nginx resumed {resumed} of {len(lines)} sessions of {driver.id}")
    return f"nginx logged {len(lines)} full handshakes in a second before the rounds, none resumed"


def _counted(place: Place) -> list[str]:
    """Say what the origin itself counted: that no session was resumed is proven by that, and not assumed."""
    try:
        counted = json.loads((place.scratch / "origin" / "report.json").read_text())["origin"]
        return [
            f"the origin counted {counted['handshakes_full']} full handshakes, {counted['handshakes_resumed']} resumed"
        ]
    except (OSError, ValueError, KeyError) as error:
        return [f"the origin's counters cannot be read: {error}"]


CASE: Final = Case(
    name="handshakes",
    title="Full TLS handshakes",
    setting="A connection for each request, no session resumed, P-256 keys on both sides; driven by ab, 64 at once.",
    columns=(
        Column(_PER_CPU_S, "handshakes per server CPU s"),
        Column("handshakes_per_s", "handshakes per s"),
        Column("server_busy", "server busy", 2),
        Column("client_busy", "client busy", 2),
    ),
    targets=(Target("origin", _PER_CPU_S, "nginx", at_least=1.0),),
    measure=_measure,
)
