"""Plan the latency experiment: its points, clients and server."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import ClassVar, Final

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.against import server_settings
from httpdyno.experiments.experiment import Beginning, Begun, Tell
from httpdyno.experiments.latency.judge import Content, LatencyPoint
from httpdyno.experiments.latency.options import NAME, LatencyOptions
from httpdyno.experiments.option_fields import stored_options
from httpdyno.experiments.participants import ON_OFF_BOTH, chosen, find_peer, keeps_or_closes, require_able
from httpdyno.experiments.plan import ListedPlan
from httpdyno.experiments.restoring import OfOneWeb
from httpdyno.lab.engine import Engine
from httpdyno.lab.web_answers import PEER_URL
from httpdyno.model import (
    MOST_URLS,
    Condition,
    Subject,
    SubjectKind,
    UrlSeries,
    Workload,
    format_exact,
)
from httpdyno.published import PublishedTable, find_preset
from httpdyno.subjects.catalogue import Catalogue

DURATION_S: Final = 6.0
"""Default duration: starting takes one second of it, the warm-up with the choice of loops another; seven runs take 1.4
s to 3.5 s."""
QUICK_DURATION_S: Final = 4.0
_SHORTEST_S: Final = 1.0
_CALLS_PER_S: Final = 50_000
"""URLs of a list per second of its trial: the fastest client made 67,000 calls of four at once, and ends slightly
early.

