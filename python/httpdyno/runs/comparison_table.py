"""Table of the comparisons of two runs, or within one: a row for each comparison."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from httpdyno.judge import counting_trials, rankable, worst_validity
from httpdyno.judge.comparison import Threshold
from httpdyno.judge.wording import NAMED_AT_MOST, change_text, comparison_text, difference_text, some_of
from httpdyno.model import Cell, Column, ColumnKind, Comparison, Difference, Metric, Note, Outcome, Table, Trial
from httpdyno.stats import FEWEST_BLOCKS, median

_DIGITS: Final = 4
"""Significant digits of a printed value: enough for the quotient to match the printed change."""
_DIGITS_KEPT: Final = 6
_LEVEL_NOTE: Final = (
    "change: the quotient of the two values, geometric means over {of}, with its {level:g} % interval;"
    " verdicts are corrected for their number (Holm)"
)
_number = partial(Column, kind=ColumnKind.NUMBER, shown=False)
_HIDDEN: Final = (
    _number("change_percent", unit="%", description="the change from the baseline"),
    _number("change_percent_low", unit="%", description="lower end of its interval"),
    _number("change_percent_high", unit="%", description="upper end of its interval"),
    _number("level", description="confidence of the interval"),
    _number("p", description="chance of such a difference between equals"),
    _number("p_adjusted", description="that chance, corrected for the number of comparisons"),
    Column("difference", description="better, worse or undecided", shown=False),
    Column("broken", description="thresholds that the change exceeds", shown=False),
)
_WITH_UNITS: Final = frozenset({ColumnKind.SIZE, ColumnKind.TIME})
"""Kinds of columns in which each value has its own unit."""


@dataclass(frozen=True, slots=True)
class Side:
    """The trials of one side of a comparison: of one subject under one condition, in one run."""

    name: str
    """Name in messages: ``A``, or the id of a subject."""
    trials: Sequence[Trial]

    @property
    def caveat(self) -> str | None:
        """Reason not to judge this side: the failure of its trials, else their worst validity; None without one."""
        if rankable(self.trials):
            return None
        failed = Counter(trial.outcome.value for trial in self.trials if trial.outcome is not Outcome.OK)
        return failed.most_common(1)[0][0] if failed else worst_validity(self.trials) or "not measured"

    def value(self, metric: Metric) -> float | None:
        """Return the median over the trials that count, else the successful ones; shown if there is no ratio."""
        return median(map(metric.figure, counting_trials(self.trials)))


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One row: the two sides, and their comparison."""

    label: str
    """Name in messages."""
    names: tuple[Cell, ...]
    metric: Metric
    baseline: Side | None
    subject: Side
    comparison: Comparison | None = None
    """None without a baseline."""
    reason: str = ""
    """Reason why there is no comparison."""
    broken: Sequence[Threshold] = ()
    notes: Sequence[str] = ()
    sides: tuple[str, str] = ("", "")
    """Names of subject and baseline in a sentence; empty without a baseline."""

    @property
    def judged(self) -> bool:
        """Whether there is a verdict, which may be that no difference is shown."""
        return self.comparison is not None and self.comparison.p is not None

    @property
    def values(self) -> tuple[float | None, float | None]:
        """Baseline and subject: geometric means, whose quotient is the ratio; medians if there is no ratio."""
        of = self.comparison
        if of is not None and of.baseline_mean is not None and of.subject_mean is not None:
            return of.baseline_mean, of.subject_mean
        return self.baseline.value(self.metric) if self.baseline else None, self.subject.value(self.metric)

    @property
    def verdict(self) -> str:
        """The difference in words, or the reason why it is not judged."""
        comparison = self.comparison
        if comparison is None:
            return self.reason
        if comparison.p is not None:
            return difference_text(comparison, self.metric)
        doubts = [f"{side.name}: {side.caveat}" for side in (self.baseline, self.subject) if side and side.caveat]
        if doubts:
            return f"not judged, {', '.join(doubts)}"
        if comparison.blocks >= FEWEST_BLOCKS:
            return "not judged, a value of 0 has no ratio"
        unit = ("common block" if comparison.paired else "trial") + ("" if comparison.blocks == 1 else "s")
        return f"not judged, {comparison.blocks} {unit} of {FEWEST_BLOCKS} or more"

    def sentence(self, *, interval: bool = True) -> str:
        """Describe the comparison in a sentence: ``a is slower than b: right_per_s -9.2 % (95 %: -11.4 to -7.1 %)``."""
        if self.comparison is None or not self.judged:
            return f"{self.label}: {self.metric.name} {self.verdict}"
        return comparison_text(self.comparison, self.metric, *self.sides, interval=interval)

    def cells(self, digits: int) -> tuple[Cell, ...]:
        """Return the row of the table; values have ``digits`` significant digits."""
        comparison, ratio = self.comparison, self.comparison.ratio if self.comparison else None
        percents = [(bound - 1) * 100 for bound in (ratio.estimate, ratio.low, ratio.high)] if ratio else [None] * 3
        return (
            *self.names,
            self.metric.name,
            *(None if value is None else _significant(value, digits) for value in self.values),
            self.metric.column.unit,
            change_text(ratio) if ratio else None,
            self.verdict,
            *percents,
            ratio.level if ratio else None,
            comparison.p if comparison else None,
            comparison.p_adjusted if comparison else None,
            comparison.difference.value if comparison else None,
            "; ".join(threshold.text for threshold in self.broken) or None,
        )


