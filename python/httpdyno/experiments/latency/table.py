"""The table of what a call costs: a row for each subject at each point, both ways of timing it beside each other."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.latency.figures import Content, LatencyPoint, LatencySummary
from httpdyno.experiments.latency.judge.agreement import Agreement, agreement
from httpdyno.experiments.latency.judge.lines import clock_tells
from httpdyno.experiments.latency.judge.timeit import per_loop_text
from httpdyno.experiments.latency.metrics import LATENCY_METRICS, MEAN
from httpdyno.judge import rankable_trials, trial_notes, trial_table
from httpdyno.model import Cell, Column, ColumnKind, Note, Outcome, Table, Trial, format_span, format_time, records_of
from httpdyno.stats import median

__all__ = ["IDENTITY", "RANKED_BY", "WORDS", "latency_table", "latency_views", "of_timeit", "page_table", "seed_text"]

RANKED_BY: Final = MEAN.name
IDENTITY: Final = (
    Column("subject", description="name of the subject's folder", shown=False),
    Column("language"),
    Column("method"),
    Column("version", shown=False),
    Column("condition", description="the point, in words", shown=False),
)
_POINT: Final = (
    Column("workload", description="what is fetched: 13 bytes of text, or a JSON document of 16 KiB"),
    Column("parallel", ColumnKind.INTEGER, description="calls started at once: a loop ends with the last of them"),
    Column("keepalive", ColumnKind.BOOLEAN, description="whether connections may be kept"),
    Column("peer", description="who answers", shown=False),
    Column("mode", description="who timed the calls that the figures are of: lines, or the harness", shown=False),
    Column("client", description="the method, as published tables call it", shown=False),
)
_LOOPS: Final = (
    Column("per_loop", description="time of a loop, as timeit writes it: from outside, where it was timed from there"),
    Column("in_process", description="the same as the client timed its own calls, where both were measured"),
    Column(
        "in_process_mean_ms", ColumnKind.TIME, "ms", "mean time of a loop that the client timed itself", shown=False
    ),
    Column("in_process_cpu_per_call_ms", ColumnKind.TIME, "ms", "CPU time of a call in that loop", shown=False),
    Column("agree", description="whether both agree within their intervals: in process over from outside"),
)
_BLOCK: Final = ("workload", "parallel", "keepalive")
_SHOWN: Final = (
    "rank",
    "per_loop",
    "loops",
    "in_process",
    "agree",
    "p50",
    "p99",
    "p999",
    "cpu_per_call_ms",
    "client_share",
    "wire_share",
    "server_share",
    "wrong",
    "verdict",
)
_SPARED: Final = frozenset({"language", "loops", "in_process", "agree", "p50", "p999", "wire_share", "server_share"})
"""Left out on a narrow terminal, the last of them first."""
_LOOP_TIMES: Final = ("per_loop", "in_process")
_END: Final = {**dict.fromkeys(_LOOP_TIMES, " per loop"), "agree": " ("}
WORDS: Final = {Content.PLAIN: "Plain text", Content.JSON: "JSON"}
_MS: Final = 1e-6


@dataclass(frozen=True, slots=True)
class _Row:
    """What was measured of one subject at one point."""

    point: LatencyPoint
    lines: Sequence[Trial]
    harness: Sequence[Trial]

    @property
    def ranked(self) -> Sequence[Trial]:
        """Those whose figures the row has: from outside, unless only the client timed itself."""
        return self.lines or self.harness

    @property
    def agreement(self) -> Agreement | None:
        """Whether both ways of timing say the same."""
        return agreement(self.lines, self.harness)


def of_timeit(trial: Trial) -> bool:
    """Return whether the client timed its own calls in a trial."""
    return bool(trial.harness)


def latency_table(trials: Sequence[Trial]) -> Table:
    """Put trials into one row for each subject and point: figures from its lines, and what it timed itself beside them.

    Ranks are among the subjects of one point. Where a client's lines were not measured, the figures are those of its
    own process.
    """
    groups = _groups(trials)
    ranked = [trial for row in groups.values() for trial in row.ranked]
    table = trial_table(ranked, LATENCY_METRICS, RANKED_BY, IDENTITY)
    keys = zip(table.values("condition"), table.values("subject"), strict=True)
    by_condition = {(row.ranked[0].condition, row.ranked[0].subject): row for row in groups.values()}
    rows = [by_condition[str(condition), str(subject)] for condition, subject in keys]
    width = len(IDENTITY)
    return Table(
        (*table.columns[:width], *_POINT, *_LOOPS, *table.columns[width:]),
        tuple(
            (*cells[:width], *_point(row), *_loops(row), *cells[width:])
            for cells, row in zip(table.rows, rows, strict=True)
        ),
        title=table.title,
        notes=tuple(_notes(table, rows)),
    )


def latency_views(
    trials: Sequence[Trial], settings: Mapping[str, Setting], answer: Callable[[Sequence[Trial]], str] | None = None
) -> tuple[Table, ...]:
    """Put trials into a table for each point that fits a terminal, as the seed has its blocks.

    ``answer`` says in a sentence what the trials of one point show, which stands above their table.
    """
    del settings
    table = latency_table(trials)
    blocks = dict.fromkeys(table.select(_BLOCK).rows)
    views = [_block(table, block) for block in blocks]
    if answer is not None:
        views = [view.answering(answer(_ranked_at(trials, block))) for view, block in zip(views, blocks, strict=True)]
    if not views:
        return (table,)
    whole = (*(note for note in table.notes if note.row is None), *_legend(table))
    return (*views[:-1], replace(views[-1], notes=(*views[-1].notes, *whole)))


def _ranked_at(trials: Sequence[Trial], block: tuple[Cell, ...]) -> list[Trial]:
    """Return the trials of one point that rank: from outside, else those timed in process."""
    own = [row.ranked for row in _groups(trials).values() if _point(row)[: len(_BLOCK)] == block]
    return [trial for ranked in own for trial in ranked]


def _block(table: Table, block: tuple[Cell, ...]) -> Table:
    """Return the rows of one point, and of their columns those that say something there."""
    points = table.select(_BLOCK).rows
    rows = [index for index, point in enumerate(points) if point == block]
    whole = Table(table.columns, tuple(table.rows[index] for index in rows))
    filled = whole.filled()
    shown = _in_short(whole.select(name for name in ("language", "method", *_SHOWN) if name in filled))
    workload, parallel, keepalive = block
    at_once = "one at a time" if parallel == 1 else f"{parallel} at once"
    notes = (Note(note.text, rows.index(note.row)) for note in table.notes if note.row in rows)
    return replace(
        shown,
        columns=tuple(_column(column) for column in shown.columns),
        title=f"{WORDS[Content(str(workload))]}, {at_once}, {'' if keepalive else 'no '}keep-alive",
        notes=tuple(notes),
    ).sparing(_SPARED)


def _column(column: Column) -> Column:
    """Show a column where people read; times with their deviation stand at the right, as numbers do."""
    return replace(column, shown=True, kind=ColumnKind.DECIMAL if column.name in _LOOP_TIMES else column.kind)


def _legend(table: Table) -> Iterator[Note]:
    """Say what the texts of all rows have in common, as timeit writes it."""
    runs = sorted({int(count) for count in table.values("runs") if isinstance(count, int | float)})
    if runs:
        many = str(runs[0]) if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
        yield Note(
            f"{', '.join(_LOOP_TIMES)}: mean ± std. dev. of {many} runs of so many loops each, as timeit has them"
        )


def _short(cell: Cell, name: str) -> Cell:
    """Leave out of a text what those of all rows have in common, and of an agreement its interval."""
    if not isinstance(cell, str):
        return cell
    end = _END.get(name)
    return cell.partition(end)[0] if end else cell


def page_table(table: Table) -> Table:
    """Put the columns of a ``latency_table`` into the order in which a page shows them, its texts in short."""
    first = ("subject", "language", "method", *_BLOCK, *_SHOWN)
    return _in_short(table.select(dict.fromkeys((*first, *(column.name for column in table.columns)))))


def _in_short(table: Table) -> Table:
    names = [column.name for column in table.columns]
    return replace(table, rows=tuple(tuple(map(_short, row, names)) for row in table.rows))


def seed_text(trials: Sequence[Trial]) -> str | None:
    """Write what a loop takes as timeit does: of several trials, the one in the middle; None when none went well."""
    believed = rankable_trials(trials) or [trial for trial in trials if trial.outcome is Outcome.OK]
    known = [summary for summary in records_of(LatencySummary, believed) if summary.mean_ns is not None]
    if not known:
        return None
    middle = sorted(known, key=lambda one: one.mean_ns or 0.0)[(len(known) - 1) // 2]
    return per_loop_text(middle.mean_ns or 0.0, middle.deviation_ns or 0.0, len(middle.runs), middle.loops or 0)


def _groups(trials: Sequence[Trial]) -> dict[tuple[str, LatencyPoint, bool], _Row]:
    groups: dict[tuple[str, LatencyPoint, bool], list[Trial]] = {}
    for trial in trials:
        if trial.get(LatencyPoint) is not None:
            groups.setdefault((trial.subject, trial[LatencyPoint], trial.keepalive), []).append(trial)
    return {
        key: _Row(key[1], [t for t in group if not of_timeit(t)], [t for t in group if of_timeit(t)])
        for key, group in groups.items()
    }


def _point(row: _Row) -> tuple[Cell, ...]:
    first = row.ranked[0]
    mode = "lines" if row.lines else "harness"
    return (row.point.workload.value, row.point.parallel, first.keepalive, first.peer, mode, first.method)


def _loops(row: _Row) -> tuple[Cell, ...]:
    timed = [
        trial[LatencySummary] for trial in row.harness if trial.get(LatencySummary) and trial.outcome is Outcome.OK
    ]
    means = [one.mean_ns for one in timed if one.mean_ns is not None]
    cpu = [one.cpu_per_call_ns for one in timed if one.cpu_per_call_ns is not None]
    found = row.agreement
    return (
        seed_text(row.ranked),
        seed_text(row.harness) if row.lines else None,
        _median_ms(means),
        _median_ms(cpu),
        found.text if found else None,
    )


def _median_ms(values: Sequence[float]) -> float | None:

    middle = median(values)
    return None if middle is None else round(middle * _MS, 6)


def _notes(table: Table, rows: Sequence[_Row]) -> Iterator[Note]:
    """Return the notes of the rows, what has to be added to them, and those of the whole."""
    yield from (note for note in table.notes if note.row is not None)
    for index, row in enumerate(rows):
        yield from (Note(text, index) for text in _remarks(row))
    yield from (note for note in table.notes if note.row is None)


def _remarks(row: _Row) -> Iterator[str]:
    if row.lines and row.harness:
        yield from (f"in its own process: {text}" for text in trial_notes(row.harness))
    well = (trial for trial in row.lines if trial.outcome is Outcome.OK)
    idle = [trial for trial in well if (summary := trial.get(LatencySummary)) and not summary.runs]
    if idle:
        calls = max(trial.tally.right for trial in idle if trial.tally) if any(trial.tally for trial in idle) else 0
        few = f"{calls:,} calls" if calls != 1 else "1 call"
        yield f"no time for seven warm runs: {few} in {_lasted(idle)}; give it more (--duration)"
    yield from _untold(row.lines)
    if row.point.workload is Content.JSON and not row.ranked[0].check:
        yield "it does not parse JSON by itself: its calls are of fetching alone"


def _untold(trials: Sequence[Trial]) -> Iterator[str]:
    """Describe why nobody knows whose time a call was, where the clock of another machine is the reason."""
    for trial in trials:
        bound_ns = trial.counters.against.clock_bound_ns if trial.counters.against else None
        call_ns = trial[LatencySummary].call_ns if trial.get(LatencySummary) else None
        if bound_ns is not None and call_ns is not None and not clock_tells(bound_ns, call_ns):
            clocks = (
                f"the other machine's clock is known to {format_time(bound_ns)}, a call takes {format_time(call_ns)}"
            )
            yield f"it is not known which part of the time is the client's: {clocks}"
            return


def _lasted(trials: Sequence[Trial]) -> str:
    """Describe how long the longest of them lasted."""
    return format_span(max((trial.counters.wall_ns or 0) for trial in trials) / 1e9)
