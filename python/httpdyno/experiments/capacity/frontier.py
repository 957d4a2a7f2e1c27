"""The frontier of the capacity question: which trial of a subject comes next, and how far it reaches by those made."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Final

from httpdyno.experiments.capacity.axes import Axes
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.frontier_point import Frontier, FrontierAxis, FrontierPoint
from httpdyno.experiments.capacity.judge.objective import Objective, parse_objective
from httpdyno.experiments.capacity.margin import beyond_law, error_chance_of
from httpdyno.experiments.capacity.quantity import shown_size, shown_time
from httpdyno.model import Outcome, Trial, format_rate
from httpdyno.stats import Check, ColumnBoundary, ColumnCheck, FrontierSearch

__all__ = ["Slice", "frontiers", "refined", "slices"]

_HEAD_BYTES: Final = 256
"""Even an answer without content has a head: on a logarithmic scale, too, it lies somewhere."""
_SHARE: Final = 2 / 5
"""Of the trials of the grid, those that may be made where there is much doubt; without, it takes half of them."""
_DOUBT: Final = 2
"""How many times as many trials may be made as a walk along the boundary takes, where that is more."""
_RESOLUTION: Final = 1.1
_KIB: Final = 1024
_FIELDS: Final[Mapping[FrontierAxis, str]] = {
    FrontierAxis.ROUND_TRIP: "round_trip_ns",
    FrontierAxis.LINK_RATE: "rate_bits_per_s",
    FrontierAxis.DELAY: "delay_ns",
    FrontierAxis.CONCURRENCY: "concurrency",
}
"""Of two axes of as many values the first is taken for the frontier's."""


def refined(axes: Axes) -> Axes:
    """Return the axes with sizes in between, 10 % apart, where only the first and the last were given."""
    if len(axes.sizes_bytes) != len(("first", "last")):
        return axes
    first, last = sorted(axes.sizes_bytes)
    sizes, size = [first], max(first, _KIB)
    while size < last:
        sizes.append(max(_KIB, round(size / _KIB) * _KIB))
        size = round(size * _RESOLUTION)
    return replace(axes, sizes_bytes=tuple(sorted({*sizes, last})))


@dataclass(frozen=True)
class Slice:
    """The points of a grid that differ in their size and along one axis only."""

    axis: FrontierAxis
    values: tuple[int | None, ...]
    """Along the axis, the easiest first."""
    sizes_bytes: tuple[int, ...]
    """Ascending."""
    corner: CapacityPoint
    """One of its points: what all others share."""
    rest: str
    """What tells it from the other slices of the grid; empty when there is one."""
    axes: Axes
    """The grid that it is of."""
    repeat: int = 1

    @property
    def grid_trials(self) -> int:
        """How many points it has."""
        return len(self.values) * len(self.sizes_bytes)

    @cached_property
    def search(self) -> FrontierSearch:
        """The search for its boundary."""
        columns, sizes = len(self.values), len(self.sizes_bytes)
        walk = min(columns + sizes - 1, columns * sizes.bit_length())
        budget = max(int(self.grid_trials * _SHARE), _DOUBT * walk)
        loads = tuple(float(size + _HEAD_BYTES) for size in self.sizes_bytes)
        known = tuple(self._impossible(loads))
        return FrontierSearch(loads, columns, budget * self.repeat, trusted=self.axis.ordered, known=known)

    def _impossible(self, loads: Sequence[float]) -> Iterator[ColumnCheck]:
        """Return of each column the smallest size that nobody can hold there, by the laws of links and queues."""
        for column in range(len(self.values)):
            fails = next((load for load in loads if self._is_beyond_law(column, load)), None)
            if fails is not None:
                yield ColumnCheck(column, Check(fails, held=False))

    def _is_beyond_law(self, column: int, load: float) -> bool:
        point = self.point(column, load)
        return beyond_law(point, self.axes.link_at(point))

    def point(self, column: int, load: float) -> CapacityPoint:
        """Return the point of a step of the search."""
        changes: dict[str, Any] = {"size_bytes": round(load) - _HEAD_BYTES, _FIELDS[self.axis]: self.values[column]}
        return replace(self.corner, **changes)

    def checks(self, trials: Iterable[Trial], objective: Objective) -> list[ColumnCheck]:
        """Read from trials of one subject what the search looks at, in their order; those of other slices are left."""
        return [check for trial in trials if (check := self._check(trial, objective)) is not None]

    def _check(self, trial: Trial, objective: Objective) -> ColumnCheck | None:
        point = trial.get(CapacityPoint)
        if point is None or point.size_bytes not in self.sizes_bytes:
            return None
        value = getattr(point, _FIELDS[self.axis])
        if value not in self.values or self.point(self.values.index(value), point.size_bytes + _HEAD_BYTES) != point:
            return None
        summary = trial.get(CapacitySummary)
        held = summary is not None and bool(summary.held) and trial.outcome is Outcome.OK
        check = Check(float(point.size_bytes + _HEAD_BYTES), held, error_chance_of(trial, objective))
        return ColumnCheck(self.values.index(value), check)


