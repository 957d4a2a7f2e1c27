"""Options of the capacity experiment, one field each."""

from dataclasses import dataclass, replace
from typing import Annotated, Final

from httpdyno.experiments.option_fields import Group, Option
from httpdyno.experiments.options import (
    AGAINST,
    LINK,
    LINK_SEED,
    MEMORY,
    REPEAT,
    SEED,
    TIMEOUT,
    Verb,
    preset_option,
    quick_option,
    scale_option,
    seconds,
)
from httpdyno.model import SubjectKind

NAME: Final = "capacity"
_RPS = Option("--rps N", "Right answers a second to hold. Default: 2000.", least=0.01, most=1_000_000, stored=False)
_SLO = Option(
    "--slo CLAUSES",
    "Further requirements: bounds of p50, p90, p99, p99.9, mean, max and errors. "
    "Default: 'p99 < rtt + delay + 500ms, errors < 0.1%'.",
)
_LOSS = Option("--loss SHARE", "Packet loss of the link, such as 0.1%.", stored=False, group=Group.WAY)
_LOOP = Option(
    "--loop open|closed",
    "open: send on a schedule; closed: send after an answer. Default: that of the preset, or open; closed for tools "
    "that time requests from the actual send.",
    stored=False,
    offers=("closed", "open"),
)
_FRONTIER = Option(
    "--frontier", "Search for the largest size that holds, instead of measuring every point of the grid."
)
_DURATION = Option("--duration TIME", "Measured part of each schedule. Default: 5s, 1s with --quick.", read=seconds)
_YES = Option("--yes", "Start even if the run takes more than an hour.", stored=False, group=Group.RUN)
_AS_LABELLED = Option("--as-labelled", "published-batch-4: use the distances of its labels.", group=Group.PUBLISHED)
_PRESETS: Final = (
    "published-batch-1",
    "published-batch-1-public-network",
    "published-batch-2",
    "published-batch-3",
    "published-batch-3-23gbit",
    "published-batch-4",
)


def _axis(flag: str, meaning: str, group: Group = Group.MEASURED) -> Option:
    """Return an option for an axis of the grid; the manifest records all axes together."""
    return Option(f"{flag} LIST", meaning, stored=False, group=group)


_RTT = _axis("--rtt", "Round-trip time of the link: 0,20ms,...,100ms. Default: 0.", Group.WAY)
_LINK_RATE = _axis("--link-rate", "Rate of the link, each way: 1gbit..10gbit. Default: not limited.", Group.WAY)
_LINK = replace(LINK, help=LINK.help + " --rtt, --link-rate, --queue and --loss override it.", stored=False)
_QUEUE = _axis("--queue", "Longest wait of a packet for that rate. Default: 100ms.", Group.WAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityOptions:
    """Options of a capacity run; None: not given."""

    rps: Annotated[float | None, _RPS] = None
    slo: Annotated[str | None, _SLO] = None
    size: Annotated[str | None, _axis("--size", "Content of an answer: 0,100KiB,...,500KiB. Default: 0.")] = None
    delay: Annotated[str | None, _axis("--delay", "Wait of the server before it answers: 0,100ms. Default: 0.")] = None
    rtt: Annotated[str | None, _RTT] = None
    link_rate: Annotated[str | None, _LINK_RATE] = None
    queue: Annotated[str | None, _QUEUE] = None
    loss: Annotated[str | None, _LOSS] = None
    link: Annotated[str | None, _LINK] = None
    link_seed: Annotated[int, LINK_SEED] = 1
    concurrency: Annotated[
        str | None, _axis("--concurrency", "Requests in flight at most: 200..1000. Default: 200.")
    ] = None
    against: Annotated[str | None, AGAINST] = None
    loop: Annotated[str | None, _LOOP] = None
    frontier: Annotated[bool, _FRONTIER] = False
    duration_s: Annotated[float | None, _DURATION] = None
    timeout_s: Annotated[float | None, replace(TIMEOUT, help="Timeout of one URL. Default: 10s.")] = None
    repeat: Annotated[int, replace(REPEAT, help="Trials of each subject at each point.")] = 1
    quick: Annotated[bool, quick_option("1 s at each point.")] = False
    yes: Annotated[bool, _YES] = False
    preset: Annotated[str | None, preset_option(*_PRESETS)] = None
    scale: Annotated[str | None, scale_option("rates and requests in flight")] = None
    as_labelled: Annotated[bool, _AS_LABELLED] = False
    seed: Annotated[int | None, SEED] = None
    memory_bytes: Annotated[int | None, MEMORY] = None


VERB: Final = Verb(
    NAME,
    CapacityOptions,
    help="Find the limits within which each subject holds a rate: measure a grid, or search for the frontier.",
    names="Clients and load tools, such as go-net-http.",
    kinds=(SubjectKind.CLIENT, SubjectKind.TOOL),
    examples=(
        ("httpdyno capacity go-net-http --rps 200 --size 50KiB", "is it held?"),
        ("httpdyno capacity wrk hey --delay 100ms", "tools, in a closed loop"),
        ("httpdyno capacity node-fetch --frontier --size 0,20KiB,...,200KiB", "search for the largest size"),
        ("httpdyno capacity go-net-http --link 4g --rps 50 --size 0,20KiB,...,200KiB", "over a given link"),
        ("httpdyno capacity --preset published-batch-4 --scale 1/10", "a published grid, at a tenth"),
    ),
)
