"""The frontier of the capacity question: the search for it, and its conclusion from trials."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.axes import (
    CONCURRENCY,
    DELAY,
    LINK_RATE,
    QUEUE,
    ROUND_TRIP,
    Axes,
    Quantity,
    Value,
    shown_size,
)
from httpdyno.experiments.capacity.figures import (
    DEFAULT_OBJECTIVE,
    ERRORS,
    CapacityPoint,
    CapacitySummary,
    Objective,
    parse_objective,
)
from httpdyno.experiments.capacity.limits import KEPT_SHARE, failed_by_law, is_impossible, link_was_as_requested
from httpdyno.experiments.experiment import Setting
from httpdyno.model import Outcome, Trial, Validity, records_of
from httpdyno.stats import ColumnBoundary, FrontierCheck, FrontierSearch, FrontierStep


@dataclass(frozen=True, slots=True)
class FrontierPoint(ColumnBoundary):
    """The boundary at one value of the axis: the largest sizes that hold, in bytes."""

    x: int
    """Value of the axis, in its unit."""


@dataclass(frozen=True, slots=True)
class Frontier:
    """Frontier of one subject along one axis, with all other settings fixed."""

    subject: str
    axis: Quantity
    rest: str
    """The other settings, as in the name of a condition; empty if none of them varies."""
    points: tuple[FrontierPoint, ...]
    """In the order of the axis."""
    trials: int
    grid_trials: int
    """Trials that the whole grid would take, one for each point."""
    contradictions: tuple[str, ...] = ()
    """Repeated results that contradict the order of the axis, one line each."""
    exhausted: bool = False
    """Whether the budget ended the search before all boundaries were certain."""


_HEAD_ON_AXIS_BYTES: Final = 256
"""Added to each size, as every answer has a head; gives size 0 a place on the logarithmic scale."""
_SHARE: Final = 2 / 5
"""Budget of a search as a share of the grid's trials; without much doubt, a search needs half of it."""
_DOUBT: Final = 2
"""Budget as a multiple of the trials of a walk along the boundary, if that is more."""
_RESOLUTION: Final = 1.1
_KIB: Final = 1024
_AXES: Final = (ROUND_TRIP, LINK_RATE, DELAY, CONCURRENCY)
"""Axes along which a frontier can run; of axes with equally many values, the first is the frontier's."""
_HARDER_UPWARDS: Final = (ROUND_TRIP, DELAY)
"""Axes whose larger values make large answers harder."""


def refine_sizes(sizes_bytes: Iterable[int]) -> tuple[int, ...]:
    """Return the sizes in ascending order; between two sizes alone, add others that are 10 % apart."""
    sizes = set(sizes_bytes)
    if len(sizes) == len(("first", "last")):
        last = max(sizes)
        size = max(min(sizes), _KIB)
        while size < last:
            sizes.add(max(_KIB, round(size / _KIB) * _KIB))
            size = round(size * _RESOLUTION)
    return tuple(sorted(sizes))