def slices(axes: Axes, *, repeat: int = 1) -> tuple[Slice, ...]:
    """Divide a grid into slices, along the axis with the most values: rtt, link rate, delay; else concurrency."""
    axis = _axis(axes)
    others = [name for name in _FIELDS.values() if name != _FIELDS[axis]] + ["queue_ns"]
    first = next(axes.points())
    varied = _values(axes)
    values = tuple(sorted(varied[_FIELDS[axis]], key=_ease, reverse=not axis.harder_upwards))
    grids = product(*(varied[name] for name in others))
    several = [name for name in others if len(varied[name]) > 1]
    return tuple(
        Slice(axis, values, tuple(sorted(set(axes.sizes_bytes))), corner, _rest(corner, several), axes, repeat)
        for grid in grids
        for corner in [_with(first, others, grid)]
    )


def frontiers(trials: Sequence[Trial], axes: Axes, objective: str, *, repeat: int = 1) -> tuple[Frontier, ...]:
    """Return how far each subject reaches, in the order of their first trials.

    ``repeat`` is how many times as many trials as usual could be made.
    """
    required = parse_objective(objective)
    subjects = dict.fromkeys(trial.subject for trial in trials if trial.get(CapacityPoint) is not None)
    grid = slices(refined(axes), repeat=repeat)
    return tuple(_frontier(subject, one, trials, required) for subject in subjects for one in grid)


def _frontier(subject: str, one: Slice, trials: Iterable[Trial], objective: Objective) -> Frontier:
    seen = one.checks((trial for trial in trials if trial.subject == subject), objective)
    points = zip(one.values, one.search.conclude(seen), strict=True)
    ascending = sorted((_point(value, boundary) for value, boundary in points), key=lambda point: point.x)
    exhausted = one.search.exhausted(seen)
    against = _against(one, seen)
    return Frontier(subject, one.axis, one.rest, tuple(ascending), len(seen), one.grid_trials, against, exhausted)


def _against(one: Slice, seen: Sequence[ColumnCheck]) -> tuple[str, ...]:
    def place(column: int, load: float) -> str:
        return f"{shown_size(round(load) - _HEAD_BYTES)} at {_shown(_FIELDS[one.axis], one.values[column])}"

    return tuple(
        f"{place(found.held.column, found.held.load)} held, but {place(found.failed.column, found.failed.load)} did "
        f"not, although that should be easier; both were tried again"
        for found in one.search.contradictions(seen)
    )


def _point(value: int | None, boundary: ColumnBoundary) -> FrontierPoint:
    def size(load: float | None) -> int | None:
        return None if load is None else round(load) - _HEAD_BYTES

    return FrontierPoint(
        x=value or 0,
        size_bytes=size(boundary.held),
        holds_up_to_bytes=size(boundary.holds_up_to),
        fails_from_bytes=size(boundary.fails_from),
        level=boundary.level,
        trials=boundary.trials,
        doubtful=boundary.doubtful,
    )


def _with(point: CapacityPoint, names: Sequence[str], values: Sequence[int | None]) -> CapacityPoint:
    changes: dict[str, Any] = dict(zip(names, values, strict=True))
    return replace(point, **changes)


def _axis(axes: Axes) -> FrontierAxis:
    """Return the axis of which a walk along the boundary saves most; more in flight need not be harder or easier."""
    counts = {axis: len(values) for axis, name in _FIELDS.items() for values in [_values(axes)[name]]}
    several = [axis for axis, count in counts.items() if count > 1 and axis.ordered]
    rest = FrontierAxis.CONCURRENCY if counts[FrontierAxis.CONCURRENCY] > 1 else FrontierAxis.ROUND_TRIP
    return max(several, key=counts.__getitem__, default=rest)


def _values(axes: Axes) -> Mapping[str, tuple[int | None, ...]]:
    return {
        "round_trip_ns": tuple(dict.fromkeys(axes.round_trips_ns)),
        "rate_bits_per_s": tuple(dict.fromkeys(axes.rates_bits_per_s)),
        "delay_ns": tuple(dict.fromkeys(axes.delays_ns)),
        "concurrency": tuple(dict.fromkeys(axes.concurrencies)),
        "queue_ns": tuple(dict.fromkeys(axes.queues_ns)),
    }


def _ease(value: int | None) -> float:
    """Order values; a link without a limit is faster than any."""
    return float("inf") if value is None else value


def _rest(corner: CapacityPoint, names: Iterable[str]) -> str:
    return ", ".join(_shown(name, getattr(corner, name)) for name in names)


def _shown(name: str, value: int | None) -> str:
    if name == "rate_bits_per_s":
        return "an unlimited rate" if value is None else format_rate(value)
    if name == "concurrency":
        return f"{value} in flight"
    label = {"round_trip_ns": "rtt", "delay_ns": "delay", "queue_ns": "queue"}[name]
    return f"{label} {shown_time(value or 0)}"
