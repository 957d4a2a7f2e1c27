"""The table of the capacity question for programs: a row for each subject at each point."""

from collections.abc import Sequence
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.found import found
from httpdyno.experiments.capacity.metrics import CAPACITY_METRICS
from httpdyno.judge import trial_notes, worst_validity
from httpdyno.model import Cell, Column, ColumnKind, Metric, Note, Outcome, Table, Tone, Trial, records_of
from httpdyno.stats import median

__all__ = ["point_table"]

_POINT: Final = (
    Column("subject", description="name of the subject's folder"),
    Column("size", ColumnKind.SIZE, "bytes", "content of each answer"),
    Column("delay", ColumnKind.DURATION, "ms", "how long the server waits before it answers"),
    Column("rtt", ColumnKind.DURATION, "ms", "round-trip time of the link"),
    Column("linkRate", ColumnKind.INTEGER, "bit/s", "rate of the link towards the subject; null: not limited"),
    Column("concurrency", ColumnKind.INTEGER, description="requests in flight at most"),
    Column("target", ColumnKind.DECIMAL, "1/s", "right answers a second that were to be held"),
)
"""What a row is of."""
_JUDGED: Final = (
    Column("held", ColumnKind.BOOLEAN, description="whether the rate and the objective were kept; null: not known"),
    Column("limit", description="what limits the point: bandwidth, window, cpu, concurrency, origin, link, unknown"),
    Column("verdict", description="whether the figures can be trusted, or how the trial failed"),
    Column("queue", ColumnKind.DURATION, "ms", "longest wait for the link's rate; null: the usual", shown=False),
    Column("loop", description="open: sent on a schedule; closed: sent when an answer came", shown=False),
    Column("limit_per_s", ColumnKind.DECIMAL, "1/s", "the most that this limit allows", shown=False),
    Column("why_not", description="what was not kept, with its figure", shown=False),
    Column("limit_text", description="the limit in one sentence", shown=False),
    Column("trials", ColumnKind.INTEGER, description="how often it was measured", shown=False),
)
_HELD: Final = {Tone.HELD: True, Tone.UNKNOWN: None}
_MS: Final = 1e-6


def point_table(trials: Sequence[Trial]) -> Table:
    """Put trials into a row for each subject at each point, in the order of the grid.

    Figures are medians over the trials of the row; what they do not agree on (``held``) is not known.
    """
    groups: dict[tuple[str, object], list[Trial]] = {}
    for trial in trials:
        if trial.get(CapacityPoint) is not None:
            groups.setdefault((trial.subject, trial.get(CapacityPoint)), []).append(trial)
    rows = list(groups.values())
    # What is said of many points alike stands once for each subject.
    subjects = dict.fromkeys(subject for subject, _ in groups)
    own = {
        subject: [trial for (of, _), row in groups.items() if of == subject for trial in row] for subject in subjects
    }
    notes = [f"{subject}: {text}" for subject, of in own.items() for text in trial_notes(of)]
    metrics = tuple(metric.column for metric in CAPACITY_METRICS)
    return Table((*_POINT, *metrics, *_JUDGED), tuple(map(_row, rows)), notes=tuple(map(Note, notes)))


def _row(trials: Sequence[Trial]) -> tuple[Cell, ...]:
    (one,) = found(trials)
    point = one.point
    summaries = records_of(CapacitySummary, trials)
    return (
        one.subject,
        point.size_bytes,
        _ms(point.delay_ns),
        _ms(point.round_trip_ns),
        point.rate_bits_per_s,
        point.concurrency,
        point.target_per_s,
        *(_median(metric, trials) for metric in CAPACITY_METRICS),
        None if one.tone is Tone.DOUBTFUL else _HELD.get(one.tone, False),
        one.limit,
        _verdict(trials),
        None if point.queue_ns is None else _ms(point.queue_ns),
        point.loop.value,
        next((round(summary.limit_per_s, 1) for summary in summaries if summary.limit_per_s is not None), None),
        one.why,
        one.limit_text,
        one.trials,
    )


def _ms(time_ns: int) -> Cell:
    return round(time_ns * _MS, 6)


def _median(metric: Metric, trials: Sequence[Trial]) -> Cell:
    return metric.rounded(median(map(metric.figure, trials)))


def _verdict(trials: Sequence[Trial]) -> str:
    if failed := next((trial.outcome for trial in trials if trial.outcome is not Outcome.OK), None):
        return failed.value
    return worst_validity(trials) or ""
