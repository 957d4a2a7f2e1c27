"""The metrics, tables, charts and report of a load."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Any, Final

from httpdyno.experiments.definition import Definition
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.load.judge import LoadStage, LoadSummary, rules_of_reports
from httpdyno.experiments.load.records import SERVER, read_load_report
from httpdyno.experiments.load.search import search_charts, search_sentence, search_tables
from httpdyno.experiments.report import base_report
from httpdyno.judge import find_metric, trial_notes
from httpdyno.judge.figures import record_metric
from httpdyno.model import (
    AddressCount,
    Addresses,
    Axis,
    Cell,
    Chart,
    ChartKind,
    Column,
    ColumnKind,
    Count,
    Direction,
    LabelCount,
    Labels,
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
from httpdyno.model.record import flatten
from httpdyno.report.cell import figure_text
from httpdyno.report.sections.charts import stacked_chart
from httpdyno.report.sections.facts import run_facts
from httpdyno.stats import median
from httpdyno.store import Run

_INTEGER, _NUMBER, _TIME, _SIZE = ColumnKind.INTEGER, ColumnKind.NUMBER, ColumnKind.TIME, ColumnKind.SIZE
_HIGHER, _LOWER = Direction.HIGHER, Direction.LOWER
_MS: Final = 1e-6

_TIMES: Final = {
    "response": ("response time", "response time of good answers, which counts from when the request was due"),
    "all": ("of all answers", "response time of all answers"),
    "service": ("service time", "service time, which counts from when the request was sent"),
    "send_lag": ("send lag", "avoidable delay of the generator before sending"),
    "dns": ("DNS", "time to look up the address of the host"),
    "connect": ("connect", "time to open a connection"),
    "tls": ("TLS", "time of the TLS handshake"),
    "first_byte": ("first byte", "time from the request to the first byte of its answer"),
    "content": ("content", "time from the first to the last byte of an answer"),
}
"""Each kind of time in a record: its name in tables, and its description."""
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


_metric: Final = partial(record_metric, LoadSummary)


def _time_metric(kind: str, figure: str) -> Metric:
    """Return the metric of one figure of a distribution; those of the response time have no prefix: ``p99``."""
    prefix = "" if kind == "response" else f"{kind}_"
    description = f"{_FIGURES[figure]} of the {_TIMES[kind][1]}"

    def read(load: LoadSummary) -> float | None:
        return getattr(getattr(load, kind), f"{figure}_ns", None)

    return _metric(prefix + figure, description, _TIME, "ms", _LOWER, figure=read, scale=_MS, digits=6)


def _answers_of_class(first_digit: str, load: LoadSummary) -> int:
    return sum(status.count for status in load.statuses if status.name.startswith(first_digit))


def _cpu_s(load: LoadSummary) -> float | None:
    user, system = load.cpu_user_ns, load.cpu_system_ns
    return None if user is None or system is None else (user + system) / 1e9


def _per_cpu_s(load: LoadSummary) -> float | None:
    cpu_s = _cpu_s(load)
    return load.requests / cpu_s if cpu_s else None


LOAD_METRICS: Final = (
    _metric("requests", "complete answers, whatever their status"),
    replace(
        _metric("rps", "good answers a second", _NUMBER, "1/s", _HIGHER, figure="requests_per_s", digits=1),
        phrase="answers a second",
    ),
    _metric("errors", "requests that failed: without an answer, or with one that is not good", better=_LOWER),
    _metric("error_share", "share of failed requests among those that ended, 0 to 1", _NUMBER, better=_LOWER, digits=6),
    _metric(
        "resent",
        "requests sent again, because the server closed their connection before it could have seen them",
        better=_LOWER,
    ),
    *(_time_metric(kind, figure) for kind in _TIMES for figure in _FIGURES),
    _metric("sent", "sent requests"),
    _metric("censored", "requests in flight (connecting or sent) when the load ended"),
    _metric(
        *("censored_oldest", "age of the oldest of them", _TIME, "ms"),
        figure="censored_oldest_ns",
        scale=_MS,
        digits=6,
    ),
    _metric("unsent", "requests that were due but never sent, because no connection was free", better=_LOWER),
    _metric(
        "checks",
        "answers that failed a check",
        better=_LOWER,
        figure=lambda load: load.checks.wrong if load.checks else None,
    ),
    _metric("not_2xx", "answers with another status than 2xx", better=_LOWER),
    *(_metric(f"{digit}xx", f"answers of {digit}xx", figure=partial(_answers_of_class, digit)) for digit in "2345"),
    _metric("elapsed_s", "how long it lasted", _NUMBER, "s", figure="elapsed_ns", scale=1e-9, digits=6),
    _metric("sent_bytes", "bytes on the wire to the server", _SIZE, "bytes"),
    _metric("received_bytes", "bytes on the wire from the server", _SIZE, "bytes"),
    _metric("content_bytes", "content of the answers, before decoding", _SIZE, "bytes"),
    _metric("connections_opened", "connections made"),
    _metric("connections_failed", "failed attempts to connect", better=_LOWER),
    _metric("tls_full", "full TLS handshakes"),
    _metric("tls_resumed", "resumed TLS handshakes"),
    _metric("cpu_s", "CPU time of the generator", _NUMBER, "s", figure=_cpu_s, digits=6),
    _metric("cpu_user_s", "in user mode", _NUMBER, "s", figure="cpu_user_ns", scale=1e-9, digits=6),
    _metric("cpu_system_s", "in the kernel", _NUMBER, "s", figure="cpu_system_ns", scale=1e-9, digits=6),
    _metric(
        *("requests_per_cpu_s", "answers per second of the generator's CPU time", _NUMBER, "1/s"),
        figure=_per_cpu_s,
        digits=1,
    ),
    _metric("busy_share", "time in which the generator's busiest thread was busy, 0 to 1", _NUMBER, digits=4),
    _metric(
        "waiting_share", "time in which its thread was ready but other programs had its CPU, 0 to 1", _NUMBER, digits=4
    ),
    _metric("peak_memory_bytes", "peak memory of the generator", _SIZE, "bytes"),
)
"""In the order of the columns of ``--format json``."""


_SHOWN: Final = frozenset(
    {"requests", "rps", "errors", "p50", "p99", "p99_9", "max", "service_p50", "service_p99", "send_lag_p99", "cpu_s"}
)
"""Columns of the table for people; programs get all."""
_TRIAL: Final = Column("trial", _INTEGER, description="number of the trial in its run, from 0")
_IDENTITY: Final = (
    Column("subject", description="always `server`, which is measured", shown=False),
    _TRIAL,
    Column("url", description="requested URL; the first of several"),
    Column("loop", description="closed: sends when an answer arrived; open: sends on a schedule", shown=False),
    Column("rate", _NUMBER, "1/s", "rate of the schedule, at the start of a ramp", shown=False),
    Column("rate_end", _NUMBER, "1/s", "rate at the end of a ramp", shown=False),
    Column("concurrency", _INTEGER, description="requests that may be in flight at once", shown=False),
    Column("http_version", shown=False),
    Column("keepalive", ColumnKind.BOOLEAN, shown=False),
)
_VERDICT: Final = Column("verdict", description="whether the figures describe the server, or how the trial ended")
_JUDGED: Final = (
    Column("statuses", description="answers by status code: `200: 9980, 503: 20`", shown=False),
    Column("failures", description="failed requests by the name of the error", shown=False),
    Column(
        "stages", description="with `--stages`: JSON text, a list of the stages as the report has them", shown=False
    ),
    Column(
        "addresses", description="JSON text, a list of the addresses of the servers as the report has them", shown=False
    ),
    Column("replay", description="with `--replay`: JSON text, the recording as the report has it", shown=False),
    _VERDICT,
)
_SHOWN_LABELS: Final = 20
"""Labels that a table for people has; the others are for programs."""
_SHOWN_ADDRESSES: Final = 20
_LabelColumn = tuple[Column, Callable[[LabelCount], Cell]]


def _label_time(figure: str) -> _LabelColumn:
    def read(one: LabelCount) -> Cell:
        value = getattr(one, f"{figure}_ns")
        return None if value is None else round(value * _MS, 6)

    return Column(figure, _TIME, "ms", f"{_FIGURES[figure]} of the response time of the label", shown=False), read


_OF_LABEL: Final[tuple[_LabelColumn, ...]] = (
    *((Column(name, _INTEGER, shown=False), attrgetter(name)) for name in ("requests", "errors", "not_2xx")),
    *(_label_time(figure) for figure in _FIGURES),
    *((Column(name, shown=False), attrgetter(name)) for name in ("statuses", "failures")),
)
"""Columns of each label for programs, after its name and a dot."""
_PERCENTILES: Final = ("mean", "p50", "p90", "p99", "p99_9", "p99_99", "max")
_HEADINGS: Final = {
    "requests": "requests",
    "rps": "requests/s",
    "errors": "errors",
    "received_bytes": "received",
    "connections_opened": "connections",
}
"""Metrics of the first table for people, with their headings there."""


def load_table(trials: Sequence[Trial]) -> Table:
    """Return the table for programs: a row for each trial of a load, with all figures."""
    figures = tuple(replace(metric.column, shown=metric.name in _SHOWN) for metric in LOAD_METRICS)
    notes = tuple(Note(text, number) for number, trial in enumerate(trials) for text in load_notes([trial]))
    labels = _labels_of(trials)
    of_labels = (replace(column, name=f"{label}.{column.name}") for label in labels for column, _ in _OF_LABEL)
    found = _FOUND if any(load.find_verdict for load in records_of(LoadSummary, trials)) else ()
    rows = tuple(
        (*_row(trial), *(read(trial.get(LoadSummary)) for _, read in found), *_label_cells(trial, labels))
        for trial in trials
    )
    return Table((*_IDENTITY, *figures, *_JUDGED, *(column for column, _ in found), *of_labels), rows, notes=notes)


def _found_rate(field: str, load: LoadSummary | None) -> Cell:
    rate: float | None = getattr(load, field, None)
    return None if rate is None else round(rate, 3)


def _found_steps(load: LoadSummary | None) -> str | None:
    """Return the steps of a search as JSON text, as the engine prints them."""
    if load is None or not load.find_steps:
        return None
    steps = [{**flatten(step), "over": [int(count) for count in step.over.split(", ")]} for step in load.find_steps]
    return json.dumps(steps, ensure_ascii=False, separators=(",", ":"))


_FOUND: Final[tuple[tuple[Column, Callable[[LoadSummary | None], Cell]], ...]] = (
    *(
        (Column(name, _NUMBER, shown=False), partial(_found_rate, name))
        for name in ("found_per_s", "found_low_per_s", "found_high_per_s")
    ),
    (Column("found", shown=False), lambda load: None if load is None else search_sentence(load)),
    (Column("find_steps", shown=False), _found_steps),
)
"""Columns of a search for programs."""


def _labels_of(trials: Sequence[Trial]) -> list[str]:
    """Return the labels of a load, which are the same in all of its trials."""
    first = trials[0].get(Labels) if trials else None
    return [one.label for one in first.labels] if first else []


def _label_cells(trial: Trial, labels: Sequence[str]) -> Iterator[Cell]:
    own = trial.get(Labels)
    known = {one.label: one for one in own.labels} if own else {}
    for label in labels:
        one = known.get(label)
        yield from ((None if one is None else read(one)) for _, read in _OF_LABEL)


def _row(trial: Trial) -> tuple[Cell, ...]:
    load = trial.get(LoadSummary)
    loop = None if load is None else "open" if load.open_loop else "closed"
    rates = (load.rate_per_s, load.rate_end_per_s) if load else (None, None)
    judged = (
        (
            _count_list(load.statuses),
            _count_list(load.failures),
            _json_text(load.stages) if load.stages else None,
            _json_text(addresses.addresses) if (addresses := trial.get(Addresses)) else None,
            load.replay,
        )
        if load
        else (None,) * 5
    )
    return (
        *(trial.subject, trial.trial, trial.method, loop, *rates),
        *(trial.concurrency, trial.http_version, trial.keepalive),
        *(_cell(metric, trial) for metric in LOAD_METRICS),
        *(*judged, _verdict(trial)),
    )


_SHOWN_SETTINGS: Final = frozenset(
    (
        *("target", "urls", "connections", "streams", "http", "keepalive", "rate_per_s", "rate_end_per_s", "arrivals"),
        *("seed", "until", "warm_up_s", "stages", "replay_speed_percent", "duration_s", "requests", "timeout_s"),
        *("proxy", "method", "headers", "body", "checks", "data", "pick", "insecure", "cpus", "repeat"),
    )
)
"""Settings that are no option by that name; the engine records each other option that differs from its default."""


def option_note(settings: Mapping[str, Setting]) -> str | None:
    """Return the other options of a load as they are typed, ``options: --no-delay off``; None without any."""
    words = ["options:"]
    for name, values in sorted(settings.items()):
        if name in _SHOWN_SETTINGS or values is None:
            continue
        for value in str(values).split("\n"):
            words.append("--" + name.replace("_", "-"))
            if value != "true":
                words.append(f"'{value}'" if not value or any(map(str.isspace, value)) else value)
    return " ".join(words) if len(words) > 1 else None


def load_views(trials: Sequence[Trial], settings: Mapping[str, Setting] | None = None) -> tuple[Table, ...]:
    """Return the tables for people: figures of each trial, times, and outcomes of requests.

    Trials are of the same load; times are medians over them. Options that no title shows are a note of the last table.
    """
    measured = [trial for trial in trials if trial.get(LoadSummary) is not None]
    if not measured:
        return (load_table(trials),)
    loads = records_of(LoadSummary, measured)
    outcomes, note = _outcomes(loads), option_note(settings or {})
    return (
        *search_tables(loads),
        *(_figures(measured), load_times(measured)),
        *_stages(loads),
        *load_labels(measured),
        *load_addresses(measured),
        replace(outcomes, notes=(Note(note), *outcomes.notes)) if note else outcomes,
    )


def load_words(trial: Trial) -> str:
    """Describe a load in one line: its target, concurrency, schedule and duration."""
    load = trial.get(LoadSummary)
    if load is None:
        return trial.method
    loop = "closed loop"
    if load.open_loop:
        ramp = f" to {load.rate_end_per_s:,g}" if load.rate_end_per_s not in {None, load.rate_per_s} else ""
        if load.replay:
            speed = json.loads(load.replay)["speed_percent"]
            loop = f"open loop at {speed:.5g} % of the recorded speed, {load.rate_per_s:,g} a second on average"
        elif stages := len(load.stages or ()):
            loop = f"open loop of {counted(stages, 'stage')}"
        else:
            loop = f"open loop of {load.rate_per_s:,g}{ramp} a second"
    keepalive = "" if trial.keepalive else ", a new connection each"
    version = f"HTTP/{trial.http_version}"
    return (
        f"{trial.method}: {version}, {trial.concurrency:,} at a time{keepalive}, {loop}, {load.elapsed_ns / 1e9:.3g} s"
    )


def _json_text(records: Sequence[LoadStage | AddressCount]) -> str:
    return json.dumps([flatten(one) for one in records], separators=(",", ":"))


def _count_list(counts: Sequence[Count]) -> str:
    return ", ".join(f"{count.name}: {count.count}" for count in counts)


def _verdict(trial: Trial) -> str:
    return trial.validity.value if trial.validity and trial.outcome is Outcome.OK else trial.outcome.value


def _cell(metric: Metric, trial: Trial) -> Cell:
    return metric.rounded(metric.figure(trial))


def _figures(trials: Sequence[Trial]) -> Table:
    metrics = [find_metric(LOAD_METRICS, name) for name in _HEADINGS]
    columns = (
        _TRIAL,
        *(replace(metric.column, name=_HEADINGS[metric.name]) for metric in metrics),
        Column("own CPU", _TIME, "ms", "CPU time of the generator"),
        Column("busy %", ColumnKind.DECIMAL, "%", "time in which the generator's busiest thread was busy, not waiting"),
        _VERDICT,
    )
    rows = []
    for trial in trials:
        load = trial[LoadSummary]
        cpu_s, busy = _cpu_s(load), load.busy_share
        own_cpu_ms = None if cpu_s is None else 1000 * cpu_s
        busy_percent = None if busy is None else round(100 * busy, 1)
        figures = (_cell(metric, trial) for metric in metrics)
        rows.append((trial.trial, *figures, own_cpu_ms, busy_percent, _verdict(trial)))
    table = Table(columns, tuple(rows), title=load_words(trials[0]), notes=tuple(map(Note, load_notes(trials))))
    return table if len(trials) > 1 else table.select(column.name for column in columns if column is not _TRIAL)


_MOST_FAILED_PERCENT: Final = 1.0
"""Share of failed requests up to which only the tables mention them."""


def load_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe trials that are not valid, many failed requests, and ends of data, one line each."""
    known = [(trial, load) for trial in trials if (load := trial.get(LoadSummary)) is not None]
    failed = [_after_verdict(trial, note) for trial, load in known if (note := _failure_note(load))]
    data = [_after_verdict(trial, note) for trial, load in known if (note := _data_note(load))]
    wrong = _wrong_answers([load for _, load in known], len(trials))
    warm_ups = [note for _, load in known if (note := _warm_up_note(load))]
    untils = [note for _, load in known if (note := _until_note(load))]
    replays = [note for _, load in known if (note := _replay_note(load))]
    odd = [_after_verdict(trial, note) for trial, load in known if (note := _tolerated_note(load))]
    silent = [note for _, load in known if (note := _expect_note(load))]
    proxies = [note for _, load in known if (note := _proxy_note(load))]
    before, after = (
        [note for kind in kinds for note in _together(kind, len(trials))]
        for kinds in ((failed, data), (warm_ups, untils, replays, odd, silent, proxies))
    )
    return *trial_notes(trials), *before, *wrong, *after


