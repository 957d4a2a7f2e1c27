"""Results of subjects at the points of a grid, and the layout of the grid."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from httpdyno.experiments.capacity.axes import AXES, SIZE, Quantity, Value
from httpdyno.experiments.capacity.figures import ERRORS, CapacityPoint, CapacitySummary, parse_objective
from httpdyno.experiments.capacity.judge import at_measured_distance, is_reliable
from httpdyno.experiments.capacity.limits import KEPT_SHARE, failed_by_law
from httpdyno.model import Outcome, Tone, Trial, Validity, records_of
from httpdyno.stats import median

_NEAR: Final = 0.9
_PART: Final = 0.5
_MUCH: Final = 10
_NO_FAILURE: Final = frozenset({Outcome.OK, Outcome.INTERRUPTED, Outcome.UNAVAILABLE, Outcome.REFUSED})
_NEVER_COUNTED: Final = frozenset({Validity.INCORRECT, Validity.UNVERIFIED})
TONES: Final = (
    (Tone.HELD, "held"),
    (Tone.DOUBTFUL, "held only in some trials"),
    (Tone.NEAR, "90 % of the rate, or more"),
    (Tone.PART, "50 to 90 %"),
    (Tone.LITTLE, "below 50 %"),
    (Tone.UNKNOWN, "unreliable"),
)
"""Legend of the tones."""


class Mark(StrEnum):
    """Kinds of short texts about a point."""

    NOTHING = ""
    RATE = "rate"
    SHARE = "share"
    SLOW = "slow"
    ERRORS = "errors"


@dataclass(frozen=True, slots=True)
class PointResult:
    """One subject at one point."""

    subject: str
    point: CapacityPoint
    trials: Sequence[Trial]
    tone: Tone
    mark: Mark
    """Kind of text that describes it, unless it is held."""
    per_s: float | None
    """Right answers a second, the median of its trials."""
    p99_ns: float | None
    why: str | None
    """Reason of the failure, or of an unknown result."""
    limit: str | None
    """Kind of its limit: bandwidth, window, cpu, ..."""
    limit_text: str | None = None
    """The same in one sentence, with figures."""

    @property
    def word(self) -> str:
        """Short text for a cell: per cent of the rate; if the rate was kept, the failed requirement, like ``slow``."""
        if self.mark is not Mark.SHARE:
            return f"{self.per_s:,.0f}" if self.mark is Mark.RATE else self.mark.value
        share = (self.per_s or 0.0) / (self.point.target_per_s or 1.0)
        if share >= _MUCH:
            return f"{share:.0f}\u00d7"
        # A missed rate never rounds to 100.
        return f"{min(100 * share, 99) if _PART < share < KEPT_SHARE else 100 * share:.0f}"


def point_results(trials: Iterable[Trial]) -> tuple[PointResult, ...]:
    """Summarise the trials of each subject at each point, in the order of their first trials.

    Trials without a point are skipped.
    """
    groups: dict[tuple[str, CapacityPoint], list[Trial]] = {}
    for trial in trials:
        if trial.get(CapacityPoint) is not None:
            groups.setdefault((trial.subject, trial[CapacityPoint]), []).append(trial)
    return tuple(_point_result(subject, point, group) for (subject, point), group in groups.items())


def target_words(points: Sequence[PointResult]) -> str:
    """Describe the target: ``2,000 requests a second``."""
    targets = sorted({one.point.target_per_s for one in points if one.point.target_per_s is not None})
    return f"{' or '.join(f'{target:,.6g}' for target in targets)} requests a second" if targets else ""


def _point_result(subject: str, point: CapacityPoint, trials: Sequence[Trial]) -> PointResult:
    counted = [trial for trial in trials if trial.get(CapacitySummary) is not None and _counts(trial)]
    # Unreliable results are shown, in brackets.
    shown = records_of(CapacitySummary, counted or trials)
    per_s = median(one.per_s for one in shown)
    reasons = [*(one.why_not for one in shown), *(trial.reason or trial.validity_reason for trial in trials)]
    limit, limit_text = next(((one.limit, one.limit_text) for one in shown if one.limit), (None, None))
    tone = _tone(point, trials, counted, per_s)
    return PointResult(
        subject,
        point,
        trials,
        tone,
        _mark(point, per_s, [] if tone is Tone.DOUBTFUL else counted or trials),
        per_s,
        median(one.response_p99_ns for one in shown),
        next(filter(None, reasons), None),
        limit,
        limit_text,
    )


def _counts(trial: Trial) -> bool:
    """Return whether a trial's result is reliable, or is a failure at a point that is impossible anyway."""
    if is_reliable(trial):
        return True
    return trial.outcome is Outcome.OK and trial.validity not in _NEVER_COUNTED and failed_by_law(trial)


