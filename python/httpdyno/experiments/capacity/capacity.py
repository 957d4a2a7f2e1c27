"""The capacity question as an experiment: a grid of points, each with its link, its list of URLs and its objective."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.axes import Axes, name_of
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.frontier_plan import frontier_plan
from httpdyno.experiments.capacity.judge.objective import DEFAULT_OBJECTIVE, parse_objective
from httpdyno.experiments.capacity.options import NAME, CapacityOptions
from httpdyno.experiments.capacity.timing import DEFAULT_DURATION_S, SHORTEST_DURATION_S, timing_of
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.plan import ListedPlan, Plan
from httpdyno.experiments.restoring import reading_settings, restored, settings_of
from httpdyno.experiments.schedule import schedule
from httpdyno.model import MOST_URLS, Condition, Loop, Subject, UrlSeries, Workload
from httpdyno.store import WebIdentity

__all__ = ["Capacity", "restore_capacity"]

_MS: Final = 10**6
_HOST: Final = "http://capacity.example"
_FEWEST_SIZES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity(CapacityOptions):
    """Up to where do subjects hold a rate."""

    axes: Axes
    """The grid that the options of its axes span."""
    slo: str = DEFAULT_OBJECTIVE
    duration_s: float = DEFAULT_DURATION_S
    timeout_s: float = 10.0
    seed: int = 1
    web: str = "plain"
    web_digest: str | None = None
    """What the engine says of web and seed."""

    def __post_init__(self) -> None:
        """Refuse what no trial can be before anything is built."""
        if not self.duration_s >= SHORTEST_DURATION_S:
            raise InvalidValue(f"--duration: {self.duration_s:g} s are too short to tell anything; write 1s or more")
        parse_objective(self.slo)
        self._check_way()
        if self.frontier and (len(set(self.axes.sizes_bytes)) < _FEWEST_SIZES or self.axes.rps is None):
            raise InvalidValue(
                "--frontier: it is the largest size that holds a rate; give several, like --size 0,50KiB,...,500KiB"
            )
        self._check_lists()
        _ = self.condition(self.axes.point(0)), self.condition(self.axes.point(self.axes.count - 1))

    def _check_lists(self) -> None:
        """Refuse a list of URLs that does not fit into memory: the longest is that of the slowest point."""
        slowest = replace(self.axes.point(self.axes.count - 1), rate_bits_per_s=self.axes.rates_bits_per_s[0])
        if (urls := timing_of(slowest, self.duration_s).urls) > MOST_URLS:
            cure = "a smaller --rps or a shorter --duration" if slowest.loop is Loop.OPEN else "less --concurrency"
            raise InvalidValue(
                f"capacity: a trial would need a list of {urls:,} URLs, and has at most {MOST_URLS:,}; give {cure}"
            )

    def _check_way(self) -> None:
        """Refuse a link to another machine: the way there is a real one."""
        axes = self.axes
        varied = any(axes.round_trips_ns) or any(axes.rates_bits_per_s) or any(axes.queues_ns) or axes.loss
        if self.against is not None and (varied or not axes.link.direct):
            raise InvalidValue(
                f"--against {self.against}: the way there is a real one, which nothing is added to; leave out --link,"
                " --rtt, --link-rate, --queue and --loss, or the preset that has them"
            )

    @property
    def name(self) -> str:
        """The verb."""
        return NAME

    def condition(self, point: CapacityPoint) -> Condition:
        """Return the condition of a point: the link that it names, and URLs of its size and delay."""
        timing = timing_of(point, self.duration_s)
        delay = f"delay_ms={point.delay_ns // _MS}&" if point.delay_ns else ""
        urls = UrlSeries(f"{self.against or _HOST}/bytes/{point.size_bytes}?{delay}n=", timing.urls)
        return Condition(
            experiment=NAME,
            web=self.web,
            workload=Workload(urls, timeout_s=self.timeout_s),
            seed=self.seed,
            concurrency=point.concurrency,
            link=self.axes.link_at(point),
            link_seed=self.link_seed,
            against=self.against,
            deadline_s=timing.deadline_s,
            memory_bytes=self.memory_bytes,
            rate_per_s=point.target_per_s if point.loop is Loop.OPEN else None,
            name=name_of(point),
            send_s=timing.send_s,
            grace_s=timing.grace_s,
            foreseen_s=timing.foreseen_s,
            point=replace(point, objective=self.slo),
        )

    def conditions(self) -> Sequence[Condition]:
        """Return the points of the grid, as conditions."""
        return [self.condition(point) for point in self.axes.points()]

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Interleave the trials of all subjects: a block for each point, or a round of the search."""
        if self.frontier:
            return frontier_plan(
                subjects,
                self.axes,
                self.condition,
                objective=self.slo,
                repeat=self.repeat,
                seed=self.seed,
            )
        plans = schedule(subjects, self.conditions(), repeat=self.repeat, seed=self.seed)
        return ListedPlan(plans, {"repeat": self.repeat})

    def webs(self) -> tuple[WebIdentity]:
        """Return the web that serves content of any size."""
        return (WebIdentity(self.web, self.seed, self.web_digest),)

    def settings(self) -> Mapping[str, Setting]:
        """Return the options that it was made with."""
        return {**self.axes.settings(), **settings_of(self)}


def restore_capacity(
    settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path | None = None
) -> Capacity:
    """Make the experiment again from what its manifest says."""
    with reading_settings():
        axes = Axes.restored(settings)
    return restored(Capacity, settings, webs, urls, axes=axes)