def _after_verdict(trial: Trial, note: str) -> str:
    """Put a remark after the verdict; that of a load which is not valid has reasons of its own."""
    verdict = _verdict(trial)
    return f"{verdict}: {note}" if verdict == Validity.VALID.value else note


def _expect_note(load: LoadSummary) -> str | None:
    if not load.expect_silent:
        return None
    requests = (load.expect_continued or 0) + (load.expect_answered or 0) + load.expect_silent
    return (
        f"Expect: 100-continue: {load.expect_silent:,} of {requests:,} requests waited a second without an answer;"
        " their times include it"
    )


def _proxy_note(load: LoadSummary) -> str | None:
    if load.proxy is None:
        return None
    wants_credentials = any(status.name == "407" for status in load.statuses)
    cure = "; status 407: it wants credentials, --proxy http://user:password@host:port" if wants_credentials else ""
    return f"proxy: {load.proxy}; figures are those of proxy and server together{cure}"


def _data_note(load: LoadSummary) -> str | None:
    if not load.data_used_up:
        return None
    some = "" if load.warm_up_ns is None else ", some of them in the warm-up"
    return f"the load ended with its data: {load.data_rows:,} rows, each picked once{some}"


def _wrong_answers(loads: Sequence[LoadSummary], trials: int) -> Iterator[str]:
    """Describe the first wrong answers by each failed check; the same check of several trials has one note."""
    by_check: dict[str, list[str]] = {}
    for load in loads:
        for example in load.wrong_examples or ():
            by_check.setdefault(example.partition(": got ")[0], []).append(example)
    for examples in by_check.values():
        yield from _together(examples, trials)


