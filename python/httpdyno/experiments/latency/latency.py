"""The latency question as an experiment: what is fetched, how many at once, over kept connections or new ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.latency.figures import Content, LatencyPoint
from httpdyno.experiments.latency.options import NAME, LatencyOptions
from httpdyno.experiments.latency.points import parse_points
from httpdyno.experiments.plan import ListedPlan
from httpdyno.experiments.restoring import settings_of
from httpdyno.experiments.schedule import renumbered, schedule, usual_repeat
from httpdyno.lab.peer import PEER_URL
from httpdyno.model import (
    MOST_URLS,
    Condition,
    Link,
    Subject,
    TrialPlan,
    UrlSeries,
    Workload,
    format_exact,
)
from httpdyno.store import WebIdentity

__all__ = ["DURATION_S", "HARNESS", "QUICK_DURATION_S", "Latency", "able_to"]

HARNESS: Final = "timeit"
DURATION_S: Final = 6.0
"""Starting takes a second of it, warming up and choosing the loops as much; seven runs take 1.4 s to 3.5 s."""
QUICK_DURATION_S: Final = 4.0
_SHORTEST_S: Final = 1.0
_CALLS_PER_S: Final = 50_000
"""The list is as long as that: the fastest client made 67,000 of four at once, and comes to its end a little earlier.

A trial ends with its list, and the seven runs need some of it: too short a list leaves a fast client without a figure.
"""
_LONGEST_S: Final = MOST_URLS // _CALLS_PER_S
_HARNESS_DEADLINE_S: Final = 120.0
_HARNESS_FORESEEN_S: Final = 5.0
_HOST: Final = "http://latency.example"
_BOTH: Final = "both"
_KEEPALIVE: Final[Mapping[str, tuple[bool, ...]]] = {"on": (True,), "off": (False,), _BOTH: (True, False)}
_MODES: Final[Mapping[str, tuple[str, ...]]] = {"lines": ("",), "harness": (HARNESS,), _BOTH: ("", HARNESS)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency(LatencyOptions):
    """What does one call cost: what was asked, made definite."""

    points: str
    """What is fetched, and how many at once: ``plain:1,plain:20``."""
    keepalive: str = _BOTH
    duration_s: float = DURATION_S
    seed: int = 1
    peer_folder: str | None = None
    """Where the ``subject.toml`` of the server lies that answers; None: our origin does."""
    web: str = "plain"
    web_digest: str | None = None
    """What the engine says of web and seed."""

    def __post_init__(self) -> None:
        """Refuse what no trial can be before anything is built."""
        for option, known in (("keepalive", _KEEPALIVE), ("mode", _MODES)):
            if (value := getattr(self, option)) not in known:
                raise InvalidValue(f"--{option}: {value[:60]!r} is not known; write {', '.join(known)}")
        if not self.duration_s >= _SHORTEST_S:
            raise InvalidValue(f"--duration: {self.duration_s:g} s are too short to warm up; write 2s or more")
        if self.duration_s > _LONGEST_S:
            raise InvalidValue(
                f"--duration: {format_exact(self.duration_s)} s are too long: a client is given {_CALLS_PER_S:,} URLs"
                f" for each, and at most {MOST_URLS:,}; write {_LONGEST_S}s or less"
            )
        _ = self.conditions()

    @property
    def name(self) -> str:
        """The verb."""
        return NAME

    def conditions(self) -> Sequence[Condition]:
        """Return a condition for each point, each kind of connection, and each who times the calls."""
        return [
            self._condition(point, keepalive=keepalive, harness=harness)
            for point in parse_points(self.points)
            for keepalive in _KEEPALIVE[self.keepalive]
            for harness in _MODES[self.mode]
        ]

    def _condition(self, point: LatencyPoint, *, keepalive: bool, harness: str) -> Condition:
        host = PEER_URL if self.peer else self.against or _HOST
        calls = 1 if harness else point.parallel * max(1, int(self.duration_s * _CALLS_PER_S) // point.parallel)
        check = Content.JSON.value if point.workload is Content.JSON else ""
        return Condition(
            experiment=NAME,
            web=self.web,
            workload=Workload(
                UrlSeries(f"{host}/{point.workload}?n=", calls),
                timeout_s=self.timeout_s,
                keepalive=keepalive,
                check=check,
                harness=harness,
            ),
            seed=self.seed,
            concurrency=point.parallel,
            link=Link.parse(self.link),
            link_seed=self.link_seed,
            against=self.against,
            deadline_s=_HARNESS_DEADLINE_S if harness else self.duration_s,
            memory_bytes=self.memory_bytes,
            name=_name(point, keepalive=keepalive, harness=harness),
            foreseen_s=_HARNESS_FORESEEN_S if harness else self.duration_s,
            peer=self.peer,
            batch=None if harness else point.parallel,
            point=point,
            times_wire=True,
        )

    def plan(self, subjects: Sequence[Subject]) -> ListedPlan:
        """Interleave the trials of all subjects in blocks; a subject is left out where it cannot do what is asked."""
        repeat = usual_repeat(len(subjects), quick=self.quick) if self.repeat is None else self.repeat
        planned = schedule(subjects, self.conditions(), repeat=repeat, seed=self.seed)
        able = [_as_able(plan) for plan in planned if able_to(plan.subject, plan.condition)]
        if not able:
            raise InvalidValue("latency: none of these subjects can do what is asked; choose others, or another --mode")
        return ListedPlan(renumbered(able), {"repeat": repeat})

    def webs(self) -> tuple[WebIdentity]:
        """Return the web that has the content."""
        return (WebIdentity(self.web, self.seed, self.web_digest),)

    def settings(self) -> Mapping[str, Setting]:
        """Return the options that it was made with."""
        return settings_of(self)


def _name(point: LatencyPoint, *, keepalive: bool, harness: str) -> str:
    words = [str(point.workload), f"{point.parallel} at once", "keep-alive" if keepalive else "no keep-alive"]
    return ", ".join([*words, *(["in its own process"] if harness else [])])


def able_to(subject: Subject, condition: Condition) -> bool:
    """Return whether a client can do what a condition asks.

    One that cannot close its connections is not asked to; one that cannot keep them is measured as it is where they may
    be kept. Who does not claim to time its own calls is timed from outside only.
    """
    claims = subject.capabilities
    workload = condition.workload
    closes = workload.keepalive or not claims.keepalive or False in claims.keepalive
    return closes and (not workload.harness or workload.harness in claims.harness)


def _as_able(plan: TrialPlan) -> TrialPlan:
    """Let a client that does not parse JSON fetch the document only."""
    condition = plan.condition
    if not condition.workload.check or condition.workload.check in plan.subject.capabilities.check:
        return plan
    return replace(plan, condition=replace(condition, workload=replace(condition.workload, check="")))
