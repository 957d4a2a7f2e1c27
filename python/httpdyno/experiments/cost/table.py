"""The table of what documents cost: a row for each subject and setting, the cheapest verified document first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.companion import ORIGIN
from httpdyno.experiments.cost.figures import Coding, CostPoint, CostSummary, RequestClock
from httpdyno.experiments.cost.judge.tool import UNCHECKED
from httpdyno.experiments.cost.metrics import COST_METRICS
from httpdyno.experiments.experiment import Setting
from httpdyno.judge import trial_table
from httpdyno.model import Cell, Column, ColumnKind, Note, Outcome, Table, Trial, Validity, format_time, records_of

__all__ = ["IDENTITY", "RANKED_BY", "cost_table", "cost_views"]

RANKED_BY: Final = "cpu_per_document_ms"
IDENTITY: Final = (
    Column("subject", description="name of the subject's folder", shown=False),
    Column("language"),
    Column("method"),
    Column("condition", description="the setting, where there are several", shown=False),
)
_SETTINGS: Final = (
    Column("json_parser", description="what the client parses the documents with"),
    Column("keepalive", ColumnKind.BOOLEAN, description="whether connections may be kept"),
    Column("gzip", ColumnKind.BOOLEAN, description="whether documents are offered compressed"),
    Column("documents", ColumnKind.INTEGER, description="documents that were to be fetched", shown=False),
    Column("peer", description="who has the documents", shown=False),
    Column("runtime", description="the language, as published tables call it", shown=False),
    Column("client", description="the method, as published tables call it", shown=False),
)
_VARIED: Final = ("keepalive", "gzip")
"""People are shown these where they differ."""
_PUBLISHED: Final = ("verified", "user", "system", "total", "real", "reqPerSec", "mbPerSec", "wrong", "verdict")
_SPENT: Final = (
    "rank",
    "cpu_per_document_ms",
    "steady_cpu_per_document_ms",
    "cold_cpu_per_document_ms",
    "start_cpu_ms",
    "warm_up",
    "peak_memory_bytes",
    "connections",
)
_SPARED: Final = frozenset(
    {"language", "cold_cpu_per_document_ms", "start_cpu_ms", "warm_up", "json_parser", "verified"}
)
"""Left out on a narrow terminal, the last of them first."""
_SETTLED: Final = 0.1
"""A cost that changes by more than this from the first to the last third had not settled."""


def cost_table(trials: Sequence[Trial]) -> Table:
    """Put trials into one row for each subject and setting, as ``judge.trial_table`` does; programs get all of it."""
    table = trial_table(trials, COST_METRICS, RANKED_BY, IDENTITY)
    groups = [
        _group(trials, str(subject), str(condition or ""))
        for subject, condition in zip(table.values("subject"), table.values("condition"), strict=True)
    ]
    width = len(IDENTITY)
    return Table(
        (*table.columns[:width], *_SETTINGS, *table.columns[width:]),
        tuple((*row[:width], *_settings(group), *row[width:]) for row, group in zip(table.rows, groups, strict=True)),
        title=table.title,
        notes=tuple(_notes(table, groups)),
    )


def cost_views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    """Put trials into two tables that fit a terminal: what was published of each, and what each document cost."""
    del settings
    table = cost_table(trials)
    varied = [name for name in _VARIED if len(set(table.values(name))) > 1]
    who = ("language", "method", *varied)
    filled = table.filled()
    spent = _picked(table, (*who, *(name for name in _SPENT if name in filled)), ())
    # Who was not measured has a row in the second table, which says why.
    spent = replace(spent, rows=tuple(row for row in spent.rows if any(cell is not None for cell in row[len(who) :])))
    # Only programs get the ends of the interval.
    notes = tuple(note for note in table.notes if not note.text.startswith(f"{RANKED_BY}_low"))
    published = _picked(table, (*who, "json_parser", *_PUBLISHED), notes)
    return spent, published


def _picked(table: Table, names: Sequence[str], notes: tuple[Note, ...]) -> Table:
    """Return some columns, in that order."""
    return replace(table.select(names), title="", notes=notes).sparing(_SPARED)


def _group(trials: Sequence[Trial], subject: str, condition: str) -> list[Trial]:
    return [trial for trial in trials if trial.subject == subject and trial.condition == condition]


def _settings(group: Sequence[Trial]) -> tuple[Cell, ...]:
    parsers = [summary.json_parser for summary in records_of(CostSummary, group) if summary.json_parser]
    point = group[0].get(CostPoint)
    zipped = None if point is None else point.coding is Coding.GZIP
    first = group[0]
    asked = None if point is None else point.documents
    who = (first.language, first.method)
    return (parsers[0] if parsers else None, first.keepalive, zipped, asked, first.peer, *who)


def _notes(table: Table, groups: Sequence[Sequence[Trial]]) -> Iterator[Note]:
    """Return the notes of the rows, what has to be added to them, and those of the whole."""
    yield from (note for note in table.notes if note.row is not None)
    for row, group in enumerate(groups):
        yield from (Note(text, row) for text in _remarks(group))
    yield from map(Note, dict.fromkeys(text for group in groups for text in _own_times(group)))
    yield from (note for note in table.notes if note.row is None and UNCHECKED not in note.text)


def _own_times(group: Sequence[Trial]) -> Iterator[str]:
    """Describe why the split of start-up and steady state rests on what clients print: it does not show there."""
    for trial in group:
        summary = trial.get(CostSummary)
        if summary is None or summary.requests_timed_by is not RequestClock.CLIENT:
            continue
        way = trial.counters.against
        if way is None:
            ours = trial.peer == ORIGIN
            why = "no request reached the origin" if ours else f"{trial.peer} records no time of its requests"
        else:
            why = f"the clock of {way.url} is known to {format_time(way.clock_bound_ns or 0)} only"
        yield f"start-up and steady state rest on the clients' own times: {why}"
        return


def _remarks(group: Sequence[Trial]) -> Iterator[str]:
    well = [trial for trial in group if trial.outcome is Outcome.OK and trial.get(CostSummary)]
    if any(trial.validity is Validity.UNVERIFIED and trial.validity_reason == UNCHECKED for trial in well):
        yield f"{UNCHECKED}: shown beside the others, and not ranked"
    summaries = records_of(CostSummary, well)
    caught = sorted({summary.caught for summary in summaries if summary.caught})
    if caught:
        yield f"the web served wrong documents: {_counts(caught)} were named as such"
    moved = [drift for summary in summaries if abs(drift := summary.drift or 0.0) > _SETTLED]
    if 2 * len(moved) > len(well):
        worst = max(moved, key=abs)
        yield (
            f"its cost had not settled: a document of the last third cost {abs(100 * worst):.0f} % "
            f"{'less' if worst < 0 else 'more'} than one of the first; more --documents show where it ends"
        )
    refused = [summary.receive_steering_reason for summary in summaries if summary.receive_steering_reason]
    if refused:
        yield f"packets were not received on its own CPUs: {refused[0]}"


def _counts(numbers: Sequence[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