def _together(notes: Sequence[str], trials: int) -> Sequence[str]:
    """Return one note for all trials that have it."""
    if trials == 1 or not notes:
        return notes
    similar = "" if len({*notes}) == 1 else ", or similar"
    return (f"{notes[0]}{similar} ({len(notes)} of {trials} trials)",)


def _until_note(load: LoadSummary) -> str | None:
    """Describe what ended a load with ``--until``, with the interval."""
    if load.until is None:
        return None
    how = "ended by" if load.until_met else "ended without"
    found = "there is no interval: too few answers, or they depend on each other too much"
    times, share = (load.until_estimate_ns, load.until_low_ns, load.until_high_ns), load.until_half_width_share
    if share is not None:
        estimate, low, high = (format_time(time or 0.0) for time in times)
        found = f"{estimate}, 95 % interval {low} to {high}, {100 * share:.2g} % to each side"
    return f"{how} {load.until}: {found}"


def _replay_note(load: LoadSummary) -> str | None:
    """Describe a replay: what was skipped, and how many requests were late."""
    if load.replay is None:
        return None
    replay = json.loads(load.replay)
    share = replay["late_share"]
    late = "" if share is None else f"; {100 * share:.2g} % of the requests were sent more than 1 ms late"
    return f"{replay['summary']}{late}"


