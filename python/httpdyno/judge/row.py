"""The row of a subject in the table of a crawl: the median of its trials, under the seeds' names."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from httpdyno.model import Cell, Column, ColumnKind, Outcome, Trial, Validity
from httpdyno.stats import median

__all__ = ["CRAWL_COLUMNS", "crawl_notes", "crawl_row"]

_INTEGER, _DECIMAL, _DURATION = ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.DURATION

CRAWL_COLUMNS: Final = (
    Column("subject", description="name of the subject's folder", shown=False),
    Column("language"),
    Column("method"),
    Column("concurrency", _INTEGER, description="requests in flight at most"),
    Column("totalUrls", _INTEGER, description="lines that the client printed"),
    Column("time", _DURATION, "ms", "from exec to the last line"),
    Column("avg", _DURATION, "ms", "mean duration of a URL"),
    Column("max", _DURATION, "ms", "longest duration of a URL"),
    Column("okReqsSec", _INTEGER, "1/s", "2xx for each second of time"),
    Column("okReqsPct", _DECIMAL, description="share of 2xx, 0 to 1"),
    Column("avgBodyLen", _INTEGER, "bytes", "mean length of the content of 2xx"),
    Column("2xx", _INTEGER),
    Column("3xx", _INTEGER),
    Column("4xx", _INTEGER),
    Column("5xx", _INTEGER),
    Column("Exception", _INTEGER, description="lines without a status"),
    Column("rightPerSec", _DECIMAL, "1/s", "right answers for each second until the list was exhausted"),
    Column("p50", _DURATION, "ms", "median duration of a URL"),
    Column("p99", _DURATION, "ms", "99th percentile of the durations"),
    Column("cpuUser", _DURATION, "ms", "CPU time in user mode"),
    Column("cpuSys", _DURATION, "ms", "CPU time in the kernel"),
    Column("peakMemory", ColumnKind.SIZE, "bytes", "highest memory in use"),
    Column("wireBytes", ColumnKind.SIZE, "bytes", "sent and received on the wire"),
    Column("connections", _INTEGER, description="TCP connections that the origin accepted"),
    Column("wrong", _INTEGER, description="wrong answers that no known failure explains, in the worst trial"),
    Column("verdict", description="whether the figures can be trusted, or how the trial failed"),
)

_Figure = Callable[[Trial], float | None]


def _summary(name: str, scale: float = 1.0) -> _Figure:
    def figure(trial: Trial) -> float | None:
        value = getattr(trial.summary, name, None)
        return None if value is None else value * scale

    return figure


def _counter(name: str, scale: float = 1.0) -> _Figure:
    def figure(trial: Trial) -> float | None:
        value = getattr(trial.counters, name)
        return None if value is None else value * scale

    return figure


def _wire_bytes(trial: Trial) -> float | None:
    sent, received = trial.counters.sent_bytes, trial.counters.received_bytes
    return None if sent is None or received is None else sent + received


_MS: Final = 1e-6
_FIGURES: Final[dict[str, tuple[_Figure, int]]] = {
    # The name of a column: what it shows of one trial, and the decimals that are kept (the seeds print whole ms).
    "totalUrls": (_summary("urls"), 0),
    "time": (_summary("time_ns", _MS), 0),
    "avg": (_summary("mean_ns", _MS), 0),
    "max": (_summary("max_ns", _MS), 0),
    "okReqsSec": (_summary("ok_per_s"), 0),
    "okReqsPct": (_summary("ok_share"), 2),
    "avgBodyLen": (_summary("mean_body_length"), 0),
    "2xx": (_summary("status_2xx"), 0),
    "3xx": (_summary("status_3xx"), 0),
    "4xx": (_summary("status_4xx"), 0),
    "5xx": (_summary("status_5xx"), 0),
    "Exception": (_summary("exceptions"), 0),
    "rightPerSec": (_summary("right_per_s"), 1),
    "p50": (_summary("p50_ns", _MS), 1),
    "p99": (_summary("p99_ns", _MS), 1),
    "cpuUser": (_counter("cpu_user_ns", _MS), 0),
    "cpuSys": (_counter("cpu_system_ns", _MS), 0),
    "peakMemory": (_counter("peak_memory_bytes"), 0),
    "wireBytes": (_wire_bytes, 0),
    "connections": (_counter("connections"), 0),
}


def crawl_row(trials: Sequence[Trial]) -> tuple[Cell, ...]:
    """Make the cells of one subject under ``CRAWL_COLUMNS``.

    Figures are medians over the trials that went well, ``wrong`` is that of the worst of them. Where nothing was
    measured they are None. ``verdict`` is how a trial failed if one did, else the worst validity.

    Parameters
    ----------
    trials : Sequence[Trial]
        All trials of one subject under one condition, at least one.
    """
    first = trials[0]
    good = [trial for trial in trials if trial.outcome is Outcome.OK]
    cells: dict[str, Cell] = {
        name: _rounded(median(map(figure, good)), digits) for name, (figure, digits) in _FIGURES.items()
    }
    cells |= {
        "subject": first.subject,
        "language": first.language,
        "method": first.method,
        "concurrency": first.concurrency,
    }
    verified = [trial.tally.wrong for trial in good if trial.tally and not trial.tally.unverified]
    cells |= {"wrong": max(verified) if verified else None, "verdict": _verdict(trials)}
    return tuple(cells[column.name] for column in CRAWL_COLUMNS)


def crawl_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Say why trials of a subject failed, are not valid, or have wrong answers that are explained: one line each.

    The same reason in several trials is one line; trials that went well have none.
    """
    reasons = Counter(
        f"{label}: {reason}"
        for trial in trials
        for label, reason in ((trial.outcome, trial.reason), (trial.validity, trial.validity_reason))
        if reason
    )
    notes = [
        reason if len(trials) == 1 else f"{reason} ({count} of {len(trials)} trials)"
        for reason, count in reasons.items()
    ]
    return (*notes, *_explanations(trials))


def _explanations(trials: Sequence[Trial]) -> list[str]:
    """One line for each known failure that explains wrong answers, with the most that it explains in one trial."""
    cases = [case for trial in trials if trial.tally for case in trial.tally.explained_cases]
    most = {case.case: max(other.count for other in cases if other.case == case.case) for case in cases}
    told = {case.case: f"{case.reason} ({case.issue})" if case.issue else case.reason for case in cases}
    return [
        f"known failure {name}: {told[name]}: explains {count} wrong answer{'' if count == 1 else 's'}"
        for name, count in most.items()
    ]


def _rounded(value: float | None, digits: int) -> Cell:
    if value is None:
        return None
    return round(value, digits) if digits else round(value)


def _verdict(trials: Sequence[Trial]) -> str:
    failed = [trial.outcome.value for trial in trials if trial.outcome is not Outcome.OK]
    if failed:
        return Counter(failed).most_common(1)[0][0]
    worst = [validity for validity in reversed(Validity) if any(trial.validity is validity for trial in trials)]
    return worst[0].value if worst else ""
