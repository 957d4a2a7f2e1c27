"""Makes records of a load, whose engine leaves the manifest of the run, a report of each trial, and samples."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from httpdyno.errors import EngineFailed, UnreadableRun
from httpdyno.experiments.load.judge import LoadChecks, LoadSecond, LoadSummary, LoadTimes
from httpdyno.installation import RENEW_ENGINE
from httpdyno.judge.tool_reports.httpdyno_load import SAMPLE_COLUMNS
from httpdyno.model import Count, Outcome, Sample, Trial, Validity, Verdict, figures_of
from httpdyno.store import Manifest, RecordMaker, polars_schema
from httpdyno.store.manifest import CURE

__all__ = ["MAKER", "SERVER", "load_from_report", "load_trial", "read_load_report"]

SERVER: Final = "server"
"""The subject of every load, so that two runs are compared whatever address their servers have."""
_KINDS: Final = ("response", "service", "send_lag")
_GROW: Final = tuple(field.name for field in fields(LoadTimes) if field.name not in {"count", "min_ns", "stdev_ns"})
"""Figures of a distribution that are longer where requests had not ended."""
_PHASES: Final = ("dns", "connect", "tls", "first_byte", "content")


class LoadRecords:
    """Makes the records of a load from the reports and samples that the engine left."""

    def trials(self, folder: Path, manifest: Manifest) -> tuple[Trial, ...]:
        """Make the trials of a load; raise ``UnreadableRun`` if a report is damaged."""
        target, checks = (str(manifest.settings.get(name) or "") for name in ("target", "checks"))
        return tuple(_read_trial(folder, number, target=target, checks=checks) for number in _reported(folder))

    def samples(self, folder: Path) -> pl.DataFrame:
        """Read what the engine kept of each request; nothing where it kept none.

        The duration of a sample is its response time: it counts from when the request was due. What a server should
        answer is not known here, so that the verdict is ``unverified``.
        """
        numbers = (number for number in _reported(folder) if (folder / _samples_name(number)).exists())
        return pl.concat([pl.DataFrame(schema=polars_schema(Sample)), *(_samples(folder, one) for one in numbers)])


MAKER: Final[RecordMaker] = LoadRecords()


def _report_name(number: int) -> str:
    return f"load-{number:06}.json"


def _samples_name(number: int) -> str:
    return f"samples-{number:06}.csv.gz"


def _reported(folder: Path) -> Iterator[int]:
    """Return the numbers of the trials that have a report, from 0."""
    number = 0
    while (folder / _report_name(number)).exists():
        yield number
        number += 1


def _read_trial(folder: Path, number: int, *, target: str, checks: str) -> Trial:
    if (report := read_load_report(folder, number)) is None:
        raise UnreadableRun(f"{folder}: {_report_name(number)} is damaged; {CURE}")
    try:
        return load_trial(number, report, target=target, checks=checks)
    except EngineFailed as error:
        raise UnreadableRun(f"{folder}: {_report_name(number)}: {error.line}") from error


def read_load_report(folder: Path, number: int) -> dict[str, Any] | None:
    """Read the report of one trial; None where there is none, or it is damaged."""
    try:
        values = json.loads((folder / _report_name(number)).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _samples(folder: Path, number: int) -> pl.DataFrame:
    file = folder / _samples_name(number)
    begin_ns = _started_ns(read_load_report(folder, number) or {})
    code = pl.col("status_or_error")
    status = code.cast(pl.Int16, strict=False)
    given = {
        "trial": pl.lit(number, pl.Int32()),
        "line": pl.col("line").cast(pl.Int32),
        "url": pl.col("url").fill_null(""),
        "code": code,
        "status": status,
        "error": pl.when(status.is_null()).then(code),
        "start_ns": pl.col("intended_ns") + begin_ns,
        "duration_ns": pl.col("end_ns") - pl.col("intended_ns"),
        "body_length": pl.col("content_bytes"),
        "cause": pl.lit(None, pl.String()),
        "verdict": pl.lit(Verdict.UNVERIFIED.value),
        "served_status": pl.lit(None),
        "served_body_length": pl.lit(None),
        "explained": pl.lit(value=False),
    }
    columns = polars_schema(Sample)
    try:
        lines = pl.read_csv(file, schema=SAMPLE_COLUMNS).with_row_index("line", offset=1)
        return lines.select(given[name].cast(type_).alias(name) for name, type_ in columns.items())
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise UnreadableRun(f"{file}: the samples cannot be read: {reason}; {CURE}") from error


def _started_ns(report: Mapping[str, Any]) -> int:
    """Return when a load began, in nanoseconds since 1970."""
    try:
        started = datetime.fromisoformat(str(report.get("started")))
    except ValueError:
        return 0
    zoned = started if started.tzinfo else started.replace(tzinfo=UTC)
    return int(zoned.timestamp() * 1_000_000) * 1000


def load_trial(number: int, report: Mapping[str, Any], *, target: str, checks: str = "") -> Trial:
    """Make the record of one load from its report, which says itself whether it is valid.

    Trials are numbered from 0, each a block of its own; ``target`` is what was asked for, in words: the URL.

    Raises
    ------
    EngineFailed
        If the report lacks something.
    """
    load = load_from_report(report)
    try:
        return _trial(number, report, report["plan"], load, target, checks)
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(error) from error


def load_from_report(report: Mapping[str, Any]) -> LoadSummary:
    """Read the figures of the generator's report."""
    try:
        return LoadSummary(**_counts(report), **_lists(report), **_times(report))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _unreadable(error) from error