def _warm_up_note(load: LoadSummary) -> str | None:
    """Describe the warm-up, and which of its requests failed: they fail no load."""
    if load.warm_up_ns is None:
        return None
    causes = ", ".join(f"{count.count:,} x {count.name}" for count in load.warm_up_failures or ())
    failed = sum(count.count for count in load.warm_up_failures or ())
    rest = f"; {failed:,} of them failed: {causes}" if failed else ""
    return f"warm-up: {load.warm_up_ns / 1e9:.3g} s, {load.warm_up_requests or 0:,} requests, left out{rest}"


_ODDITIES: Final = {
    "empty_line_before_status": "an empty line before the status line",
    "version_case": "a version in lower case",
    "version_number": "a version other than HTTP/1.x",
    "status_line_space": "tabs or several spaces in the status line",
    "line_feed_alone": "LF line ends",
    "folded_field": "folded fields",
    "space_before_colon": "a space before a colon",
    "skipped_line": "lines that are no fields",
    "control_character": "control characters in fields",
    "repeated_length": "a list in Content-Length",
    "length_and_transfer_encoding": "Transfer-Encoding and Content-Length",
    "identity_coding": "Transfer-Encoding: identity",
    "repeated_chunked": "Transfer-Encoding: chunked twice",
    "chunk_extension": "malformed chunk extensions",
}
"""What an odd answer had, by its name in the report; as the engine prints it."""