def _mark(point: CapacityPoint, per_s: float | None, trials: Sequence[Trial]) -> Mark:
    if per_s is None or point.target_per_s is None:
        return Mark.NOTHING if per_s is None else Mark.RATE
    missed = [trial for trial in trials if trial.get(CapacitySummary) and trial[CapacitySummary].held is False]
    if not missed or per_s < KEPT_SHARE * point.target_per_s:
        return Mark.SHARE
    # The first clause of the objective that does not hold.
    objective, figures = parse_objective(point.objective or ""), missed[0][CapacitySummary].figures
    broken = objective.broken(at_measured_distance(point, missed[0]), figures)
    return Mark.ERRORS if broken is not None and broken.figure == ERRORS else Mark.SLOW


def _tone(point: CapacityPoint, trials: Sequence[Trial], counted: Sequence[Trial], per_s: float | None) -> Tone:
    if any(trial.outcome not in _NO_FAILURE for trial in trials):
        return Tone.LITTLE
    held = [summary.held for summary in records_of(CapacitySummary, counted) if summary.held is not None]
    if not held:
        return Tone.UNKNOWN
    if any(held):
        return Tone.HELD if all(held) else Tone.DOUBTFUL
    share = (per_s or 0.0) / (point.target_per_s or 1.0)
    return Tone.NEAR if share >= _NEAR else Tone.PART if share >= _PART else Tone.LITTLE


Panel = tuple[str, tuple[Value, ...]]
"""A panel: a subject, and the values of the axes that make panels."""
_Row = Value | str


@dataclass(frozen=True, slots=True)
class Layout:
    """Roles of the axes of a grid.

    The two axes with the most values span the grid. If only one axis varies, the rows are subjects; if none varies, the
    grid has one column.
    """

    across: Quantity
    up: Quantity | None
    """None: the rows are subjects."""
    panels: tuple[Quantity, ...]

    @classmethod
    def of(cls, points: Sequence[CapacityPoint]) -> Self:
        """Choose the roles for these points."""
        counts = {axis: len(axis.distinct(points)) for axis in AXES}
        varied = [axis for axis in AXES if counts[axis] > 1]
        chosen = sorted(varied, key=lambda axis: -counts[axis])[:2]
        if len(chosen) < 2:
            return cls(chosen[0] if chosen else SIZE, None, ())
        # The size is vertical, because the question is up to which size the rate is held.
        across, up = sorted(chosen, key=lambda axis: len(AXES) if axis is SIZE else AXES.index(axis))
        return cls(across, up, tuple(axis for axis in varied if axis not in chosen))

    def place(self, of: PointResult) -> tuple[Panel, _Row, Value]:
        """Return the panel, the row and the column of a point."""
        panel = of.subject if self.up else "", tuple(axis.at(of.point) for axis in self.panels)
        return panel, self.up.at(of.point) if self.up else of.subject, self.across.at(of.point)

    def panel_name(self, panel: Panel, names: Mapping[str, str]) -> str:
        """Return the name of a panel; empty if there is only one panel."""
        subject, values = panel
        parts = [names[subject]] if subject and len(names) > 1 else []
        return ", ".join([*parts, *(axis.name(value) for axis, value in zip(self.panels, values, strict=True))])

    def columns(self, points: Sequence[PointResult]) -> tuple[str, Mapping[Value, str]]:
        """Return the heading of the columns, and the columns with their labels, in ascending order."""
        return self.across.labels(self.across.distinct(one.point for one in points))

    def rows(self, points: Sequence[PointResult], names: Mapping[str, str]) -> tuple[str, dict[_Row, str]]:
        """Return the heading of the rows, and the rows with their labels: subjects, or values in ascending order."""
        if self.up is None:
            return "", dict(names.items())
        heading, labels = self.up.labels(self.up.distinct(one.point for one in points))
        return heading, dict(labels.items())

    def shared(self, points: Sequence[CapacityPoint]) -> str:
        """Describe the settings shared by all points: ``delay 100 ms, 10 Gbit/s``."""
        return shared_settings(points, {self.across, self.up, *self.panels})


def shared_settings(points: Sequence[CapacityPoint], apart: Collection[Quantity | None]) -> str:
    """Describe the settings shared by all points, without zeros and without some axes."""
    values = [(axis, axis.distinct(points)) for axis in AXES if axis not in apart]
    return ", ".join(axis.name(of[0]) for axis, of in values if len(of) == 1 and (of[0] or axis is SIZE))