def _counts(report: Mapping[str, Any]) -> dict[str, Any]:
    plan, wire, connections = report["plan"], report.get("wire") or {}, report.get("connections") or {}
    censored = report["censored"]
    rate = plan["rate_per_s"]
    return {
        "elapsed_ns": round(report["elapsed_s"] * 1e9),
        "sent": int(report["sent"]),
        "requests": int(report["requests"]),
        "requests_per_s": float(report["rps"]),
        "errors": int(report["errors_total"]),
        "resent": report.get("resent", connections.get("retried_requests")),
        "open_loop": rate is not None,
        "rate_per_s": rate,
        "rate_end_per_s": plan.get("rate_end_per_s"),
        "unsent": None if rate is None else int(report["unsent"]),
        "censored": int(censored["count"]),
        "censored_oldest_ns": censored.get("oldest_ns"),
        "cpu_user_ns": _nanoseconds(report.get("cpu_user_s")),
        "cpu_system_ns": _nanoseconds(report.get("cpu_system_s")),
        "busy_share": _largest(report, "busy_share"),
        "waiting_share": _largest(report, "waiting_share"),
        "peak_memory_bytes": report.get("peak_memory_bytes"),
        "sent_bytes": wire.get("sent_bytes"),
        "received_bytes": wire.get("received_bytes"),
        "content_bytes": wire.get("content_bytes"),
        "connections_opened": connections.get("opened"),
        "connections_failed": connections.get("failed"),
        "tls_full": connections.get("tls_full"),
        "tls_resumed": connections.get("tls_resumed"),
    }


def _largest(report: Mapping[str, Any], share: str) -> float | None:
    """Return that share of the thread that has most of it; None where no thread tells."""
    shares = [thread.get(share) for thread in report.get("threads") or ()]
    return max((value for value in shares if value is not None), default=None)


def _lists(report: Mapping[str, Any]) -> dict[str, Any]:
    checks = report.get("checks")
    names = [field.name for field in fields(LoadSecond)]
    return {
        "statuses": _counted(report["statuses"]),
        "failures": _counted(report["errors"]),
        "series": tuple(LoadSecond(**{name: second.get(name) for name in names}) for second in report["series"]),
        "checks": None if checks is None else LoadChecks(**{one.name: checks.get(one.name, 0) for one in _CHECKS}),
    }


def _times(report: Mapping[str, Any]) -> dict[str, Any]:
    of_report = {"response": "response_time", "service": "service_time", "send_lag": "send_lag"}
    phases = report["phases"]
    times = {kind: _distribution(report[of_report[kind]]) for kind in _KINDS}
    times["response"] = _at_least(times["response"], _distribution(report.get("response_time_at_least")))
    return {
        **times,
        **{phase: _distribution(phases.get(phase)) for phase in _PHASES},
    }


def _distribution(histogram: Mapping[str, Any] | None) -> LoadTimes | None:
    if histogram is None or not histogram["count"]:
        return None
    return LoadTimes(**{field.name: histogram[field.name] for field in fields(LoadTimes)})


def _at_least(ended: LoadTimes | None, all_of_them: LoadTimes | None) -> LoadTimes | None:
    """Return the response times of what has ended, but nothing less than is known of all requests.

    A request that had not ended takes longer than it has waited. Counted so, many of them make a percentile longer; few
    young ones, as a closed loop has at its end, would make it shorter, and do not count.
    """
    if ended is None or all_of_them is None:
        return ended
    longer = {name: max(getattr(ended, name), getattr(all_of_them, name)) for name in _GROW}
    return replace(ended, **longer)


def _counted(counts: Mapping[str, int]) -> tuple[Count, ...]:
    """Return what was seen, the most frequent first."""
    return tuple(Count(name, count) for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)


def _trial(
    number: int,
    report: Mapping[str, Any],
    plan: Mapping[str, Any],
    load: LoadSummary,
    target: str,
    checks: str,
) -> Trial:
    stopped = bool(report["interrupted"])
    judged = report.get("validity") or {}
    return Trial(
        trial=number,
        block=number,
        position=0,
        experiment="load",
        condition="",
        subject=SERVER,
        language="",
        method=target,
        version=None,
        concurrency=int(plan["connections"]) * int(plan["streams"]),
        web="",
        seed=int(plan.get("seed") or 0),
        link="direct",
        timeout_ns=round(plan["timeout_s"] * 1e9),
        keepalive=bool(plan["keepalive"]),
        check=checks,
        http_version=str(plan["http"]),
        urls_given=int(plan["urls"]),
        outcome=Outcome.INTERRUPTED if stopped else Outcome.OK,
        reason=f"stopped after {load.elapsed_ns / 1e9:.1f} s" if stopped else None,
        validity=Validity(judged["verdict"]) if judged else None,
        validity_reason=judged.get("reason"),
        figures=figures_of(load),
    )


def _unreadable(error: Exception) -> EngineFailed:
    what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
    return EngineFailed(f"the load generator's report cannot be read: {what}; {RENEW_ENGINE}")


_CHECKS: Final = fields(LoadChecks)
