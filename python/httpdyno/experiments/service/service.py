"""The service question as an experiment: a grid of points for each server, or a search for where each one breaks."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.plan import ListedPlan, Plan
from httpdyno.experiments.restoring import reading_settings, restored, settings_of
from httpdyno.experiments.schedule import schedule
from httpdyno.experiments.service.axes import OWN_GENERATOR, Axes, name_of
from httpdyno.experiments.service.figures import Endpoint, ServicePoint
from httpdyno.experiments.service.judge.stretch import send_ns, unit_ns
from httpdyno.experiments.service.options import NAME, ServiceOptions
from httpdyno.experiments.service.search_plan import Bounds, search_plan
from httpdyno.model import Condition, Link, Subject, TrialPlan, Workload
from httpdyno.store import WebIdentity

__all__ = ["QUICK_ROUNDS", "ROUNDS", "USUAL_REPEAT", "Service", "restore_service"]

USUAL_REPEAT: Final = 3
"""Two trials have no spread worth the name, and each lasts many times the longest wait."""
ROUNDS: Final = 4.0
"""How many ideals the steady stretch lasts unless another time is asked for."""
QUICK_ROUNDS: Final = 2.0
_READY_S: Final = 30.0
_PROOF_IDEALS: Final = 6.0
_SLACK_S: Final = 60.0
_SHORTEST_S: Final = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Service(ServiceOptions):
    """How do servers hold up when every request waits for parallel work."""

    axes: Axes
    """The grid that the options of its axes span."""
    send_s: float | None = None
    """How long to send in all, where that is asked for instead of a steady stretch."""
    repeat: int = 1
    most_connections: int = 10_000
    seed: int = 1
    generator_folder: str | None = None
    """Where the ``subject.toml`` of another generator lies; None: ours sends."""
    threads_of: Mapping[str, int] | None = None
    """Threads of single servers, by their ids, whatever the grid says: a preset's."""

    def __post_init__(self) -> None:
        """Refuse what no trial can be before anything is built."""
        if self.duration_s is not None and not self.duration_s >= _SHORTEST_S:
            raise InvalidValue(f"--duration: {self.duration_s:g} s are too short to tell anything; write 1s or more")
        longest_s = max(point.ideal_ns for point in self.axes.points()) / 1e9
        # A slow server answers in bursts an ideal or two apart: a shorter stretch has one of them, or none.
        if self.duration_s is not None and self.duration_s < QUICK_ROUNDS * longest_s:
            raise InvalidValue(
                f"--duration: {self.duration_s:g} s are too short for requests that wait {longest_s:g} s;"
                f" write {math.ceil(QUICK_ROUNDS * longest_s)}s or more"
            )
        if self.search and self.axes.endpoint is not Endpoint.WORKLOADS:
            raise InvalidValue("--search: only requests that wait have an ideal to hold; leave out --endpoint")
        if self.search and self.axes.rate_per_s is not None:
            raise InvalidValue("--search: the rate follows from the number of connections; leave out --rate")
        if self.search and self.most_connections < min(self.axes.connections):
            raise InvalidValue(
                f"--most-connections: {self.most_connections:,} are fewer than the {min(self.axes.connections):,} "
                "that the search begins with; give more, or fewer --connections"
            )
        _ = self.conditions()

    @property
    def name(self) -> str:
        """The verb."""
        return NAME

    def condition(self, point: ServicePoint) -> Condition:
        """Return the condition of a point."""
        send_s = self._send_s(point)
        ideal_s = unit_ns(point) / 1e9
        proof_s = _PROOF_IDEALS * ideal_s + (point.timeout_ms or 0) / 1e3
        return Condition(
            experiment=NAME,
            web="",
            workload=Workload((), timeout_s=send_s + ideal_s),
            seed=self.seed,
            concurrency=point.connections,
            link=Link.parse(self.link),
            link_seed=self.link_seed,
            deadline_s=_READY_S + proof_s + send_s + _SLACK_S,
            memory_bytes=self.memory_bytes,
            name=name_of(point),
            send_s=send_s,
            foreseen_s=send_s + _PROOF_IDEALS / 2 * ideal_s,
            point=point,
        )

    def _send_s(self, point: ServicePoint) -> float:
        if self.send_s is not None:
            return self.send_s
        rounds = QUICK_ROUNDS if self.quick else ROUNDS
        measured_s = rounds * unit_ns(point) / 1e9 if self.duration_s is None else self.duration_s
        send_s = send_ns(point, round(measured_s * 1e9)) / 1e9
        # Some tools know whole seconds only.
        return send_s if point.generator == OWN_GENERATOR else float(math.ceil(send_s))

    def conditions(self) -> Sequence[Condition]:
        """Return the points of the grid, as conditions."""
        return [self.condition(point) for point in self.axes.points()]

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Interleave the trials of all servers: a block for each point, or a round of the search."""
        if self.search:
            return search_plan(subjects, self.axes, self._own, self.bounds, seed=self.seed)
        plans = schedule(subjects, self.conditions(), repeat=self.repeat, seed=self.seed)
        own = tuple(replace(plan, condition=self._own_of(plan)) for plan in plans)
        return ListedPlan(own, {"repeat": self.repeat})

    @property
    def bounds(self) -> Bounds:
        """Between which numbers of connections is searched, and how finely."""
        return Bounds(min(self.axes.connections), self.most_connections, quick=self.quick)

    def _own_of(self, plan: TrialPlan) -> Condition:
        assert plan.condition.get(ServicePoint) is not None, "each point of the grid has one"
        return self._own(plan.subject, plan.condition[ServicePoint])

    def _own(self, subject: Subject, point: ServicePoint) -> Condition:
        """Return the condition of a point for one server, with the threads that it has of its own."""
        condition = self.condition(point)
        own = (self.threads_of or {}).get(subject.id)
        return condition if own is None else replace(condition, point=replace(point, threads=own))

    def webs(self) -> tuple[WebIdentity, ...]:
        """Return no web: servers answer themselves."""
        return ()

    def settings(self) -> Mapping[str, Setting]:
        """Return the options that it was made with."""
        threads = ",".join(f"{name}={count}" for name, count in sorted((self.threads_of or {}).items()))
        return {**self.axes.settings(), **settings_of(self), "threads_of": threads or None, "seed": self.seed}


def restore_service(settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path | None = None) -> Service:
    """Make the experiment again from what its manifest says."""
    with reading_settings():
        axes, seed = Axes.restored(settings), int(settings["seed"] or 0)
        pairs = [pair.split("=") for pair in str(settings["threads_of"] or "").split(",") if pair]
        threads = {name: int(count) for name, count in pairs}
    return restored(Service, settings, webs, urls, axes=axes, seed=seed, threads_of=threads or None)
