"""Options of the latency experiment, one field each."""

from dataclasses import dataclass
from typing import Annotated, Final

from httpdyno.experiments.option_fields import option
from httpdyno.experiments.options import TIMEOUT, CallOptions, Verb, quick_option, seconds

NAME: Final = "latency"


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyOptions(CallOptions):
    """Options of a latency run; None: not given."""

    workload: str | None = option(
        None, "--workload LIST", "Content of a call: plain, json. Default: plain,json.", stored=False
    )
    parallel: str | None = option(
        None, "--parallel LIST", "Calls started at once; a loop ends with the last. Default: 1,20.", stored=False
    )
    keepalive: str | None = option(
        None, "--keepalive on|off|both", "Whether connections may be kept. Default: both, of a preset its own."
    )
    mode: str = option(
        "both",
        "--mode lines|harness|both",
        "Timing of calls: lines: from outside; harness: by the client itself, if supported.",
    )
    timeout_s: Annotated[float, TIMEOUT] = 5.0
    duration_s: float | None = option(
        None,
        "--duration TIME",
        "Time in which a client gets batches: seconds, or with a unit. Default: 6s, 4s with --quick.",
        read=seconds,
    )
    quick: Annotated[bool, quick_option("each subject runs once at each point, for 4 s.")] = False


VERB: Final = Verb(
    NAME,
    LatencyOptions,
    help="Measure the time of one call in a warm process, like timeit, and split it into server, wire and client.",
    names="Clients. Default: the three of the published figures, and those of --subjects.",
    examples=(
        ("httpdyno latency python-httpx go-net-http", "the time of one call"),
        ("httpdyno latency go-net-http --parallel 1,5,50", "more at once"),
        ("httpdyno latency python-httpx --peer flask-dev", "against another server"),
        ("httpdyno latency --preset published --quick", "compared with the published figures"),
    ),
)