@dataclass(frozen=True, slots=True)
class Compared:
    """Result of a comparison."""

    table: Table
    """All comparisons, for programs."""
    views: tuple[Table, ...]
    """The same for people, in one table for each metric, so that the values of a column have one unit."""
    judged: frozenset[str]
    """The metrics with a verdict, which may be that no difference is shown."""
    failures: tuple[str, ...]
    """The broken thresholds, each in one line."""
    unjudged: tuple[str, ...]
    """The rows without a verdict, each in one line with the reason."""
    verdict: str
    """The answer in words, which is printed first."""


def compared(
    names: Sequence[Column],
    values: tuple[str, str],
    rows: Sequence[ComparedRow],
    notes: Sequence[str],
    thresholds: Sequence[Threshold] = (),
) -> Compared:
    """Put comparisons into a table, and give the verdict on them.

    ``names`` are the columns of the names of each row, ``values`` the names of the columns of baseline and subject;
    ``notes`` are of all rows. The notes on trials stay in the rows of the first metric only.
    """
    rows = [
        replace(
            row,
            notes=row.notes if row.metric is rows[0].metric else (),
            broken=[
                threshold
                for threshold in thresholds
                if row.comparison and threshold.metric.name == row.metric.name and threshold.passed_by(row.comparison)
            ],
        )
        for row in rows
    ]
    failures = [f"{row.sentence()}, beyond {threshold.text!r}" for row in rows for threshold in row.broken]
    verdict = _joined(failures) if failures else _verdict_on_all(rows, thresholds)
    metrics = dict.fromkeys(row.metric.name for row in rows)
    of_metrics = [[row for row in rows if row.metric.name == metric] for metric in metrics] or [[]]
    ratios = {(one.ratio.level, one.paired) for row in rows if (one := row.comparison) and one.ratio}
    trials = {True: "the blocks of both", False: "the trials of either run"}
    levels = (_LEVEL_NOTE.format(level=100 * level, of=trials[paired]) for level, paired in sorted(ratios))
    of_all = (*notes, *levels)
    # The verdict is above the first view, the notes of all of them below the last one.
    views = [_table(names, values, some, (), _DIGITS) for some in of_metrics[:-1]]
    views.append(_table(names, values, of_metrics[-1], of_all, _DIGITS))
    return Compared(
        _table(names, values, rows, of_all, _DIGITS_KEPT),
        views=(replace(views[0], title=verdict), *views[1:]),
        judged=frozenset(row.metric.name for row in rows if row.judged),
        failures=tuple(failures),
        unjudged=tuple(row.sentence() for row in rows if not row.judged),
        verdict=verdict,
    )


def _verdict_on_all(rows: Sequence[ComparedRow], thresholds: Sequence[Threshold]) -> str:
    """Summarise comparisons that break no threshold in one line: the differences, or that none is shown."""
    judged = [row for row in rows if row.judged]
    if not judged:
        return f"nothing can be judged: {_joined([row.sentence() for row in rows])}" if rows else "nothing to compare"
    kept = f"; no threshold is broken ({some_of([repr(one.text) for one in thresholds])})" if thresholds else ""
    if len(judged) == 1:
        return judged[0].sentence() + kept
    shown = [row for row in judged if row.comparison and row.comparison.difference is not Difference.UNDECIDED]
    metrics = some_of(list(dict.fromkeys(row.metric.name for row in judged)))
    if not shown:
        return f"no difference shown in {len(judged)} comparisons by {metrics}{kept}"
    if len(shown) == 1:
        return f"1 of {len(judged)} comparisons shows a difference: {shown[0].sentence()}{kept}"
    sentences = [row.sentence(interval=False) for row in shown]
    return f"{len(shown)} of {len(judged)} comparisons show a difference: {_joined(sentences)}{kept}"


def _joined(sentences: Sequence[str]) -> str:
    more = len(sentences) - NAMED_AT_MOST
    return "; ".join([*sentences[:NAMED_AT_MOST], *([f"and {more} more"] if more > 0 else [])])


def _table(
    names: Sequence[Column], values: tuple[str, str], rows: Sequence[ComparedRow], notes: Sequence[str], digits: int
) -> Table:
    metrics = {row.metric.name: row.metric.column for row in rows}
    kinds = {column.kind for column in metrics.values()} & _WITH_UNITS
    kind = kinds.pop() if len(metrics) == 1 and kinds else ColumnKind.NUMBER
    columns = (
        # A name that no row has is hidden: the condition, if there is only one.
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
    of_rows = (
        Note(note, index)
        for index, row in enumerate(rows)
        for note in (*row.notes, *(f"FAILED {threshold.text}" for threshold in row.broken))
    )
    return Table(columns, tuple(row.cells(digits) for row in rows), notes=(*of_rows, *map(Note, notes)))


def _significant(value: float, digits: int) -> float:
    """Round to ``digits`` significant digits, but keep all digits before the point."""
    return float(f"{value:.{digits}g}") if abs(value) < 10**digits else float(round(value))
