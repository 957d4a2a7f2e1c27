"""The table of comparisons, those of two runs and those inside one: a row a comparison, none left out."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from httpdyno.judge import counting_trials, rankable, worst_validity
from httpdyno.judge.threshold import Threshold
from httpdyno.judge.wording import change_text, difference_text
from httpdyno.model import Cell, Column, ColumnKind, Comparison, Metric, Note, Outcome, Table, Trial
from httpdyno.stats import FEWEST_BLOCKS, median

__all__ = ["Compared", "ComparedRow", "Side", "compared", "row_of"]

_LEVEL_NOTE: Final = (
    "change: its interval holds the truth with {level:g} % confidence; verdicts are corrected for their number (Holm)"
)
_HIDDEN: Final = (
    Column("change_percent", ColumnKind.NUMBER, "%", "the change from the baseline", shown=False),
    Column("change_percent_low", ColumnKind.NUMBER, "%", "lower end of its interval", shown=False),
    Column("change_percent_high", ColumnKind.NUMBER, "%", "upper end of its interval", shown=False),
    Column("level", ColumnKind.NUMBER, description="confidence of the interval", shown=False),
    Column("p", ColumnKind.NUMBER, description="chance of such a difference between equals", shown=False),
    Column(
        "p_adjusted", ColumnKind.NUMBER, description="the same, corrected for the number of comparisons", shown=False
    ),
    Column("difference", description="better, worse or undecided", shown=False),
    Column("broken", description="the thresholds that the change is beyond", shown=False),
)
_WITH_UNITS: Final = frozenset({ColumnKind.SIZE, ColumnKind.TIME})
"""Of which each value is written with a unit of its own."""


@dataclass(frozen=True, slots=True)
class Side:
    """The trials of one side of a comparison: of one subject under one condition, in one run."""

    name: str
    """What messages call it: ``A``, or the id of a subject."""
    trials: Sequence[Trial]

    @property
    def caveat(self) -> str | None:
        """Why it may not be judged: how its trials failed, else their worst validity; None when it may."""
        if rankable(self.trials):
            return None
        failed = Counter(trial.outcome.value for trial in self.trials if trial.outcome is not Outcome.OK)
        return failed.most_common(1)[0][0] if failed else worst_validity(self.trials) or "not measured"

    def value(self, metric: Metric) -> Cell:
        """Return the median over the trials that count, else over those that went well: what ``bench`` shows."""
        return metric.rounded(median(map(metric.figure, counting_trials(self.trials))))


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row: what is compared, the values of either side, and what may be said."""

    label: str
    """What messages call it."""
    names: tuple[Cell, ...]
    metric: Metric
    values: tuple[Cell, Cell]
    verdict: str
    comparison: Comparison | None = None
    """None where there is nothing to compare with."""
    broken: tuple[Threshold, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether anything can be said, be it that no difference shows."""
        return self.comparison is not None and self.comparison.p is not None

    @property
    def failures(self) -> tuple[str, ...]:
        """The thresholds that are broken, each in one line that says by what."""
        ratio = self.comparison.ratio if self.comparison else None
        change = change_text(ratio) if ratio else self.verdict
        return tuple(f"{self.label}: {self.metric.name} {change}, beyond {one.text!r}" for one in self.broken)


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison gives."""

    table: Table
    """All of it, for programs."""
    views: tuple[Table, ...]
    """The same for people, a table for each metric: one column of values has one unit."""
    judged: frozenset[str]
    """The metrics by which anything could be said, be it that no difference shows."""
    failures: tuple[str, ...]
    """The thresholds that are broken, each in one line."""
    unjudged: tuple[str, ...]
    """The rows of which nothing can be said, each in one line with the reason."""


def row_of(
    label: str,
    names: tuple[Cell, ...],
    metric: Metric,
    baseline: Side,
    subject: Side,
    comparison: Comparison,
    thresholds: Sequence[Threshold],
    notes: Sequence[str] = (),
) -> ComparedRow:
    """Make the row of a comparison of two sides that are both there."""
    of_metric = [threshold for threshold in thresholds if threshold.metric.name == metric.name]
    return ComparedRow(
        label,
        names,
        metric,
        (baseline.value(metric), subject.value(metric)),
        _verdict(comparison, metric, baseline, subject),
        comparison,
        tuple(threshold for threshold in of_metric if threshold.passed_by(comparison)),
        tuple(notes),
    )


def compared(
    names: Sequence[Column], values: tuple[str, str], rows: Sequence[ComparedRow], notes: Sequence[str]
) -> Compared:
    """Put comparisons into a table, and say what came of them.

    ``names`` are the columns of the names of each row, ``values`` what those of baseline and subject are called;
    ``notes`` are of all rows.
    """
    metrics = list(dict.fromkeys(row.metric.name for row in rows))
    of_metrics = [[row for row in rows if row.metric.name == metric] for metric in metrics] or [[]]
    of_all = (*notes, *_level_notes(rows))
    return Compared(
        _table(names, values, rows, of_all),
        # What is said of all of them stands below the last one.
        views=tuple(_table(names, values, some, of_all if some is of_metrics[-1] else ()) for some in of_metrics),
        judged=frozenset(row.metric.name for row in rows if row.judged),
        failures=tuple(failure for row in rows for failure in row.failures),
        unjudged=tuple(f"{row.label}: {row.metric.name} {row.verdict}" for row in rows if not row.judged),
    )


def _table(
    names: Sequence[Column], values: tuple[str, str], rows: Sequence[ComparedRow], notes: Sequence[str]
) -> Table:
    of_rows = [Note(note, index) for index, row in enumerate(rows) for note in (*row.notes, *_passing(row))]
    return Table(_columns(names, values, rows), tuple(map(_cells, rows)), notes=(*of_rows, *map(Note, notes)))


def _columns(names: Sequence[Column], values: tuple[str, str], rows: Sequence[ComparedRow]) -> tuple[Column, ...]:
    metrics = {row.metric.name: row.metric.column for row in rows}
    kind = next(iter(metrics.values())).kind if len(metrics) == 1 else ColumnKind.NUMBER
    return (
        # A name that no row has is not shown: the condition, where there is one only.
        *(
            replace(column, shown=any(row.names[place] for row in rows) or not rows)
            for place, column in enumerate(names)
        ),
        Column("metric"),
        *(Column(name, kind) for name in values),
        Column("unit", shown=kind not in _WITH_UNITS and any(column.unit for column in metrics.values())),
        Column("change", description="the change from the baseline, with its interval"),
        Column("verdict", description="what may be said after the doubt is taken off"),
        *_HIDDEN,
    )


def _verdict(comparison: Comparison, metric: Metric, baseline: Side, subject: Side) -> str:
    if comparison.p is not None:
        return difference_text(comparison, metric)
    doubts = [f"{side.name}: {side.caveat}" for side in (baseline, subject) if side.caveat]
    if doubts:
        return f"not judged, {', '.join(doubts)}"
    if comparison.blocks < FEWEST_BLOCKS:
        trials = "1 trial" if comparison.blocks == 1 else f"{comparison.blocks} trials"
        return f"not judged, {trials} of {FEWEST_BLOCKS} or more"
    return "not judged, a value of 0 has no ratio"


def _cells(row: ComparedRow) -> tuple[Cell, ...]:
    comparison = row.comparison
    ratio = comparison.ratio if comparison else None
    percents = [(bound - 1) * 100 for bound in (ratio.estimate, ratio.low, ratio.high)] if ratio else [None] * 3
    return (
        *row.names,
        row.metric.name,
        *row.values,
        row.metric.column.unit,
        change_text(ratio) if ratio else None,
        row.verdict,
        *percents,
        ratio.level if ratio else None,
        comparison.p if comparison else None,
        comparison.p_adjusted if comparison else None,
        comparison.difference.value if comparison else None,
        "; ".join(threshold.text for threshold in row.broken) or None,
    )


def _passing(row: ComparedRow) -> list[str]:
    return [f"FAILED {threshold.text}" for threshold in row.broken]


def _level_notes(rows: Sequence[ComparedRow]) -> list[str]:
    levels = {row.comparison.ratio.level for row in rows if row.comparison and row.comparison.ratio}
    return [_LEVEL_NOTE.format(level=100 * level) for level in sorted(levels)]
