"""Plan the capacity experiment: the subjects, the grid, and the durations of trials."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Final, Self

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.against import negotiate_web
from httpdyno.experiments.capacity.axes import QUANTITIES, Axes, name_of
from httpdyno.experiments.capacity.figures import DEFAULT_OBJECTIVE, CapacityPoint, parse_objective
from httpdyno.experiments.capacity.frontier import slices
from httpdyno.experiments.capacity.limits import Situation
from httpdyno.experiments.capacity.options import NAME, CapacityOptions
from httpdyno.experiments.capacity.published import preset_axes, varies_link
from httpdyno.experiments.experiment import Beginning, Begun, Setting, Tell
from httpdyno.experiments.option_fields import stored_options
from httpdyno.experiments.plan import ListedPlan, NextTrial, Plan, SearchPlan, schedule
from httpdyno.experiments.restoring import OfOneWeb, reading_settings, restored, settings_of
from httpdyno.lab.engine import Engine
from httpdyno.model import (
    MOST_URLS,
    Condition,
    Link,
    Loop,
    Outcome,
    Subject,
    SubjectKind,
    Trial,
    UrlSeries,
    Workload,
    format_span,
    parse_loop,
)
from httpdyno.model.link import BILLION, LinkTextError, key_value
from httpdyno.published import PublishedTable, find_preset, parse_scale
from httpdyno.store import WebIdentity
from httpdyno.subjects.catalogue import Catalogue
from httpdyno.subjects.template import loops_of

_DEFAULT_SUBJECTS: Final = ("go-net-http",)
"""Default subject of a preset.

The published grids were measured with hey, which is built on Go's net/http. The client is the default: each of its
answers is verified, and it needs only Go. To measure hey as shipped, name it.
"""
_ANSWER_S: Final = 0.0002
"""Least time of an answer without any other limit."""
_PROGRAM_PER_S: Final = 20_000.0
_PROGRAM_BITS_PER_S: Final = 12e9
"""Most answers a second of a program on one or two CPUs; bounds the length of a list."""
_MEASURED_S: Final = 0.6
"""Length of the measured stretch, rounded to whole rounds, at least one."""
_ROUNDS_AROUND: Final = 2
"""Unmeasured rounds."""
_FEWEST_OVER_A_DISTANCE: Final = 4
"""Fewest measured rounds if slow start dominates the first round."""
_START_S: Final = 5.0
_PATIENCE: Final = 6.0
"""Deadline of a trial as a multiple of its predicted time: a program may be slower than any link."""


def _situation(point: CapacityPoint) -> Situation:
    return Situation(point, Link.symmetric(round_trip_ns=point.round_trip_ns, rate_bits_per_s=point.rate_bits_per_s))


def predicted_per_s(point: CapacityPoint) -> float:
    """Return the most answers a second that any subject can get."""
    situation = _situation(point)
    of_program = min(_PROGRAM_PER_S, _PROGRAM_BITS_PER_S / situation.bits_per_s(1))
    return min(situation.lawful_per_s, of_program, point.concurrency / _ANSWER_S)


_DEFAULT_DURATION_S: Final = 5.0
"""Default duration of the measured part of a schedule."""
_SHORTEST_DURATION_S: Final = 0.5
"""Shortest measured part: programs need longer to settle after their start."""
_WARM_UP_S: Final = 0.5
"""Warm-up of a program at the start of each schedule."""
_STARTING_S: Final = 30.0
"""Longest start of a program, until it reads its first line and the schedule begins."""
_TO_SETTLE: Final = 2
"""Answer times until the rate of answers matches the rate of requests."""
_GRACE_S: Final = 1.0
"""Longest wait for answers after the schedule; later ones miss any objective."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Length of a trial's list, and its durations."""

    urls: int
    send_s: float
    """Sending time of the schedule, or of a tool."""
    grace_s: float | None
    """Wait for answers after the schedule; None without a schedule."""
    deadline_s: float
    foreseen_s: float
    """Time of the trial if the point is held."""


