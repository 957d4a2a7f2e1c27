"""What the load generator is asked to do, as it was typed: the engine reads it, and refuses what cannot be."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from httpdyno.experiments.load.words import LOAD_OPTIONS, load_arguments
from httpdyno.experiments.verb import Example, Verb

__all__ = ["NAME", "VERB", "LoadOptions"]

NAME: Final = "load"


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """The options of one load. None, or nothing, leaves a choice to the engine.

    Durations, rates and checks are texts, as people write them: ``10s``, ``100..5000``, ``status=200``.
    """

    urls: tuple[str, ...] = ()
    urls_file: str | None = None
    """One URL a line."""
    requests_file: str | None = None
    """One request a line, as JSON."""
    connections: int | None = None
    duration: str | None = None
    requests: int | None = None
    rate: str | None = None
    """Open loop: requests a second, or a ramp; None: closed loop."""
    arrivals: str | None = None
    seed: int | None = None
    method: str | None = None
    headers: tuple[str, ...] = ()
    body: str | None = None
    body_file: str | None = None
    keepalive: bool = True
    http2: bool = False
    streams: int | None = None
    insecure: bool = False
    cacert: str | None = None
    resolve: tuple[str, ...] = ()
    connect_to: tuple[str, ...] = ()
    timeout: str | None = None
    cpus: str | None = None
    checks: tuple[str, ...] = ()
    samples: str | None = None
    """File for a line for each request."""
    hdr_log: str | None = None
    """File for the histograms of each second."""

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Read what there is for each field from options by name; several values as any sequence, or None."""
        given = {field.name: values[field.name] for field in fields(cls)}
        several = {name: tuple(given[name] or ()) for name in ("urls", "headers", "resolve", "connect_to", "checks")}
        return cls(**given | several)

    def arguments(self) -> list[str]:
        """Return the engine's arguments. A value cannot be taken for an option, whatever it begins with."""
        return load_arguments({field.name: getattr(self, field.name) for field in fields(self)})


VERB: Final = Verb(
    NAME,
    LoadOptions,
    help="""Send requests to a server, and say how fast it answers and how long that takes.

    Response time counts from when a request was due, service time from when it was sent: a stall of the server shows in
    the former of every request that it held up.
    """,
    names=LOAD_OPTIONS[0].help,
    named=str(LOAD_OPTIONS[0].metavar),
    examples=(
        Example("httpdyno load http://localhost:8080/ -c 64 -d 10s", "as fast as it can"),
        Example("httpdyno load http://localhost:8080/ --rate 2000", "2,000 a second, whatever comes: open loop"),
        Example("httpdyno load http://localhost:8080/ --rate 500 --fail-if 'p99 > 50ms'", "for CI: exit code 1"),
        Example("httpdyno load --requests-file mixed.jsonl --check status=200", "many requests, each answer checked"),
    ),
)
