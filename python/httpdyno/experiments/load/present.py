"""The metrics, tables, charts and report of a load."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from httpdyno.experiments.definition import Definition
from httpdyno.experiments.load.judge import LoadSecond, LoadSummary, LoadTimes
from httpdyno.experiments.load.records import SERVER, read_load_report
from httpdyno.experiments.report import base_report
from httpdyno.judge import find_metric, trial_notes
from httpdyno.judge.figures import Figure, of_record
from httpdyno.model import (
    Axis,
    Cell,
    Chart,
    ChartKind,
    Column,
    ColumnKind,
    Count,
    Direction,
    Metric,
    Note,
    Outcome,
    Report,
    Scale,
    Series,
    Table,
    Trial,
    Validity,
    counted,
    format_time,
    records_of,
)
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.headline import figure_text
from httpdyno.stats import median
from httpdyno.store import Run

__all__ = ["LOAD_METRICS", "load_report", "load_table", "load_views", "load_words"]

_INTEGER, _NUMBER, _TIME, _SIZE = ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.TIME, ColumnKind.SIZE
_HIGHER, _LOWER = Direction.HIGHER, Direction.LOWER
_MS: Final = 1e-6

PHASES: Final = {
    "dns": "to find the address of the host",
    "connect": "to make a connection",
    "tls": "of the TLS handshake",
    "first_byte": "from the request to the first byte of its answer",
    "content": "from the first to the last byte of an answer",
}
"""The phases of a request: what each takes, by name."""
TIMES: Final = {
    "response": "response time, which counts from when the request was due",
    "service": "service time, which counts from when the request was sent",
    "send_lag": "lag of the generator: how much later than it could it sent",
    **{name: f"time {what}" for name, what in PHASES.items()},
}
"""Everything that has a distribution, by the name of its field in the records."""
_FIGURES: Final = {
    "mean": "mean",
    "p50": "median",
    "p75": "75th percentile",
    "p90": "90th percentile",
    "p95": "95th percentile",
    "p99": "99th percentile",
    "p99_9": "99.9th percentile",
    "p99_99": "99.99th percentile",
    "max": "longest",
}
_load: Final = partial(of_record, LoadSummary)


def _time(kind: str, name: str) -> Figure:
    def figure(load: LoadSummary) -> float | None:
        times: LoadTimes | None = getattr(load, kind)
        return None if times is None else getattr(times, f"{name}_ns")

    return _load(figure, _MS)


def _times(kind: str) -> tuple[Metric, ...]:
    """Return the figures of one distribution; those of the response time have no prefix: ``p99``."""
    prefix = "" if kind == "response" else f"{kind}_"
    return tuple(
        Metric(Column(prefix + name, _TIME, "ms", f"{words} of the {TIMES[kind]}"), _time(kind, name), _LOWER, 6)
        for name, words in _FIGURES.items()
    )


def _cpu_s(load: LoadSummary) -> float | None:
    user, system = load.cpu_user_ns, load.cpu_system_ns
    return None if user is None or system is None else (user + system) / 1e9


def _per_cpu_s(load: LoadSummary) -> float | None:
    cpu_s = _cpu_s(load)
    return load.requests / cpu_s if cpu_s else None


def _statuses(first_digit: str) -> Figure:
    return _load(lambda load: sum(one.count for one in load.statuses if one.name.startswith(first_digit)))


LOAD_METRICS: Final = (
    Metric(
        Column("requests", _INTEGER, description="answers that came whole, whatever their status"), _load("requests")
    ),
    Metric(
        Column("rps", _NUMBER, "1/s", "answers a second"),
        _load("requests_per_s"),
        _HIGHER,
        1,
        phrase="answers a second",
    ),
    Metric(Column("errors", _INTEGER, description="requests and connections that failed"), _load("errors"), _LOWER),
    Metric(
        Column("error_share", _NUMBER, description="failed ones among the requests that ended, 0 to 1"),
        _load(lambda load: load.error_share),
        _LOWER,
        6,
    ),
    Metric(
        Column(
            "resent",
            _INTEGER,
            description="requests sent again, as the server closed their connection before it can have seen them",
        ),
        _load("resent"),
        _LOWER,
    ),
    *(metric for kind in TIMES for metric in _times(kind)),
    Metric(Column("sent", _INTEGER, description="requests that were sent"), _load("sent")),
    Metric(
        Column("censored", _INTEGER, description="requests that were connecting or sent when the load ended"),
        _load("censored"),
    ),
    Metric(
        Column("censored_oldest", _TIME, "ms", "age of the oldest of them"), _load("censored_oldest_ns", _MS), digits=6
    ),
    Metric(
        Column("unsent", _INTEGER, description="requests that were due and never sent, for want of a free connection"),
        _load("unsent"),
        _LOWER,
    ),
    Metric(
        Column("checks", _INTEGER, description="answers that did not meet a check"),
        _load(lambda load: load.checks.wrong if load.checks else None),
        _LOWER,
    ),
    Metric(Column("not_2xx", _INTEGER, description="answers with another status than 2xx"), _load("not_2xx"), _LOWER),
    *(
        Metric(Column(f"{digit}xx", _INTEGER, description=f"answers of {digit}xx"), _statuses(digit))
        for digit in "2345"
    ),
    Metric(Column("elapsed_s", _NUMBER, "s", "how long it lasted"), _load("elapsed_ns", 1e-9), digits=6),
    Metric(Column("sent_bytes", _SIZE, "bytes", "on the wire to the server"), _load("sent_bytes")),
    Metric(Column("received_bytes", _SIZE, "bytes", "on the wire from the server"), _load("received_bytes")),
    Metric(Column("content_bytes", _SIZE, "bytes", "content of the answers, as it was sent"), _load("content_bytes")),
    Metric(Column("connections_opened", _INTEGER, description="connections made"), _load("connections_opened")),
    Metric(
        Column("connections_failed", _INTEGER, description="connections that could not be made"),
        _load("connections_failed"),
        _LOWER,
    ),
    Metric(Column("tls_full", _INTEGER, description="full TLS handshakes"), _load("tls_full")),
    Metric(Column("tls_resumed", _INTEGER, description="resumed TLS handshakes"), _load("tls_resumed")),
    Metric(Column("cpu_s", _NUMBER, "s", "CPU time of the generator"), _load(_cpu_s), digits=6),
    Metric(Column("cpu_user_s", _NUMBER, "s", "in user mode"), _load("cpu_user_ns", 1e-9), digits=6),
    Metric(Column("cpu_system_s", _NUMBER, "s", "in the kernel"), _load("cpu_system_ns", 1e-9), digits=6),
    Metric(
        Column("requests_per_cpu_s", _NUMBER, "1/s", "answers for each second of the generator's CPU time"),
        _load(_per_cpu_s),
        digits=1,
    ),
    Metric(
        Column("busy_share", _NUMBER, description="time in which the generator's busiest thread was busy, 0 to 1"),
        _load("busy_share"),
        digits=4,
    ),
    Metric(
        Column(
            "waiting_share",
            _NUMBER,
            description="time in which others had the CPU that its thread was ready for, 0 to 1",
        ),
        _load("waiting_share"),
        digits=4,
    ),
    Metric(Column("peak_memory_bytes", _SIZE, "bytes", "memory of the generator"), _load("peak_memory_bytes")),
)
"""In the order of the columns of ``--format json``."""


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
_HEADINGS: Final = {
    "requests": "requests",
    "rps": "requests/s",
    "errors": "errors",
    "received_bytes": "received",
    "connections_opened": "connections",
}
"""Of the first table for people, with their headings there."""


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
    metrics = [find_metric(LOAD_METRICS, name) for name in _HEADINGS]
    numbered = len(trials) > 1
    columns = (
        *((_IDENTITY[1],) if numbered else ()),
        *(replace(metric.column, name=_HEADINGS[metric.name]) for metric in metrics),
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


_TIMES: Final = "Response time"
_OVER_TIME: Final = "Over time"
_PHASES: Final = "Phases"
_RESPONSE, _SERVICE, _LAG = "response time", "service time", "send lag"
_COLOURS: Final = (_RESPONSE, _SERVICE, _LAG)
_PHASE_NAMES: Final = {
    "dns": "DNS",
    "connect": "connect",
    "tls": "TLS",
    "first_byte": "first byte",
    "content": "content",
}
_POINTS: Final = 300
"""Of a line over time: more cannot be seen."""
_SEVERAL: Final = " The bold line is the first trial, the thin ones are the others."

Reports = Sequence[Mapping[str, Any]]


def load_charts(trials: Sequence[Trial], reports: Reports) -> Iterator[Chart]:
    """Draw the trials of a load.

    ``reports`` are the generator's own, of those trials that have one.
    """
    drawn = (
        _percentile_chart(reports),
        _phase_chart(reports),
        _throughput_chart(trials),
        _times_chart(trials),
        _lag_chart(trials),
        _outcome_chart(trials),
    )
    return (chart for chart in drawn if chart is not None)


def _percentile_chart(reports: Reports) -> Chart | None:
    lines = {_RESPONSE: "response_time", _SERVICE: "service_time", _LAG: "send_lag"}
    series = [line for name, field in lines.items() for line in _curves(name, [of.get(field) for of in reports])]
    return _chart(
        "percentiles",
        "Response time and service time by percentile",
        _TIMES,
        Axis("percentile of answers", "%", Scale.PERCENTILE),
        Axis("time", "ms", Scale.LOGARITHMIC),
        series,
        "So many per cent of the answers took no longer than this. Response time counts from when a request was due, "
        "service time from when it was sent: where the two part, requests waited before they were sent. The send lag "
        "is the generator's own part of that." + (_SEVERAL if len(reports) > 1 else ""),
    )


def _phase_chart(reports: Reports) -> Chart | None:
    series = [
        line
        for phase, name in _PHASE_NAMES.items()
        for line in _curves(name, [(of.get("phases") or {}).get(phase) for of in reports])
    ]
    return _chart(
        "phases",
        "What a request spends its time on",
        _PHASES,
        Axis("percentile", "%", Scale.PERCENTILE),
        Axis("time", "ms", Scale.LOGARITHMIC),
        series,
        "DNS, connection and TLS handshake of every connection that was made; of every answer the time until its first "
        "byte, and from there to its last." + (_SEVERAL if len(reports) > 1 else ""),
        tuple(_PHASE_NAMES.values()),
    )


def _throughput_chart(trials: Sequence[Trial]) -> Chart | None:
    counts: dict[str, Callable[[LoadSecond], float | None]] = {
        "answers": lambda second: second.requests,
        "sent": lambda second: second.sent,
        "errors": lambda second: second.errors,
    }
    loads = records_of(LoadSummary, trials)
    if not any(second.errors for load in loads for second in load.series):
        del counts["errors"]
    if not any(load.open_loop for load in loads):
        del counts["sent"]  # in a closed loop the same as the answers
    series = [line for name, figure in counts.items() for line in _over_time(name, trials, figure)]
    return _chart(
        "throughput",
        "Answers a second over time",
        _OVER_TIME,
        Axis("time", "s"),
        Axis("a second"),
        series,
        "Each point is a second of the load." + (_SEVERAL if len(trials) > 1 else ""),
        tuple(counts),
    )


def _times_chart(trials: Sequence[Trial]) -> Chart | None:
    figures: dict[str, Callable[[LoadSecond], float | None]] = {
        "response p99": lambda second: _ms(second.response_p99_ns),
        "service p99": lambda second: _ms(second.service_p99_ns),
        "response p50": lambda second: _ms(second.response_p50_ns),
        "response max": lambda second: _ms(second.response_max_ns),
    }
    series = [line for name, figure in figures.items() for line in _over_time(name, trials, figure)]
    return _chart(
        "times",
        "Response time over time",
        _OVER_TIME,
        Axis("time", "s"),
        Axis("time", "ms", Scale.LOGARITHMIC),
        series,
        "Percentiles of the answers that ended within each second." + (_SEVERAL if len(trials) > 1 else ""),
        tuple(figures),
    )


def _lag_chart(trials: Sequence[Trial]) -> Chart | None:
    series = _over_time(_LAG, trials, lambda second: _ms(second.send_lag_p99_ns))
    return _chart(
        "lag",
        "Send lag over time",
        _OVER_TIME,
        Axis("time", "s"),
        Axis("99th percentile", "ms", Scale.LOGARITHMIC),
        series,
        "How much later than it could the generator itself sent: what it adds to the response time on its own account."
        + (_SEVERAL if len(trials) > 1 else ""),
    )


def _outcome_chart(trials: Sequence[Trial]) -> Chart | None:
    counts = {f"trial {trial.trial}": dict(_outcome_counts(trial)) for trial in trials}
    kinds = dict.fromkeys(kind for of in counts.values() for kind in of)
    rows = tuple(row for row, of in counts.items() if of)
    series = tuple(Series(kind, rows, tuple(float(counts[row].get(kind, 0)) for row in rows)) for kind in kinds)
    if not series:
        return None
    return Chart(
        "outcomes",
        "What became of the requests",
        ChartKind.STACKED_BARS,
        Axis("trial"),
        Axis("share of requests", "%"),
        series,
        "Answers by their status, failed requests by the name of the error, and those that were open or not yet sent "
        "when the load ended.",
        "Outcomes",
        tuple(kinds),
    )


def _outcome_counts(trial: Trial) -> Iterator[tuple[str, int]]:
    load = trial.get(LoadSummary)
    if load is None:
        return
    yield from ((f"status {count.name}", count.count) for count in load.statuses)
    yield from ((count.name, count.count) for count in load.failures)
    if load.censored:
        yield "open at the end", load.censored
    if load.unsent:
        yield "never sent", load.unsent


def _chart(
    name: str,
    title: str,
    section: str,
    x: Axis,
    y: Axis,
    series: Sequence[Series],
    caption: str,
    colours: tuple[str, ...] = _COLOURS,
) -> Chart | None:
    """Put lines into one frame; None when there are none."""
    # A logarithmic axis has no place for lines that are zero all along.
    seen = {
        line.name for line in series if any(value for value in line.y) or (y.scale is Scale.LINEAR and _known(line))
    }
    kept = tuple(line for line in series if line.name in seen)
    return Chart(name, title, ChartKind.LINES, x, y, kept, caption, section, colours) if kept else None


def _known(line: Series) -> bool:
    return any(value is not None for value in line.y)


def _curves(name: str, histograms: Sequence[Mapping[str, Any] | None]) -> list[Series]:
    """Draw the percentiles of a histogram of each trial: the first bold, and last, so that it lies on top."""
    known = [histogram["quantiles"] for histogram in histograms if histogram and histogram.get("quantiles")]
    lines = []
    for number, quantiles in enumerate(known):
        points = [(100 * quantile, value * _MS) for quantile, value in quantiles if quantile < 1]
        x, y = tuple(_short(rank, 9) for rank, _ in points), tuple(_short(value, 5) for _, value in points)
        lines.append(Series(name, x, y, faint=number > 0))
    return lines


def _over_time(name: str, trials: Sequence[Trial], figure: Callable[[LoadSecond], float | None]) -> list[Series]:
    lines = []
    for number, load in enumerate(load for load in records_of(LoadSummary, trials) if load.series):
        # The last second is one in part only: its counts would look like a fall.
        whole = [second for second in load.series if (second.at_s + 1) * 1e9 <= load.elapsed_ns * 1.001]
        seconds = whole or load.series
        step = -(-len(seconds) // _POINTS)
        shown = seconds[::step]
        lines.append(
            Series(
                name,
                tuple(float(second.at_s) for second in shown),
                tuple(None if (value := figure(second)) is None else _short(value, 5) for second in shown),
                faint=number > 0,
            )
        )
    return lines


def _ms(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds * _MS


def _short(value: float, digits: int) -> float:
    """Keep as many digits as a drawing can show."""
    return float(f"{value:.{digits}g}")


def load_report(run: Run, definition: Definition) -> Report:
    """Return what a load says, whole, partial or empty."""
    trials = [trial for trial in run.records() if trial.get(LoadSummary) is not None]
    reports = [read for trial in trials if (read := read_load_report(run.folder, trial.trial)) is not None]
    names = {SERVER: trials[0].method if trials else SERVER}
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{names[SERVER]}, {counted(len(trials), 'trial')}",
        headline=_headline(trials),
        table=load_times(trials) if trials else load_table(trials),
        charts=load_charts(trials, reports),
    )
    # Loads follow each other: there is nothing that a random order of theirs could even out.
    facts = run_facts(run.manifest, trials, blocks=False)
    return replace(
        report,
        facts=(("Load", "; ".join(dict.fromkeys(map(load_words, trials)))), *facts) if trials else facts,
        subjects=(),
        figures="Times by percentile" + (", medians of the trials." if len(trials) > 1 else "."),
    )


def _headline(trials: Sequence[Trial]) -> str:
    loads = records_of(LoadSummary, trials)
    if not loads:
        return "Nothing was measured: the run has no finished trial"
    rate = median(load.requests_per_s for load in loads) or 0.0
    p50 = median(load.response.p50_ns for load in loads if load.response)
    p99 = median(load.response.p99_ns for load in loads if load.response)
    errors = sum(load.errors for load in loads)
    parts = [f"{figure_text(rate)} answers a second"]
    if p50 is not None and p99 is not None:
        parts.append(f"half of them within {format_time(p50)}, 99 % within {format_time(p99)}")
    parts.append(f"{errors:,} error{'' if errors == 1 else 's'}" if errors else "no errors")
    invalid = dict.fromkeys(t.validity.value for t in trials if t.validity not in {None, Validity.VALID})
    return "; ".join([", ".join(parts), *invalid])