def timing_of(point: CapacityPoint, duration_s: float) -> Timing:
    """Return the timing of a trial.

    ``duration_s`` is the measured part of a schedule. A closed loop takes as long as it needs: connections and slow
    start, then whole rounds. One round before the measured ones is the warm-up, the last is under way when the list is
    exhausted.
    """
    if point.loop is Loop.CLOSED:
        per_s = predicted_per_s(point)
        opening_s = _situation(point).first_round_trips * point.round_trip_ns / 1e9
        latency_s = point.concurrency / per_s
        fewest = _FEWEST_OVER_A_DISTANCE if 2 * opening_s > latency_s else 1
        urls = (_ROUNDS_AROUND + max(fewest, round(_MEASURED_S / latency_s))) * point.concurrency
        foreseen_s = urls / per_s + opening_s
        # Some tools accept only whole seconds; the wait for the last answers is not sending time.
        send_s = float(ceil(foreseen_s - latency_s))
        return Timing(urls, send_s, None, _milliseconds(_START_S + _PATIENCE * foreseen_s), foreseen_s)
    assert point.target_per_s is not None, "an open loop has a rate"
    # One answer on an idle link, including its connection.
    answer_s = _situation(point).least_s(2)
    send_s = _milliseconds(_WARM_UP_S + _TO_SETTLE * answer_s + duration_s)
    grace_s = _milliseconds(_GRACE_S + _TO_SETTLE * answer_s)
    deadline_s = _milliseconds(_STARTING_S + send_s + grace_s)
    return Timing(ceil(send_s * point.target_per_s), send_s, grace_s, deadline_s, send_s + answer_s)


def _milliseconds(time_s: float) -> float:
    """Round up to a value that suits command lines, unlike 2.9000000000000004."""
    return ceil(round(time_s * 1000, 6)) / 1000


_OVERHEAD_S: Final = 0.7
"""Overhead of a trial: creating and checking its room and link, and judging answers."""
MOST_TRIALS: Final = 100_000
"""Most trials of a run; more would take too long and not fit into memory."""
_MOST_UNCONFIRMED: Final = 3_000
_LONGEST_UNCONFIRMED_S: Final = 3600.0
_SAMPLED_POINTS: Final = 500
"""Number of evenly spread points that estimate the time of a trial."""