def _tolerated_note(load: LoadSummary) -> str | None:
    """Describe odd answers that were accepted: ``3 answers had LF line ends, 2 folded fields``."""
    counts = [(one.count, _ODDITIES.get(one.name, one.name)) for one in load.tolerated or ()]
    if not counts:
        return None
    (count, first), *others = sorted(counts, key=lambda one: (-one[0], one[1]))
    rest = "".join(f", {more:,} {what}" for more, what in others)
    return f"{count:,} {'answer' if count == 1 else 'answers'} had {first}{rest}"


def _failure_note(load: LoadSummary) -> str | None:
    share = load.error_share
    if share is None or 100 * share <= _MOST_FAILED_PERCENT or not load.requests:
        return None
    causes = [(failure.count, failure.name) for failure in load.failures]
    if load.checks is None:
        bad = (status for status in load.statuses if status.name[0] not in "23")
        causes += [(status.count, f"status {status.name}") for status in bad]
    elif load.checks.wrong:
        causes.append((load.checks.wrong, "wrong by a check"))
    causes.sort(key=lambda cause: (-cause[0], cause[1]))
    return f"{100 * share:.3g} % of the requests failed: {', '.join(f'{count:,} x {name}' for count, name in causes)}"


def load_times(trials: Sequence[Trial]) -> Table:
    """Return one row for each kind of time that any trial has."""
    columns = (
        Column(
            "time", description="response time counts from when a request was due, service time from when it was sent"
        ),
        Column("count", _INTEGER, description="number of values, in all trials"),
        *(Column(name.replace("_", "."), _TIME, "ms") for name in _PERCENTILES),
    )
    rows: list[tuple[Cell, ...]] = []
    loads = records_of(LoadSummary, trials)
    # If all answers are good, both rows would be the same.
    kinds = [kind for kind in _TIMES if kind != "all" or any(load.failed_answers for load in loads)]
    for kind in kinds:
        name, _ = _TIMES[kind]
        found = [times for load in loads if (times := getattr(load, kind)) is not None]
        medians = (median(getattr(times, f"{figure}_ns") for times in found) for figure in _PERCENTILES)
        if found:
            cells = (None if value is None else value * _MS for value in medians)
            rows.append((name, sum(times.count for times in found), *cells))
    return Table(columns, tuple(rows), title="" if len(trials) == 1 else f"Medians of {len(trials)} trials")