@dataclass(frozen=True)
class Slice:
    """Points of a grid that differ only in size and along one axis."""

    axis: Quantity
    values: tuple[Value, ...]
    """Along the axis, the easiest first."""
    sizes_bytes: tuple[int, ...]
    """Ascending."""
    corner: CapacityPoint
    """One of its points; the others share its remaining settings."""
    rest: str
    """Settings that distinguish it from the other slices; empty if there is only one."""
    axes: Axes
    """The whole grid."""
    repeat: int = 1

    @cached_property
    def search(self) -> FrontierSearch:
        """The search for its boundary; by the laws of links and queues, some sizes are known to be impossible."""
        columns, sizes = len(self.values), len(self.sizes_bytes)
        walk = min(columns + sizes - 1, columns * sizes.bit_length())
        budget = max(int(columns * sizes * _SHARE), _DOUBT * walk)
        known = []
        for column in range(columns):
            points = (self._point(column, size) for size in self.sizes_bytes)
            fails = next((point for point in points if is_impossible(point, self.axes.link_at(point))), None)
            if fails is not None:
                known.append(FrontierCheck(FrontierStep(column, fails.size_bytes), held=False))
        return FrontierSearch(
            self.sizes_bytes,
            columns,
            budget * self.repeat,
            # The order of the columns is uncertain if too many requests in flight can make it harder again.
            trusted=self.axis is not CONCURRENCY,
            known=tuple(known),
            offset=_HEAD_ON_AXIS_BYTES,
        )

    def _point(self, column: int, size_bytes: int) -> CapacityPoint:
        changes: dict[str, Any] = {"size_bytes": size_bytes, self.axis.field: self.values[column]}
        return replace(self.corner, **changes)

    @property
    def first_point(self) -> CapacityPoint:
        """The smallest size at the easiest value of the axis."""
        return self._point(0, self.sizes_bytes[0])

    def next_point(self, seen: Iterable[Trial], objective: Objective) -> CapacityPoint | None:
        """Return the point that the search measures next; None: it is over."""
        step = self.search.next(self.checks(seen, objective))
        return None if step is None else self._point(step.column, step.load)

    @cached_property
    def _columns(self) -> Mapping[CapacityPoint | None, int]:
        return {self._point(column, size): column for column in range(len(self.values)) for size in self.sizes_bytes}

    def checks(self, trials: Iterable[Trial], objective: Objective) -> list[FrontierCheck]:
        """Read the search's checks from trials of one subject, in order; trials of other slices are skipped."""
        found = []
        for trial in trials:
            column = self._columns.get(trial.get(CapacityPoint))
            if column is not None:
                summary = trial.get(CapacitySummary)
                held = summary is not None and bool(summary.held) and trial.outcome is Outcome.OK
                step = FrontierStep(column, trial[CapacityPoint].size_bytes)
                found.append(FrontierCheck(step, held, error_chance_of(trial, objective)))
        return found

    def frontier(self, subject: str, trials: Iterable[Trial], objective: Objective) -> Frontier:
        """Conclude the frontier of a subject from its trials."""

        def place(step: FrontierStep) -> str:
            return f"{shown_size(step.load)} at {self.axis.name(self.values[step.column])}"

        seen = self.checks((trial for trial in trials if trial.subject == subject), objective)
        boundaries = zip(self.values, self.search.conclude(seen), strict=True)
        points = (
            FrontierPoint(found.held, found.holds_up_to, found.fails_from, found.doubtful, value or 0)
            for value, found in boundaries
        )
        contradictions = (
            f"{place(pair.held)} held, but {place(pair.failed)} did not, although it should be easier;"
            " both were repeated"
            for pair in self.search.contradictions(seen)
        )
        return Frontier(
            subject,
            self.axis,
            self.rest,
            tuple(sorted(points, key=lambda point: point.x)),
            trials=len(seen),
            grid_trials=len(self._columns),
            contradictions=tuple(contradictions),
            exhausted=self.search.exhausted(seen),
        )


def slices(axes: Axes, *, repeat: int = 1) -> tuple[Slice, ...]:
    """Divide a grid into slices; ``repeat`` multiplies the budget of their searches.

    They run along the axis with the most values, as a walk saves most there: round trip, link rate or delay; else
    concurrency, whose order is uncertain.
    """
    varied = {axis: tuple(dict.fromkeys(axes.values(axis))) for axis in (*_AXES, QUEUE)}
    several = [axis for axis in varied if len(varied[axis]) > 1]
    rest = CONCURRENCY if CONCURRENCY in several else ROUND_TRIP
    axis = max((axis for axis in several if axis in _AXES[:-1]), key=lambda axis: len(varied[axis]), default=rest)
    # An unlimited link is the easiest.
    values = sorted(
        varied.pop(axis),
        key=lambda value: math.inf if value is None else value,
        reverse=axis not in _HARDER_UPWARDS,
    )
    sizes = refine_sizes(axes.sizes_bytes)
    made = []
    for grid in product(*varied.values()):
        at = dict(zip(varied, grid, strict=True))
        changes: dict[str, Any] = {other.field: value for other, value in at.items()}
        rest_text = ", ".join(other.name(value) for other, value in at.items() if other in several)
        made.append(Slice(axis, tuple(values), sizes, replace(axes.point(0), **changes), rest_text, axes, repeat))
    return tuple(made)


_FEWEST_SIZES: Final = 3
"""Fewest sizes of a grid with a frontier: two sizes that are far apart do not locate it."""


