"""The tables of a load: a row a trial for programs; figures, times and outcomes below each other for people."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.load.figures import LoadSummary, LoadTimes
from httpdyno.experiments.load.metrics import LOAD_METRICS
from httpdyno.judge import find_metric, trial_notes
from httpdyno.model import Cell, Column, ColumnKind, Count, Metric, Note, Outcome, Table, Trial, format_time, records_of
from httpdyno.stats import median

__all__ = ["load_table", "load_times", "load_views", "load_words"]

_INTEGER, _NUMBER, _TIME = ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.TIME
_SHOWN: Final = frozenset(
    {"requests", "rps", "errors", "p50", "p99", "p99_9", "max", "service_p50", "service_p99", "send_lag_p99", "cpu_s"}
)
"""What people see of a row; programs get everything."""
_IDENTITY: Final = (
    Column("subject", description="what is measured: the server", shown=False),
    Column("trial", _INTEGER, description="number of the trial in its run, from 0"),
    Column("url", description="what was asked for; the first of several"),
    Column("loop", description="closed: sends when an answer came; open: sends on a schedule", shown=False),
    Column("rate", _NUMBER, "1/s", "rate of the schedule, at the start of a ramp", shown=False),
    Column("rate_end", _NUMBER, "1/s", "rate at the end of a ramp", shown=False),
    Column("concurrency", _INTEGER, description="requests that may be in flight at once", shown=False),
    Column("http_version", shown=False),
    Column("keepalive", ColumnKind.BOOLEAN, shown=False),
)
_JUDGED: Final = (
    Column("statuses", description="answers by status code: `200: 9980, 503: 20`", shown=False),
    Column("failures", description="failed requests by the name of the error", shown=False),
    Column("verdict", description="whether the figures say something about the server, or how the trial ended"),
)
_ROWS: Final = {
    "response": "response time",
    "service": "service time",
    "send_lag": "send lag",
    "dns": "DNS",
    "connect": "connect",
    "tls": "TLS",
    "first_byte": "first byte",
    "content": "content",
}
_PERCENTILES: Final = {
    "mean": "mean_ns",
    "p50": "p50_ns",
    "p90": "p90_ns",
    "p99": "p99_ns",
    "p99.9": "p99_9_ns",
    "p99.99": "p99_99_ns",
    "max": "max_ns",
}
_FIGURES: Final = {
    "requests": "requests",
    "rps": "requests/s",
    "errors": "errors",
    "received_bytes": "received",
    "connections_opened": "connections",
}
"""Of the first table for people, with their headings there."""
_MS: Final = 1e-6


def load_table(trials: Sequence[Trial]) -> Table:
    """Put each trial of a load into a row, with every figure of it."""
    figures = tuple(replace(metric.column, shown=metric.name in _SHOWN) for metric in LOAD_METRICS)
    rows = tuple(
        (*_identity(trial), *(_cell(metric, trial) for metric in LOAD_METRICS), *_end(trial)) for trial in trials
    )
    notes = [Note(text, number) for number, trial in enumerate(trials) for text in trial_notes([trial])]
    return Table((*_IDENTITY, *figures, *_JUDGED), rows, notes=tuple(notes))


def load_views(trials: Sequence[Trial]) -> tuple[Table, ...]:
    """Show loads to people: the figures of each trial, times side by side, and what became of the requests.

    Trials are of the same load; times are medians over them.
    """
    measured = [trial for trial in trials if trial.get(LoadSummary) is not None]
    if not measured:
        return (load_table(trials),)
    return _figures(measured), load_times(measured), _outcomes(measured)


def load_words(trial: Trial) -> str:
    """Describe in one line what a load was: where it went, how many at a time, on which schedule."""
    load = trial.get(LoadSummary)
    if load is None:
        return trial.method
    version = f"HTTP/{trial.http_version}"
    keepalive = "" if trial.keepalive else ", a new connection each"
    places = f"{trial.concurrency:,} at a time"
    return f"{trial.method}: {version}, {places}{keepalive}, {_loop(load)}, {load.elapsed_ns / 1e9:.3g} s"


def _loop(load: LoadSummary) -> str:
    if not load.open_loop:
        return "closed loop"
    ramp = f" to {load.rate_end_per_s:,g}" if load.ramp else ""
    return f"open loop of {load.rate_per_s:,g}{ramp} a second"


def _identity(trial: Trial) -> tuple[Cell, ...]:
    load = trial.get(LoadSummary)
    return (
        trial.subject,
        trial.trial,
        trial.method,
        None if load is None else "open" if load.open_loop else "closed",
        load.rate_per_s if load else None,
        load.rate_end_per_s if load else None,
        trial.concurrency,
        trial.http_version,
        trial.keepalive,
    )


def _end(trial: Trial) -> tuple[Cell, ...]:
    load = trial.get(LoadSummary)
    counted = (None, None) if load is None else (_counted(load.statuses), _counted(load.failures))
    return (*counted, _verdict(trial))


def _counted(counts: Sequence[Count]) -> str:
    return ", ".join(f"{count.name}: {count.count}" for count in counts)


def _verdict(trial: Trial) -> str:
    return trial.validity.value if trial.validity and trial.outcome is Outcome.OK else trial.outcome.value


def _cell(metric: Metric, trial: Trial) -> Cell:
    return metric.rounded(metric.figure(trial))


def _figures(trials: Sequence[Trial]) -> Table:
    metrics = [find_metric(LOAD_METRICS, name) for name in _FIGURES]
    numbered = len(trials) > 1
    columns = (
        *((_IDENTITY[1],) if numbered else ()),
        *(replace(metric.column, name=_FIGURES[metric.name]) for metric in metrics),
        Column("own CPU", _TIME, "ms", "CPU time of the generator"),
        Column("busy %", ColumnKind.DECIMAL, "%", "time in which the generator's busiest thread was busy, not waiting"),
        _JUDGED[-1],
    )
    rows = tuple(
        (
            *((trial.trial,) if numbered else ()),
            *(_cell(metric, trial) for metric in metrics),
            _own_cpu_ms(trial),
            _percent(trial[LoadSummary].busy_share if trial.get(LoadSummary) else None),
            _verdict(trial),
        )
        for trial in trials
    )
    notes = tuple(map(Note, trial_notes(trials)))
    return Table(columns, rows, title=load_words(trials[0]), notes=notes)


def _own_cpu_ms(trial: Trial) -> float | None:
    cpu_s = find_metric(LOAD_METRICS, "cpu_s").figure(trial)
    return None if cpu_s is None else 1000 * cpu_s


def _percent(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)


def load_times(trials: Sequence[Trial]) -> Table:
    """Put each kind of time into a row; kinds that no trial has are left out."""
    columns = (
        Column(
            "time", description="response time counts from when a request was due, service time from when it was sent"
        ),
        Column("count", _INTEGER, description="how many were measured, in all trials"),
        *(Column(name, _TIME, "ms") for name in _PERCENTILES),
    )
    rows = []
    for kind, words in _ROWS.items():
        found = [times for trial in trials if (times := getattr(trial.get(LoadSummary), kind)) is not None]
        if found:
            rows.append((words, sum(times.count for times in found), *_middles(found)))
    title = "" if len(trials) == 1 else f"Medians of {len(trials)} trials"
    return Table(columns, tuple(rows), title=title)


def _middles(found: Sequence[LoadTimes]) -> list[Cell]:
    values = (median(getattr(times, field) for times in found) for field in _PERCENTILES.values())
    return [None if value is None else value * _MS for value in values]


def _outcomes(trials: Sequence[Trial]) -> Table:
    """Count what became of the requests of all trials."""
    loads = records_of(LoadSummary, trials)
    answers = _sum(loads, lambda load: load.statuses)
    failures = _sum(loads, lambda load: load.failures)
    rows: list[tuple[Cell, ...]] = [(f"status {name}", count) for name, count in answers.items()]
    rows += list(failures.items())
    rows += _left_over(loads)
    ended = sum(answers.values()) + sum(failures.values())
    columns = (
        Column("outcome"),
        Column("count", _INTEGER),
        Column("%", ColumnKind.DECIMAL, "%", "of the requests that ended"),
    )
    named = [*answers, *failures]
    shares = [round(100 * float(str(row[1])) / ended, 3) if ended else None for row in rows[: len(named)]]
    padded = [*shares, *([None] * (len(rows) - len(named)))]
    return Table(columns, tuple((*row, share) for row, share in zip(rows, padded, strict=True)))


def _sum(loads: Sequence[LoadSummary], counts: Callable[[LoadSummary], Sequence[Count]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for load in loads:
        total.update({count.name: count.count for count in counts(load)})
    return dict(total.most_common())


def _left_over(loads: Sequence[LoadSummary]) -> list[tuple[Cell, ...]]:
    rows: list[tuple[Cell, ...]] = []
    if censored := sum(load.censored for load in loads):
        oldest = max((load.censored_oldest_ns or 0 for load in loads), default=0)
        rows.append((f"open at the end, the oldest for {format_time(oldest)}", censored))
    if resent := sum(load.resent or 0 for load in loads):
        rows.append(("sent again: the connection was closed as they were sent", resent))
    if unsent := sum(load.unsent or 0 for load in loads):
        rows.append(("due, but never sent: no connection was free", unsent))
    checks = [load.checks for load in loads if load.checks]
    for kind in ("status", "length", "content", "json"):
        if wrong := sum(getattr(check, f"wrong_{kind}") for check in checks):
            rows.append((f"check failed: {kind}", wrong))
    if checks:
        rows.append(("met every check", sum(check.right for check in checks)))
    return rows