def _stages(loads: Sequence[LoadSummary]) -> Iterator[Table]:
    """Return one row for each stage, with counts of all loads and medians of rates and times."""
    known = [load.stages for load in loads if load.stages]
    columns = (
        Column("stage", description="a rate and a time, or two rates between which it goes evenly"),
        Column("planned/s", _NUMBER, "1/s", "planned rate, on the average"),
        Column("sent", _INTEGER, description="requests that were sent, in all trials"),
        Column("requests/s", _NUMBER, "1/s", "good answers a second"),
        *(Column(name, _TIME, "ms") for name in ("p50", "p99")),
        Column("errors", _INTEGER, description="requests that failed, in all trials"),
    )
    rows: list[tuple[Cell, ...]] = []
    for stages in zip(*known, strict=True):
        rps = median(rate for stage in stages if (rate := stage.rps) is not None)
        times = (
            median(time for stage in stages if (time := getattr(stage, f"response_{name}_ns")) is not None)
            for name in ("p50", "p99")
        )
        rows.append(
            (
                *(stages[0].stage, round(stages[0].planned_per_s, 1), sum(stage.sent for stage in stages)),
                None if rps is None else round(rps, 1),
                *(None if time is None else time * _MS for time in times),
                sum(stage.errors for stage in stages),
            )
        )
    if rows:
        yield Table(columns, tuple(rows))


def load_labels(trials: Sequence[Trial]) -> tuple[Table, ...]:
    """Return one row for each label, the most frequent first: sums and medians; no table without labels."""
    by_label: dict[str, list[LabelCount]] = {}
    every = [one for of in records_of(Labels, trials) for one in of.labels]
    for one in every:
        by_label.setdefault(one.label, []).append(one)
    rows: list[tuple[Cell, ...]] = []
    for label, found in sorted(by_label.items(), key=lambda item: -sum(one.requests for one in item[1])):
        p50, p99 = (
            median(value for one in found if (value := getattr(one, name)) is not None) for name in ("p50_ns", "p99_ns")
        )
        times = (None if value is None else value * _MS for value in (p50, p99))
        outcomes = Counter[str]()
        for text in (text for one in found for text in (one.statuses, one.failures) if text):
            outcomes.update({name: int(count) for name, count in (part.split(": ") for part in text.split(", "))})
        texts = ", ".join(f"{name}: {count}" for name, count in outcomes.most_common())
        rows.append((label, sum(one.requests for one in found), sum(one.errors for one in found), *times, texts))
    if not rows:
        return ()
    columns = (
        Column("label", description="label of the requests, or their path"),
        Column("requests", _INTEGER, description="answers that came whole, in all trials"),
        Column("errors", _INTEGER, description="requests that failed"),
        Column("p50", _TIME, "ms", "median response time of good answers"),
        Column("p99", _TIME, "ms", "99th percentile"),
        Column("outcomes", description="answers by status, and failed requests by the name of the error"),
    )
    notes = []
    if len(rows) > _SHOWN_LABELS:
        notes.append(Note(f"{len(rows) - _SHOWN_LABELS:,} more labels: --format json"))
    if grouped := next((one.grouped for one in every if one.grouped), None):
        notes.append(Note(f"(other): {grouped:,} labels beyond the first 999"))
    return (Table(columns, tuple(rows[:_SHOWN_LABELS]), notes=tuple(notes)),)


def load_addresses(trials: Sequence[Trial]) -> tuple[Table, ...]:
    """Return one row for each address of the servers: sums and medians; no table with fewer than two."""
    by_address: dict[str, list[AddressCount]] = {}
    for one in (one for of in records_of(Addresses, trials) for one in of.addresses):
        by_address.setdefault(one.address, []).append(one)
    if len(by_address) < 2:
        return ()
    rows: list[tuple[Cell, ...]] = []
    for address, found in by_address.items():
        sums = (sum(getattr(one, name) for one in found) for name in ("opened", "failed", "requests"))
        errors = sum(one.errors + one.failed_answers for one in found)
        p50, p99 = (
            median(value for one in found if (value := getattr(one, f"response_{name}_ns")) is not None)
            for name in ("p50", "p99")
        )
        times = (None if value is None else value * _MS for value in (p50, p99))
        rows.append((address, *sums, errors, *times))
    columns = (
        Column("address", description="address of a server"),
        Column("connections", _INTEGER, description="opened connections, in all trials"),
        Column("failed", _INTEGER, description="failed attempts to connect"),
        Column("requests", _INTEGER, description="answers that came whole"),
        Column("errors", _INTEGER, description="requests that failed after they were sent"),
        Column("p50", _TIME, "ms", "median response time of good answers"),
        Column("p99", _TIME, "ms", "99th percentile"),
    )
    more = len(rows) - _SHOWN_ADDRESSES
    notes = (Note(f"{more:,} more addresses: --report FILE"),) if more > 0 else ()
    return (Table(columns, tuple(rows[:_SHOWN_ADDRESSES]), notes=notes),)