def mean_trial_s(axes: Axes, duration_s: float) -> float:
    """Estimate the mean time of a trial of a grid from a sample of its points.

    ``duration_s`` is the measured part of each schedule.
    """
    count = axes.count
    sampled = min(count, _SAMPLED_POINTS)
    numbers = [number * count // sampled for number in range(sampled)]
    return sum(timing_of(axes.point(number), duration_s).foreseen_s for number in numbers) / sampled + _OVERHEAD_S


def check_extent(trials: int, time_s: float, *, confirmed: bool) -> None:
    """Refuse a run with too many trials, or without --yes one that takes very long."""
    days = time_s / 86400
    much = f"capacity: {trials:,} trials would take about {f'{days:,.0f} days' if days >= 3 else format_span(time_s)}"
    if trials > MOST_TRIALS:
        raise UsageError(f"{much}; a run has at most {MOST_TRIALS:,}: make the grid smaller, or search (--frontier)")
    if not confirmed and (trials > _MOST_UNCONFIRMED or time_s > _LONGEST_UNCONFIRMED_S):
        raise UsageError(f"{much}; give --yes to start them, or make the grid smaller, or search (--frontier)")


_MS: Final = 10**6
_HOST: Final = "http://capacity.example"
_FEWEST_SIZES: Final = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity(CapacityOptions, OfOneWeb):
    """Experiment: the limits within which subjects hold a rate."""

    axes: Axes
    """The grid spanned by the axes."""
    slo: str = DEFAULT_OBJECTIVE
    duration_s: float = _DEFAULT_DURATION_S
    timeout_s: float = 10.0
    seed: int = 1
    web: str = "plain"
    web_digest: str | None = None
    """The engine's default web and seed."""

    def __post_init__(self) -> None:
        """Refuse impossible runs before anything is built."""
        if not self.duration_s >= _SHORTEST_DURATION_S:
            raise InvalidValue(f"{self.duration_s:g} s are too short; write 1s or more", option="--duration")
        parse_objective(self.slo)
        axes = self.axes
        if self.frontier and (len(set(axes.sizes_bytes)) < _FEWEST_SIZES or axes.rps is None):
            raise InvalidValue("--frontier requires several sizes, like --size 0,50KiB,...,500KiB")
        varied = any(axes.round_trips_ns) or any(axes.rates_bits_per_s) or any(axes.queues_ns) or axes.loss
        if self.against is not None and (varied or not axes.link.direct):
            raise InvalidValue(
                f"--against {self.against} uses a real network and conflicts with --link, --rtt, --link-rate, --queue"
                " and --loss; leave them out, or the preset that sets them"
            )
        # The slowest point has the longest list of URLs.
        first, last = axes.point(0), axes.point(axes.count - 1)
        urls = timing_of(replace(last, rate_bits_per_s=axes.rates_bits_per_s[0]), self.duration_s).urls
        if urls > MOST_URLS:
            cure = "a smaller --rps or a shorter --duration" if axes.loop is Loop.OPEN else "less --concurrency"
            raise InvalidValue(
                f"capacity: a trial would need a list of {urls:,} URLs, and has at most {MOST_URLS:,}; give {cure}"
            )
        _ = self.condition(first), self.condition(last)

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
            return self._search(subjects)
        plans = schedule(subjects, self.conditions(), repeat=self.repeat, seed=self.seed)
        return ListedPlan(plans, {"repeat": self.repeat})

    def _search(self, subjects: Sequence[Subject]) -> SearchPlan:
        """Plan the search for the frontiers of several subjects.

        An unavailable subject has one trial with the reason.
        """
        objective = parse_objective(self.slo)
        grid = slices(self.axes, repeat=self.repeat)
        first = self.condition(grid[0].first_point)

        def choose(_subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
            if any(trial.outcome is Outcome.UNAVAILABLE for trial in seen):
                return None
            for one in grid:
                point = one.next_point(seen, objective)
                if point is not None:
                    again = any(trial.get(CapacityPoint) == point for trial in seen)
                    why = "repeats a doubtful result" if again else "the boundary may lie here"
                    return NextTrial(self.condition(point), why)
            # One trial is evidence that a slice is impossible.
            return None if seen else NextTrial(first, "cannot hold by the model: measures how far it gets")

        most = sum(one.search.budget for one in grid) * len(subjects)
        return SearchPlan(tuple(subjects), first, most, choose, self.seed)

    def settings(self) -> Mapping[str, Setting]:
        """Return the options of the experiment."""
        return {**self.axes.settings(), **settings_of(self)}

    @classmethod
    def restore(cls, settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path | None = None) -> Self:
        """Rebuild the experiment from its manifest."""
        with reading_settings():
            axes = Axes.restored(settings)
        return restored(cls, settings, webs, urls, axes=axes)


_WEB = "plain"
_LOOPS = {Loop.OPEN: "an open loop, on a schedule", Loop.CLOSED: "a closed loop"}


def begin_capacity(beginning: Beginning, names: Sequence[str], options: CapacityOptions) -> Begun:
    """Build the experiment from the options."""
    chosen = choose_subjects(beginning.catalogue, names, options.preset)
    experiment = make_capacity(options, chosen, beginning.place.engine, beginning.tell)
    trials = experiment.axes.count * len(chosen) * experiment.repeat
    if experiment.frontier:
        trials = experiment.plan(chosen).most
    check_extent(trials, trials * mean_trial_s(experiment.axes, experiment.duration_s), confirmed=options.yes)
    beginning.install(chosen)
    return Begun(experiment, chosen)


def choose_subjects(catalogue: Catalogue, names: Sequence[str] | None, preset: str | None) -> tuple[Subject, ...]:
    """Return the named clients and tools, or the default subjects of the preset."""
    if not names and preset is None:
        raise UsageError("capacity: name a SUBJECT to measure, such as go-net-http")
    subjects = catalogue.select(names or _DEFAULT_SUBJECTS)
    for subject in subjects:
        if subject.kind is SubjectKind.SERVER:
            raise UsageError(
                f"{subject.id} is a server; capacity measures clients and load tools, see: httpdyno subjects list"
            )
    return subjects


def make_capacity(options: CapacityOptions, subjects: Sequence[Subject], engine: Engine, tell: Tell) -> Capacity:
    """Build the experiment; the engine gives the default seed of its web."""
    preset = None if options.preset is None else find_preset(options.preset, NAME)
    axes = _axes(options, preset, default_loop(subjects))
    if options.duration_s is not None and axes.loop is Loop.CLOSED:
        raise UsageError(
            "conflicts with the closed loop, which has no schedule; leave it out", option="--duration", joint=" "
        )
    for tool in (subject for subject in subjects if subject.kind is SubjectKind.TOOL):
        if axes.loop not in loops_of(tool):
            raise UsageError(f"{tool.id} cannot send in {_LOOPS[axes.loop]}; give the other --loop, or leave it out")
        if axes.loop is Loop.OPEN and not tool.open_counts_from_due:
            tell(f"{tool.id} counts from the actual send, not from the scheduled one: its times leave out the waits")
    there = (
        None
        if options.against is None
        else negotiate_web(options.against, engine, tell, web=_WEB, seed=options.seed, fixed=True)
    )
    web = engine.web(_WEB, seed=there.seed if there else options.seed)
    defaults: dict[str, Any] = {
        "slo": DEFAULT_OBJECTIVE,
        "duration_s": 1.0 if options.quick else _DEFAULT_DURATION_S,
        "timeout_s": (preset and preset.circumstances.timeout_s) or 10.0,
    }
    given = {name: value for name, value in stored_options(options).items() if value is not None}
    found: dict[str, Any] = {
        "seed": web.seed,
        "scale": options.scale if options.preset else None,
        "against": there.url if there else None,
    }
    return Capacity(**(defaults | given | found), axes=axes, web=_WEB, web_digest=web.digest)


def default_loop(subjects: Sequence[Subject]) -> Loop:
    """Return the default loop: closed for tools whose times leave out the waits of an open loop."""
    blind = (subject.kind is SubjectKind.TOOL and not subject.open_counts_from_due for subject in subjects)
    return Loop.CLOSED if all(blind) else Loop.OPEN


def _axes(options: CapacityOptions, preset: PublishedTable | None, loop: Loop) -> Axes:
    """Return the grid of the preset, or the default grid, with the given axes replaced.

    A real network replaces a link that all points of a preset share.
    """
    if preset is None:
        for option, is_given in (("--scale", options.scale is not None), ("--as-labelled", options.as_labelled)):
            if is_given:
                raise UsageError(f"{option} requires a published grid; give a --preset, too")
        axes = Axes(loop=loop)
    else:
        axes = preset_axes(
            preset, parse_scale("1" if options.scale is None else options.scale), as_labelled=options.as_labelled
        )
        if options.against is not None and not varies_link(preset):
            axes = replace(axes, round_trips_ns=(0,), rates_bits_per_s=(None,), queues_ns=(None,))
    axes = axes if options.link is None else axes.over(Link.parse(options.link))
    given: dict[str, Any] = {
        quantity.axis: quantity.values(text)
        for quantity in QUANTITIES
        if (text := getattr(options, quantity.setting)) is not None
    }
    given |= {"rps": options.rps} if options.rps is not None else {}
    given |= {"loss": _loss(options.loss)} if options.loss is not None else {}
    given |= {"loop": parse_loop(options.loop, name="--loop")} if options.loop is not None else {}
    return replace(axes, **given)


def _loss(text: str) -> float:
    try:
        return key_value(f"loss={text}")[1] / BILLION
    except LinkTextError as refused:
        raise InvalidValue(f"--{refused}") from None
