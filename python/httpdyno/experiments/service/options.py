"""What can be said of a service question: its options, each a field."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Final

from httpdyno.experiments.options import (
    LINK_SEED,
    MEMORY,
    REPEAT,
    SEED,
    Option,
    Verb,
    link_option,
    preset_option,
    quick_option,
    seconds,
)
from httpdyno.model import SubjectKind

NAME: Final = "service"
_axis: Final = partial(Option, stored=False)
"""An option whose value becomes part of the axes."""
_CONNECTIONS = _axis(
    "--connections", "Connections: 20,100,250, or 100,200,...,500. Default: 20,100,250.", metavar="LIST"
)
_LOOP = _axis(
    "--loop",
    "closed: sends when an answer came; open: sends on a schedule, as many a second as keep an ideal "
    "server at the number of connections; or both: closed,open. Default: closed.",
    metavar="LIST",
    offers=("closed", "open"),
)
_RATE = _axis("--rate", "Open loop: requests a second, at each point.", metavar="N", least=0.01, most=1_000_000)
_THREADS = _axis(
    "--threads", "THREADS of the server: 1, unlimited, or both: 1,unlimited. Default: unlimited.", metavar="LIST"
)
_SERVER_CPUS = _axis(
    "--server-cpus",
    "How many CPUs the server gets: 1, all (but the generator's), or both: 1,all. Default: one.",
    metavar="LIST",
)
_WORKERS = _axis("--workers", "WORKERS of the server. Default: its own.", metavar="N")
_ENDPOINT = _axis("--endpoint", "What is asked for. Default: workloads.", metavar="workloads|plain|json")
_WORKLOADS_MS = _axis(
    "--workloads-ms", "Waits of a request in ms, all at once. Default: 500,1000,2000.", metavar="LIST"
)
_TIMEOUT_MS = _axis("--timeout-ms", "After which a server answers 503. Default: never.", metavar="N")
_GENERATOR = _axis(
    "--generator",
    "Who sends: httpdyno-load, or a tool that can send content, such as rewrk. Default: httpdyno-load.",
    metavar="TOOL",
    offers=SubjectKind.TOOL,
)
_SEARCH = Option("--search", "Search for the number of connections at which each server breaks.")
_MOST = Option("--most-connections", "How far the search goes. Default: 10,000.", metavar="N")
_DURATION = Option(
    "--duration",
    "Length of the steady stretch. Default: 4 times the longest wait; --quick: 2.",
    metavar="TIME",
    read=seconds,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """A service question as it is asked; None: not said."""

    connections: Annotated[str | None, _CONNECTIONS] = None
    loop: Annotated[str | None, _LOOP] = None
    rate: Annotated[float | None, _RATE] = None
    threads: Annotated[str | None, _THREADS] = None
    server_cpus: Annotated[str | None, _SERVER_CPUS] = None
    workers: Annotated[int | None, _WORKERS] = None
    endpoint: Annotated[str | None, _ENDPOINT] = None
    workloads_ms: Annotated[str | None, _WORKLOADS_MS] = None
    timeout_ms: Annotated[int | None, _TIMEOUT_MS] = None
    generator: Annotated[str | None, _GENERATOR] = None
    search: Annotated[bool, _SEARCH] = False
    most_connections: Annotated[int | None, _MOST] = None
    duration_s: Annotated[float | None, _DURATION] = None
    link: Annotated[str, link_option("generator and server")] = "direct"
    link_seed: Annotated[int, LINK_SEED] = 1
    repeat: Annotated[
        int | None, replace(REPEAT, help="How often each server runs at each point. Default: 3; --quick: 1.")
    ] = None
    quick: Annotated[bool, quick_option("short stretches, once at each point; a coarser search.")] = False
    preset: Annotated[str | None, preset_option()] = None
    # It has no web, which would stand for its seed.
    seed: Annotated[int | None, SEED] = None
    memory_bytes: Annotated[int | None, MEMORY] = None


VERB: Final = Verb(
    NAME,
    ServiceOptions,
    help="Measure how far servers are from ideal when every request waits for parallel work, and where they break.",
    names="Servers, such as rust-axum. Default: all that have the endpoint; of a preset its own.",
    named="SERVER",
    kinds=(SubjectKind.SERVER,),
    examples=(
        ("httpdyno service rust-axum node-http", "at 20, 100 and 250 connections"),
        ("httpdyno service rust-axum --loop closed,open --threads 1,unlimited", "both loops, one thread and all"),
        ("httpdyno service --search --quick", "at how many connections does each server break?"),
        ("httpdyno service --preset published --generator rewrk", "as published"),
    ),
)