def _outcomes(loads: Sequence[LoadSummary]) -> Table:
    """Count the outcomes of the requests of all loads; open, resent and unsent ones have no share."""
    answers, failures = Counter[str](), Counter[str]()
    for load in loads:
        answers.update({f"status {status.name}": status.count for status in load.statuses})
        failures.update({failure.name: failure.count for failure in load.failures})
    ended = answers.total() + failures.total()
    rows: list[tuple[Cell, ...]] = [
        (name, count, round(100 * count / ended, 3) if ended else None)
        for counts in (answers, failures)
        for name, count in counts.most_common()
    ]
    oldest = format_time(max((load.censored_oldest_ns or 0 for load in loads), default=0))
    checks = [load.checks for load in loads if load.checks]
    rest = {
        f"open at the end, the oldest for {oldest}": sum(load.censored for load in loads),
        "sent again: the connection was closed as they were sent": sum(load.resent or 0 for load in loads),
        "due, but never sent: no connection was free": sum(load.unsent or 0 for load in loads),
        "answered 100 before the body": sum(load.expect_continued or 0 for load in loads),
        "answered before the body, which was not sent": sum(load.expect_answered or 0 for load in loads),
        "no answer 100 within a second; the body was sent": sum(load.expect_silent or 0 for load in loads),
        "full TLS handshakes": sum(load.tls_full or 0 for load in loads),
        "resumed TLS handshakes": sum(load.tls_resumed or 0 for load in loads),
        **{
            f"check failed: {kind}": sum(getattr(check, f"wrong_{kind}") for check in checks)
            for kind in ("status", "length", "content", "json")
        },
    }
    rows += [(name, count, None) for name, count in rest.items() if count]
    if checks:
        rows.append(("met every check", sum(check.right for check in checks), None))
    columns = (
        Column("outcome"),
        Column("count", _INTEGER),
        Column("%", ColumnKind.DECIMAL, "%", "of the requests that ended"),
    )
    return Table(columns, tuple(rows))


_POINTS: Final = 300
"""Most points of a line over time; more are not visible."""
_LOGARITHMIC_MS: Final = Axis("time", "ms", Scale.LOGARITHMIC)


def load_charts(trials: Sequence[Trial], reports: Sequence[Mapping[str, Any]]) -> Iterator[Chart]:
    """Draw the trials of a load.

    ``reports`` are the generator's own, of those trials that have one.
    """
    main = tuple(_TIMES[kind][0] for kind in ("response", "service", "send_lag"))
    phases = {kind: _TIMES[kind][0] for kind in ("dns", "connect", "tls", "first_byte", "content")}
    loads = records_of(LoadSummary, trials)
    counts = {"answers": "requests"}
    if any(load.open_loop for load in loads):
        counts["sent"] = "sent"  # in a closed loop the same as the answers
    if any(second.errors for load in loads for second in load.series):
        counts["errors"] = "errors"
    times = {
        "response p99": "response_p99_ns",
        "service p99": "service_p99_ns",
        "response p50": "response_p50_ns",
        "response max": "response_max_ns",
    }
    percentiles = partial(Chart, kind=ChartKind.LINES, y=_LOGARITHMIC_MS)
    over_time = partial(Chart, kind=ChartKind.LINES, x=Axis("time", "s"), section="Over time")
    drawn = (
        percentiles(
            *("percentiles", "Response time and service time by percentile"),
            x=Axis("percentile of answers", "%", Scale.PERCENTILE),
            series=_curves(reports, dict(zip(("response_time", "service_time", "send_lag"), main, strict=True))),
            caption="Each percentage of the answers took no longer than this. Response time counts from when a request "
            "was due, service time from when it was sent: where the two differ, requests waited before they were sent. "
            "The send lag is the generator's own part of that.",
            section="Response time",
            colours=main,
        ),
        percentiles(
            *("phases", "Phases of a request"),
            x=Axis("percentile", "%", Scale.PERCENTILE),
            series=_curves([report.get("phases") or {} for report in reports], phases),
            caption="DNS, connection and TLS handshake of every opened connection; for every answer the time "
            "until its first byte, and from there to its last.",
            section="Phases",
            colours=tuple(phases.values()),
        ),
        over_time(
            *("throughput", "Answers a second over time"),
            y=Axis("a second"),
            series=_over_time(loads, counts),
            caption="Each point is a second of the load.",
            colours=tuple(counts),
        ),
        over_time(
            *("times", "Response time over time"),
            y=_LOGARITHMIC_MS,
            series=_over_time(loads, times, _MS),
            caption="Percentiles of the answers that ended within each second.",
            colours=tuple(times),
        ),
        over_time(
            *("lag", "Send lag over time"),
            y=Axis("99th percentile", "ms", Scale.LOGARITHMIC),
            series=_over_time(loads, {"send lag": "send_lag_p99_ns"}, _MS),
            caption="Avoidable delay of the generator before sending: its own part of the response time.",
            colours=main,
        ),
    )
    yield from search_charts(loads)
    for chart in drawn:
        several = len(trials if chart.section == "Over time" else reports) > 1
        note = " The bold line is the first trial, the thin ones are the others." if several else ""
        if lines := _visible(chart):
            yield replace(chart, series=lines, caption=chart.caption + note)
    yield from _outcome_chart(trials)


