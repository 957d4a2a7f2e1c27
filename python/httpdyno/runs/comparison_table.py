"""Table of the comparisons of two runs, or within one: a row for each comparison."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from httpdyno.judge import counting_trials, rankable, worst_validity
from httpdyno.judge.comparison import Threshold
from httpdyno.judge.wording import NAMED_AT_MOST, change_text, comparison_text, difference_text, some_of
from httpdyno.model import Cell, Column, ColumnKind, Comparison, Difference, Metric, Note, Outcome, Table, Trial
from httpdyno.stats import FEWEST_BLOCKS, median

__all__ = ["Compared", "ComparedRow", "Side", "compared", "row_of"]

_DIGITS: Final = 4
"""Significant digits of a printed value: enough for the quotient to match the printed change."""
_DIGITS_KEPT: Final = 6

_LEVEL_NOTE: Final = (
    "change: the quotient of the two values, geometric means over {of}, with its {level:g} % interval;"
    " verdicts are corrected for their number (Holm)"
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
"""Kinds of columns whose values each have a unit of their own."""


@dataclass(frozen=True, slots=True)
class Side:
    """The trials of one side of a comparison: of one subject under one condition, in one run."""

    name: str
    """Name in messages: ``A``, or the id of a subject."""
    trials: Sequence[Trial]

    @property
    def caveat(self) -> str | None:
        """Reason not to judge it: the failure of its trials, else their worst validity; None: it can be judged."""
        if rankable(self.trials):
            return None
        failed = Counter(trial.outcome.value for trial in self.trials if trial.outcome is not Outcome.OK)
        return failed.most_common(1)[0][0] if failed else worst_validity(self.trials) or "not measured"

    def value(self, metric: Metric) -> float | None:
        """Return the median over the trials that count, else over the successful ones; shown without a ratio."""
        return median(map(metric.figure, counting_trials(self.trials)))


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row: the two sides, their values and the verdict."""

    label: str
    """Name in messages."""
    names: tuple[Cell, ...]
    metric: Metric
    values: tuple[float | None, float | None]
    """Of baseline and subject: the geometric means whose quotient is the ratio; medians where there is no ratio."""
    verdict: str
    comparison: Comparison | None = None
    """None without a baseline."""
    broken: tuple[Threshold, ...] = ()
    notes: tuple[str, ...] = ()
    sides: tuple[str, str] = ("", "")
    """Names of subject and baseline in a sentence; empty without a baseline."""

    @property
    def judged(self) -> bool:
        """Whether there is a verdict, be it that no difference shows."""
        return self.comparison is not None and self.comparison.p is not None

    @property
    def difference_shown(self) -> bool:
        """Whether the two sides differ after the correction."""
        return self.comparison is not None and self.comparison.difference is not Difference.UNDECIDED

    def sentence(self, *, interval: bool = True) -> str:
        """Put the comparison into words: ``a is slower than b: right_per_s -9.2 % (95 %: -11.4 to -7.1 %)``."""
        if self.comparison is None or not self.judged:
            return f"{self.label}: {self.metric.name} {self.verdict}"
        return comparison_text(self.comparison, self.metric, *self.sides, interval=interval)

    @property
    def failures(self) -> tuple[str, ...]:
        """The broken thresholds, each in one line with the change."""
        return tuple(f"{self.sentence()}, beyond {threshold.text!r}" for threshold in self.broken)


@dataclass(frozen=True, slots=True)
class Compared:
    """Result of a comparison."""

    table: Table
    """All of it, for programs."""
    views: tuple[Table, ...]
    """The same for people, a table for each metric: one column of values has one unit."""
    judged: frozenset[str]
    """The metrics with a verdict, be it that no difference shows."""
    failures: tuple[str, ...]
    """The broken thresholds, each in one line."""
    unjudged: tuple[str, ...]
    """The rows without a verdict, each in one line with the reason."""
    verdict: str
    """The answer in words: the first printed line."""


def row_of(
    label: str,
    names: tuple[Cell, ...],
    metric: Metric,
    baseline: Side,
    subject: Side,
    comparison: Comparison,
    thresholds: Sequence[Threshold],
    notes: Sequence[str] = (),
    sides: tuple[str, str] | None = None,
) -> ComparedRow:
    """Return the row of a comparison of two existing sides; ``sides`` are their names in a sentence."""
    of_metric = [threshold for threshold in thresholds if threshold.metric.name == metric.name]
    return ComparedRow(
        label,
        names,
        metric,
        _values(comparison, metric, baseline, subject),
        _verdict(comparison, metric, baseline, subject),
        comparison,
        tuple(threshold for threshold in of_metric if threshold.passed_by(comparison)),
        tuple(notes),
        sides or (subject.name, baseline.name),
    )


def _values(comparison: Comparison, metric: Metric, baseline: Side, subject: Side) -> tuple[float | None, float | None]:
    if comparison.baseline_mean is not None and comparison.subject_mean is not None:
        return comparison.baseline_mean, comparison.subject_mean
    return baseline.value(metric), subject.value(metric)


