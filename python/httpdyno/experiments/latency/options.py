"""Options of the latency experiment, one field each."""

from dataclasses import dataclass
from typing import Annotated, Final

from httpdyno.experiments.options import (
    AGAINST,
    LINK,
    LINK_SEED,
    MEMORY,
    PEER,
    REPEAT,
    SEED,
    TIMEOUT,
    Option,
    Verb,
    preset_option,
    quick_option,
    seconds,
)

NAME: Final = "latency"
_WORKLOAD = Option("--workload", "Content of a call: plain, json. Default: plain,json.", metavar="LIST", stored=False)
_PARALLEL = Option(
    "--parallel", "Calls started at once; a loop ends with the last. Default: 1,20.", metavar="LIST", stored=False
)
_KEEPALIVE = Option(
    "--keepalive", "Whether connections may be kept. Default: both, of a preset its own.", metavar="on|off|both"
)
_MODE = Option(
    "--mode",
    "Timing of calls: lines: from outside; harness: by the client itself, if supported.",
    metavar="lines|harness|both",
)
_DURATION = Option(
    "--duration",
    "Time in which a client gets batches: seconds, or with a unit. Default: 6s, 4s with --quick.",
    metavar="TIME",
    read=seconds,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyOptions:
    """Options of a latency run; None: not given."""

    workload: Annotated[str | None, _WORKLOAD] = None
    parallel: Annotated[str | None, _PARALLEL] = None
    keepalive: Annotated[str | None, _KEEPALIVE] = None
    mode: Annotated[str, _MODE] = "both"
    peer: Annotated[str | None, PEER] = None
    seed: Annotated[int | None, SEED] = None
    link: Annotated[str, LINK] = "direct"
    link_seed: Annotated[int, LINK_SEED] = 1
    against: Annotated[str | None, AGAINST] = None
    timeout_s: Annotated[float, TIMEOUT] = 5.0
    duration_s: Annotated[float | None, _DURATION] = None
    repeat: Annotated[int | None, REPEAT] = None
    quick: Annotated[bool, quick_option("each subject runs once at each point, for 4 s.")] = False
    preset: Annotated[str | None, preset_option()] = None
    memory_bytes: Annotated[int | None, MEMORY] = None


VERB: Final = Verb(
    NAME,
    LatencyOptions,
    help="Measure the time of one call in a warm process, like timeit, and divide it among server, wire and client.",
    names="Clients. Default: the three of the published figures, and those of --subjects.",
    examples=(
        ("httpdyno latency python-httpx go-net-http", "the time of one call"),
        ("httpdyno latency go-net-http --parallel 1,5,50", "more at once"),
        ("httpdyno latency python-httpx --peer flask-dev", "against another server"),
        ("httpdyno latency --preset published --quick", "compared with the published figures"),
    ),
)