def _outcome_chart(trials: Sequence[Trial]) -> Iterator[Chart]:
    counts: dict[str, dict[str, int]] = {}
    for trial in trials:
        if (load := trial.get(LoadSummary)) is None:
            continue
        rest = {"open at the end": load.censored, "never sent": load.unsent or 0}
        own = {f"status {status.name}": status.count for status in load.statuses}
        own |= {failure.name: failure.count for failure in load.failures}
        own |= {name: count for name, count in rest.items() if count}
        if own:
            counts[f"trial {trial.trial}"] = own
    kinds = tuple(dict.fromkeys(kind for own in counts.values() for kind in own))
    if kinds:
        yield stacked_chart(
            *("outcomes", "Outcomes of the requests"),
            {trial: [float(own.get(kind, 0)) for kind in kinds] for trial, own in counts.items()},
            kinds,
            Axis("share of requests", "%"),
            caption="Answers by their status, failed requests by the name of the error, and those that were open or "
            "not yet sent when the load ended.",
            section="Outcomes",
            row="trial",
        )


def _visible(chart: Chart) -> tuple[Series, ...]:
    """Return the lines of a chart with a value to draw; a logarithmic axis has no place for lines of zeros."""
    linear = chart.y.scale is Scale.LINEAR
    seen = {line.name for line in chart.series if any(value or (linear and value is not None) for value in line.y)}
    return tuple(line for line in chart.series if line.name in seen)


def _curves(reports: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> tuple[Series, ...]:
    """Draw the percentiles of histograms, by their keys in the reports; all but the first trial are faint."""
    lines = []
    for key, name in names.items():
        known = [histogram["quantiles"] for of in reports if (histogram := of.get(key)) and histogram.get("quantiles")]
        for number, quantiles in enumerate(known):
            points = [(100 * quantile, value * _MS) for quantile, value in quantiles if quantile < 1]
            x, y = tuple(_short(rank, 9) for rank, _ in points), tuple(_short(value, 5) for _, value in points)
            lines.append(Series(name, x, y, faint=number > 0))
    return tuple(lines)


def _over_time(loads: Sequence[LoadSummary], figures: Mapping[str, str], scale: float = 1.0) -> tuple[Series, ...]:
    """Draw fields of ``LoadSecond``, by the names of their lines, times a scale."""
    lines = []
    for name, figure in figures.items():
        for number, load in enumerate(load for load in loads if load.series):
            # The last second is incomplete: its counts would look like a decrease.
            whole = [second for second in load.series if (second.at_s + 1) * 1e9 <= load.elapsed_ns * 1.001]
            seconds = (whole or load.series)[:: -(-len(whole or load.series) // _POINTS)]
            values = (getattr(second, figure) for second in seconds)
            y = tuple(None if value is None else _short(value * scale, 5) for value in values)
            lines.append(Series(name, tuple(float(second.at_s) for second in seconds), y, faint=number > 0))
    return tuple(lines)


def _short(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def load_report(run: Run, definition: Definition) -> Report:
    """Return the report of a load, which may be partial or empty."""
    trials = [trial for trial in run.records() if trial.get(LoadSummary) is not None]
    read = {trial.trial: read_load_report(run.folder, trial.trial) for trial in trials}
    reports = {number: report for number, report in read.items() if report is not None}
    judging = replace(definition.judging, rules=rules_of_reports(reports))
    names = {SERVER: trials[0].method if trials else SERVER}
    report = base_report(
        run,
        replace(definition, judging=judging),
        trials,
        names,
        counts=f"{names[SERVER]}, {counted(len(trials), 'trial')}",
        headline=_headline(trials),
        table=load_times(trials) if trials else load_table(trials),
        charts=load_charts(trials, tuple(reports.values())),
    )
    by_label = ((table, "Requests by label") for table in load_labels(trials))
    by_address = ((table, "Connections and requests by address") for table in load_addresses(trials))
    # Loads run one after another: their order is not random.
    facts = run_facts(run.manifest, trials, blocks=False)
    load = [("Load", "; ".join(dict.fromkeys(map(load_words, trials))))] if trials else []
    load += [("Options", note.removeprefix("options: "))] if (note := option_note(run.manifest.settings)) else []
    return replace(
        report,
        facts=(*load, *facts),
        evidence=(*(replace(table, title=title) for table, title in (*by_label, *by_address)), *report.evidence),
        subjects=(),
        figures="Times by percentile" + (", medians of the trials." if len(trials) > 1 else "."),
    )


def _headline(trials: Sequence[Trial]) -> str:
    loads = records_of(LoadSummary, trials)
    if not loads:
        return "Nothing was measured: the run has no finished trial"
    if sentence := next(filter(None, map(search_sentence, loads)), None):
        return sentence[0].upper() + sentence[1:]
    responses = [load.response for load in loads if load.response]
    p50, p99 = median(one.p50_ns for one in responses), median(one.p99_ns for one in responses)
    errors = sum(load.errors for load in loads)
    parts = [f"{figure_text(median(load.requests_per_s for load in loads) or 0.0)} answers a second"]
    if p50 is not None and p99 is not None:
        parts.append(f"half of them within {format_time(p50)}, 99 % within {format_time(p99)}")
    parts.append(f"{errors:,} error{'' if errors == 1 else 's'}" if errors else "no errors")
    invalid = dict.fromkeys(t.validity.value for t in trials if t.validity not in {None, Validity.VALID})
    return "; ".join([", ".join(parts), *invalid])