def find_frontiers(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Frontier, ...]:
    """Return the frontier of each subject, in the order of their first trials.

    Empty if the run varied no sizes, had no target rate, or if its settings do not define its grid.
    """
    points = records_of(CapacityPoint, trials)
    try:
        axes = Axes.restored(settings)
    except (InvalidValue, KeyError, TypeError, ValueError):
        return ()
    sizes = len({point.size_bytes for point in points})
    if axes.rps is None or not points or not (settings.get("frontier") or sizes >= _FEWEST_SIZES):
        return ()
    objective, repeat = parse_objective(str(settings.get("slo") or DEFAULT_OBJECTIVE)), settings.get("repeat")
    subjects = dict.fromkeys(trial.subject for trial in trials if trial.get(CapacityPoint) is not None)
    grid = slices(axes, repeat=repeat if isinstance(repeat, int) else 1)
    return tuple(one.frontier(subject, trials, objective) for subject in subjects for one in grid)


_NOTHING_KNOWN: Final = 0.5
_DISTURBED: Final = 0.3
_RATE_SPREAD: Final = 0.02
_TIME_SPREAD: Final = 0.1
_ERRORS_SPREAD: Final = 0.5
"""Variation between trials: standard deviations of logarithms; largest for a share of few errors."""
_DISTURBED_SPREAD: Final = 2.5
"""Factor of the variation on a disturbed machine."""
_LEAST_ERRORS: Final = 1e-5
_LITTLE: Final = 0.05
_OBSTACLES: Final = {
    Validity.ORIGIN_LIMITED: _NOTHING_KNOWN,
    Validity.GENERATOR_LIMITED: _NOTHING_KNOWN,
    Validity.LINK_LIMITED: _NOTHING_KNOWN,
    Validity.DISTURBED: _DISTURBED,
    Validity.UNSTEADY: _DISTURBED,
}
"""Validities that can make a subject fail a point that it would hold."""


def error_chance_of(trial: Trial, objective: Objective) -> float:
    """Return the probability that a repeated trial would have the opposite result.

    It is 0 far from every bound, and 1/2 for a trial without information: its result is unknown, or an instrument was
    exhausted when it failed.
    """
    summary, point = trial.get(CapacitySummary), trial.get(CapacityPoint)
    if trial.outcome is Outcome.INTERRUPTED or not link_was_as_requested(trial):
        return _NOTHING_KNOWN
    if trial.outcome is not Outcome.OK:
        return _DISTURBED
    if summary is None or point is None or summary.held is None:
        return _NOTHING_KNOWN
    by_law = failed_by_law(trial)
    obstacle = _OBSTACLES.get(trial.validity, 0.0) if trial.validity else 0.0
    wider = _DISTURBED_SPREAD if obstacle and not by_law else 1.0
    distances = [distance / wider for distance in _distances(summary, point, objective)]
    # A held point counts in spite of a disturbance, and so does an impossible one that failed.
    least = min(obstacle, _LITTLE) if summary.held or by_law else obstacle
    if summary.held:
        return max([least, *(_tail(distance) for distance in distances if distance >= 0)])
    return max(least, min((_tail(-distance) for distance in distances if distance <= 0), default=0.0))


def _distances(summary: CapacitySummary, point: CapacityPoint, objective: Objective) -> Iterator[float]:
    """Return the margin of each figure to its bound in standard deviations; negative: beyond the bound."""
    if summary.per_s and point.target_per_s is not None and summary.per_s < KEPT_SHARE * point.target_per_s:
        # A rate has no margin above its target: only a missed rate has a distance.
        yield math.log(summary.per_s / (KEPT_SHARE * point.target_per_s)) / _RATE_SPREAD
    for clause in objective.clauses:
        bound, found = clause.bound(point), summary.figures.get(clause.figure)
        if clause.figure == ERRORS and found is not None:
            yield math.log(bound / max(found, _LEAST_ERRORS)) / _ERRORS_SPREAD
        elif found and bound > 0:
            yield math.log(bound / found) / _TIME_SPREAD


def _tail(deviations: float) -> float:
    """Return the one-sided tail probability of a normal distribution at that many standard deviations."""
    return 0.5 * math.erfc(deviations / math.sqrt(2))
