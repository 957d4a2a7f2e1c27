"""Options of the service experiment, one field each."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

from httpdyno.experiments.option_fields import option
from httpdyno.experiments.options import (
    LINK_SEED,
    MEMORY,
    REPEAT,
    SEED,
    Verb,
    link_option,
    preset_option,
    quick_option,
    seconds,
)
from httpdyno.model import SubjectKind

NAME: Final = "service"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceOptions:
    """Options of a service run; None: not given."""

    connections: str | None = option(
        None, "--connections LIST", "Connections: 20,100,250, or 100,200,...,500. Default: 20,100,250."
    )
    loop: str | None = option(
        None,
        "--loop LIST",
        "closed: send after an answer; open: send on a schedule that keeps an ideal server at the number of "
        "connections; or both: closed,open. Default: closed.",
        offers=("closed", "open"),
    )
    rate_per_s: float | None = option(
        None, "--rate N", "Open loop: requests a second, at each point.", least=0.01, most=1_000_000
    )
    threads: str | None = option(
        None, "--threads LIST", "THREADS of the server: 1, unlimited, or both: 1,unlimited. Default: unlimited."
    )
    server_cpus: str | None = option(
        None,
        "--server-cpus LIST",
        "Number of CPUs of the server: 1, all (except the generator's), or both: 1,all. Default: one.",
    )
    workers: int | None = option(None, "--workers N", "WORKERS of the server. Default: its own.")
    endpoint: str | None = option(None, "--endpoint workloads|plain|json", "Requested endpoint. Default: workloads.")
    workloads_ms: str | None = option(
        None, "--workloads-ms LIST", "Waits of a request in ms, all at once. Default: 500,1000,2000."
    )
    timeout_ms: int | None = option(None, "--timeout-ms N", "Time after which a server answers 503. Default: never.")
    generator: str | None = option(
        None,
        "--generator TOOL",
        "Load generator: httpdyno-load, or a tool that can send content, such as rewrk. Default: httpdyno-load.",
        offers=SubjectKind.TOOL,
    )
    search: bool = option(False, "--search", "Search for the number of connections at which each server breaks.")
    most_connections: int | None = option(None, "--most-connections N", "Upper bound of the search. Default: 10,000.")
    duration_s: float | None = option(
        None,
        "--duration TIME",
        "Length of the steady stretch. Default: 4 times the longest wait; --quick: 2.",
        read=seconds,
    )
    link: Annotated[str, link_option("generator and server")] = "direct"
    link_seed: Annotated[int, LINK_SEED] = 1
    repeat: Annotated[
        int | None, replace(REPEAT, help="Trials of each server at each point. Default: 3; --quick: 1.")
    ] = None
    quick: Annotated[bool, quick_option("short stretches, once at each point; a coarser search.")] = False
    preset: Annotated[str | None, preset_option()] = None
    seed: Annotated[int | None, SEED] = None
    memory_bytes: Annotated[int | None, MEMORY] = None


VERB: Final = Verb(
    NAME,
    ServiceOptions,
    help="Measure how much servers add to requests that wait for parallel work, and at which load they break.",
    names="Servers, such as rust-axum. Default: all that have the endpoint; with a preset, the preset's.",
    named="SERVER",
    kinds=(SubjectKind.SERVER,),
    examples=(
        ("httpdyno service rust-axum node-http", "at 20, 100 and 250 connections"),
        ("httpdyno service rust-axum --loop closed,open --threads 1,unlimited", "both loops, one thread and all"),
        ("httpdyno service --search --quick", "find the connections at which each server breaks"),
        ("httpdyno service --preset published --generator rewrk", "as published"),
    ),
)