A trial ends with its list, and the seven runs need some of it: with a list that is too short, a fast client has no
figure.
"""
_LONGEST_S: Final = MOST_URLS // _CALLS_PER_S
_MOST_PARALLEL: Final = 1000
"""Maximum number of concurrent calls; larger loops would leave no time for seven runs."""
_WEB: Final = "plain"
_BOTH: Final = "both"
_MODES: Final[Mapping[str, tuple[str, ...]]] = {"lines": ("",), "harness": ("timeit",), _BOTH: ("", "timeit")}


def grid(workloads: str, parallels: str) -> tuple[LatencyPoint, ...]:
    """Parse ``--workload`` and ``--parallel``, such as ``plain,json`` and ``1,20``; return all combinations."""
    points = [_point(content, count) for count in parallels.split(",") for content in workloads.split(",")]
    return tuple(dict.fromkeys(points))


def points_text(points: Iterable[LatencyPoint]) -> str:
    """Write points as one text: ``plain:1,json:1,plain:20``."""
    return ",".join(f"{point.workload}:{point.parallel}" for point in points)


def parse_points(text: str) -> tuple[LatencyPoint, ...]:
    """Read points that ``points_text`` has written."""
    return tuple(_point(content, count) for content, _, count in (part.partition(":") for part in text.split(",")))


def published_points(published: PublishedTable) -> tuple[LatencyPoint, ...]:
    """Return the points that have published figures, in the published order."""
    return tuple(dict.fromkeys(_point(str(row["workload"]), str(row["parallel"])) for row in published.rows))


def _point(workload: str, parallel: str) -> LatencyPoint:
    content, count = workload.strip(), parallel.strip()
    if content not in list(Content):
        raise InvalidValue(f"--workload: {content[:60]!r} is not supported; supported: {', '.join(Content)}")
    number = int(count) if count.isascii() and count.isdecimal() and len(parallel) < 10 else 0
    if not 1 <= number <= _MOST_PARALLEL:
        raise InvalidValue(
            f"--parallel: {count[:60]!r} is not a number of calls from 1 to {_MOST_PARALLEL:,}; write it like 1,20"
        )
    return LatencyPoint(Content(content), number)


def point_name(point: LatencyPoint, *, keepalive: bool) -> str:
    """Name a point for people: ``plain, 20 at once, no keep-alive``."""
    return f"{point.workload}, {point.parallel} at once, {'' if keepalive else 'no '}keep-alive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency(LatencyOptions, OfOneWeb):
    """Experiment: the time of one call."""

    name: ClassVar[str] = NAME
    points: str
    """Contents and numbers of calls at once: ``plain:1,plain:20``."""
    keepalive: str = _BOTH
    duration_s: float = DURATION_S
    seed: int = 1
    peer_folder: str | None = None
    """Folder of the server's ``subject.toml``; None: the engine's origin answers."""
    web: str = _WEB
    web_digest: str | None = None
    """The engine's default web and seed."""

    def __post_init__(self) -> None:
        """Refuse impossible runs before anything is built."""
        if not self.duration_s >= _SHORTEST_S:
            raise InvalidValue(f"{self.duration_s:g} s are too short to warm up; write 2s or more", option="--duration")
        if self.duration_s > _LONGEST_S:
            raise InvalidValue(
                f"{format_exact(self.duration_s)} s are too long: a client is given {_CALLS_PER_S:,} URLs"
                f" for each, and at most {MOST_URLS:,}; write {_LONGEST_S}s or less",
                option="--duration",
            )
        _ = self.conditions()

    def conditions(self) -> Sequence[Condition]:
        """Return a condition for each combination of point, kind of connection and timing."""
        keeps, modes = chosen("keepalive", self.keepalive, ON_OFF_BOTH), chosen("mode", self.mode, _MODES)
        ways = product(parse_points(self.points), keeps, modes)
        return [self._condition(point, harness, keepalive=keepalive) for point, keepalive, harness in ways]

    def _condition(self, point: LatencyPoint, harness: str, *, keepalive: bool) -> Condition:
        host = PEER_URL if self.peer else self.against or "http://latency.example"
        calls = 1 if harness else point.parallel * max(1, int(self.duration_s * _CALLS_PER_S) // point.parallel)
        name = point_name(point, keepalive=keepalive)
        workload = Workload(
            UrlSeries(f"{host}/{point.workload}?n=", calls),
            timeout_s=self.timeout_s,
            keepalive=keepalive,
            check=Content.JSON.value if point.workload is Content.JSON else "",
            harness=harness,
        )
        return replace(
            self.base_condition(NAME, workload, self.link, point.parallel),
            deadline_s=120.0 if harness else self.duration_s,
            name=f"{name}, in its own process" if harness else name,
            foreseen_s=5.0 if harness else self.duration_s,
            peer=self.peer,
            batch=None if harness else point.parallel,
            point=point,
            times_wire=True,
        )

    @staticmethod
    def able_to(subject: Subject, condition: Condition) -> bool:
        """Return whether a client supports a condition; without its own timing it is timed from outside only."""
        harness = condition.workload.harness
        return keeps_or_closes(subject, condition) and (not harness or harness in subject.capabilities.harness)

    def plan(self, subjects: Sequence[Subject]) -> ListedPlan:
        """Interleave the trials of all clients in blocks; one that does not parse JSON only fetches the document."""
        listed, plans = self.listed_blocks(subjects), []
        for plan in listed.trials:
            workload = plan.condition.workload
            check = workload.check if workload.check in plan.subject.capabilities.check else ""
            plans.append(replace(plan, condition=replace(plan.condition, workload=replace(workload, check=check))))
        return replace(listed, trials=tuple(plans))


def begin_latency(beginning: Beginning, names: Sequence[str], options: LatencyOptions) -> Begun:
    """Build the experiment from the options."""
    server = peer_of(beginning.catalogue, options)
    chosen = choose_subjects(beginning.catalogue, names, options.preset)
    beginning.install([*chosen, *([server] if server else [])])
    return Begun(make_latency(options, chosen, server, beginning.place.engine, beginning.tell), chosen)


def peer_of(catalogue: Catalogue, options: LatencyOptions) -> Subject | None:
    """Find the server: the named one, else the preset's; None for the engine's origin.

    With another machine's origin, a preset has no server.
    """
    name = options.peer
    if name is None and options.preset is not None and options.against is None:
        name = find_preset(options.preset, NAME).asked["peer"]
    return find_peer(catalogue, name, "json")


def choose_subjects(catalogue: Catalogue, names: Sequence[str] | None, preset: str | None) -> tuple[Subject, ...]:
    """Return the named clients; else the preset's; else those of the published figures and of ``--subjects``."""
    if names:
        return catalogue.select_of_kind(names, SubjectKind.CLIENT)
    published = find_preset("published" if preset is None else preset, NAME).subjects
    if preset is None:
        return catalogue.usual(published)
    return catalogue.select_of_kind([name for name in published if name in catalogue.subjects], SubjectKind.CLIENT)


def make_latency(
    options: LatencyOptions, subjects: Sequence[Subject], peer: Subject | None, engine: Engine, tell: Tell
) -> Latency:
    """Build the experiment; the engine gives the default seed of its web."""
    if options.preset is not None and options.keepalive not in {None, "on"}:
        raise UsageError(
            f"--keepalive {options.keepalive[:60]} conflicts with --preset, which keeps connections; leave one out"
        )
    server = server_settings(options, engine, tell, peer=peer, default=_WEB, fixed=True)
    usual_s = QUICK_DURATION_S if options.quick else DURATION_S
    resolved = {
        "keepalive": options.keepalive or (_BOTH if options.preset is None else "on"),
        "duration_s": usual_s if options.duration_s is None else options.duration_s,
    }
    points = grid(options.workload or "plain,json", options.parallel or "1,20")
    if options.preset is not None and options.workload is None and options.parallel is None:
        points = published_points(find_preset(options.preset, NAME))
    latency = Latency(points=points_text(points), **(stored_options(options) | resolved | server))
    require_able(subjects, latency, f"--keepalive {latency.keepalive} --mode {latency.mode}")
    return latency