def compared(
    names: Sequence[Column],
    values: tuple[str, str],
    rows: Sequence[ComparedRow],
    notes: Sequence[str],
    thresholds: Sequence[Threshold] = (),
) -> Compared:
    """Put comparisons into a table, and give the verdict on them.

    ``names`` are the columns of the names of each row, ``values`` the names of the columns of baseline and subject;
    ``notes`` are of all rows.
    """
    verdict = _verdict_on_all(rows, thresholds)
    metrics = list(dict.fromkeys(row.metric.name for row in rows))
    of_metrics = [[row for row in rows if row.metric.name == metric] for metric in metrics] or [[]]
    of_all = (*notes, *_level_notes(rows))
    return Compared(
        _table(names, values, rows, of_all, _DIGITS_KEPT),
        # The verdict stands above the first one, the notes of all of them below the last one.
        views=tuple(
            replace(
                _table(names, values, some, of_all if some is of_metrics[-1] else (), _DIGITS),
                title=verdict if some is of_metrics[0] else "",
            )
            for some in of_metrics
        ),
        judged=frozenset(row.metric.name for row in rows if row.judged),
        failures=tuple(failure for row in rows for failure in row.failures),
        unjudged=tuple(row.sentence() for row in rows if not row.judged),
        verdict=verdict,
    )


def _verdict_on_all(rows: Sequence[ComparedRow], thresholds: Sequence[Threshold]) -> str:
    """Summarise the comparisons in one line: broken thresholds, else differences, else no difference."""
    judged = [row for row in rows if row.judged]
    failures = [failure for row in rows for failure in row.failures]
    if failures:
        return _joined(failures)
    if not judged:
        return f"nothing can be judged: {_joined([row.sentence() for row in rows])}" if rows else "nothing to compare"
    kept = f"; no threshold is broken ({some_of([repr(one.text) for one in thresholds])})" if thresholds else ""
    if len(judged) == 1:
        return judged[0].sentence() + kept
    shown = [row for row in judged if row.difference_shown]
    metrics = some_of(list(dict.fromkeys(row.metric.name for row in judged)))
    if not shown:
        return f"no difference shown in {len(judged)} comparisons by {metrics}{kept}"
    if len(shown) == 1:
        return f"1 of {len(judged)} comparisons shows a difference: {shown[0].sentence()}{kept}"
    sentences = [row.sentence(interval=False) for row in shown]
    return f"{len(shown)} of {len(judged)} comparisons show a difference: {_joined(sentences)}{kept}"


def _joined(sentences: Sequence[str]) -> str:
    """Join the first few sentences, and count the others."""
    more = len(sentences) - NAMED_AT_MOST
    return "; ".join([*sentences[:NAMED_AT_MOST], *([f"and {more} more"] if more > 0 else [])])


def _table(
    names: Sequence[Column], values: tuple[str, str], rows: Sequence[ComparedRow], notes: Sequence[str], digits: int
) -> Table:
    of_rows = [Note(note, index) for index, row in enumerate(rows) for note in (*row.notes, *_passing(row))]
    cells = tuple(_cells(row, digits) for row in rows)
    return Table(_columns(names, values, rows), cells, notes=(*of_rows, *map(Note, notes)))


def _columns(names: Sequence[Column], values: tuple[str, str], rows: Sequence[ComparedRow]) -> tuple[Column, ...]:
    metrics = {row.metric.name: row.metric.column for row in rows}
    kinds = {column.kind for column in metrics.values()} & _WITH_UNITS
    kind = kinds.pop() if len(metrics) == 1 and kinds else ColumnKind.NUMBER
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
        Column("verdict", description="better, worse or undecided; or the reason why it is not judged"),
        *_HIDDEN,
    )


def _verdict(comparison: Comparison, metric: Metric, baseline: Side, subject: Side) -> str:
    if comparison.p is not None:
        return difference_text(comparison, metric)
    doubts = [f"{side.name}: {side.caveat}" for side in (baseline, subject) if side.caveat]
    if doubts:
        return f"not judged, {', '.join(doubts)}"
    if comparison.blocks < FEWEST_BLOCKS:
        unit = ("block" if comparison.paired else "trial") + ("" if comparison.blocks == 1 else "s")
        counted = f"{comparison.blocks} common {unit}" if comparison.paired else f"{comparison.blocks} {unit}"
        return f"not judged, {counted} of {FEWEST_BLOCKS} or more"
    return "not judged, a value of 0 has no ratio"


def _cells(row: ComparedRow, digits: int) -> tuple[Cell, ...]:
    comparison = row.comparison
    ratio = comparison.ratio if comparison else None
    percents = [(bound - 1) * 100 for bound in (ratio.estimate, ratio.low, ratio.high)] if ratio else [None] * 3
    return (
        *row.names,
        row.metric.name,
        *(None if value is None else _significant(value, digits) for value in row.values),
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


def _significant(value: float, digits: int) -> float:
    """Round to so many significant digits; a whole number of more digits stays whole."""
    return float(f"{value:.{digits}g}") if abs(value) < 10**digits else float(round(value))


def _passing(row: ComparedRow) -> list[str]:
    return [f"FAILED {threshold.text}" for threshold in row.broken]


def _level_notes(rows: Sequence[ComparedRow]) -> list[str]:
    found = {
        (row.comparison.ratio.level, row.comparison.paired) for row in rows if row.comparison and row.comparison.ratio
    }
    return [
        _LEVEL_NOTE.format(level=100 * level, of="the blocks of both" if paired else "the trials of either run")
        for level, paired in sorted(found)
    ]
