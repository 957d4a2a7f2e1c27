"""Builds the records of a load from the engine's files: the manifest, a report of each trial, and samples."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl

from httpdyno.errors import EngineFailed, UnreadableRun
from httpdyno.experiments.load.judge import LoadChecks, LoadSummary, LoadTimes
from httpdyno.installation import RENEW_ENGINE
from httpdyno.judge.tool_reports.httpdyno_load import SAMPLE_COLUMNS
from httpdyno.model import (
    AddressCount,
    Addresses,
    LabelCount,
    Labels,
    Outcome,
    Sample,
    Trial,
    Validity,
    Verdict,
    figures_of,
    restore,
)
from httpdyno.store import Manifest, polars_schema
from httpdyno.store.manifest import CURE

SERVER: Final = "server"
"""The subject of every load: the same name for all servers, so that any two runs can be compared."""
_TIMES: Final = {"response": "response_time", "service": "service_time", "send_lag": "send_lag"}
"""Names of distributions in the report, by their names in the record."""
_GROW: Final = tuple(field.name for field in fields(LoadTimes) if field.name not in {"count", "min_ns", "stdev_ns"})
"""Figures of a distribution that increase with the waiting time of requests that were still open."""
_COUNTS_OF_LABEL: Final = {"statuses": "statuses", "failures": "errors"}
_PHASES: Final = ("dns", "connect", "tls", "first_byte", "content")


def trials(folder: Path, manifest: Manifest) -> tuple[Trial, ...]:
    """Make the trials of a load; raise ``UnreadableRun`` if a report is damaged."""
    target, checks = (str(manifest.settings.get(name) or "") for name in ("target", "checks"))
    made = []
    for number in _reported(folder):
        if (report := read_load_report(folder, number)) is None:
            raise UnreadableRun(f"{folder}: {_report_name(number)} is damaged; {CURE}")
        try:
            made.append(load_trial(number, report, target=target, checks=checks))
        except EngineFailed as error:
            raise UnreadableRun(f"{folder}: {_report_name(number)}: {error.line}") from error
    return tuple(made)


def samples(folder: Path) -> pl.DataFrame:
    """Read what the engine kept of each request; nothing where it kept none.

    The duration of a sample is its response time: it counts from when the request was due. What a server should
    answer is not known here, so that the verdict is ``unverified``.
    """
    files = ((number, folder / f"samples-{number:06}.csv.gz") for number in _reported(folder))
    read = (_samples(file, number) for number, file in files if file.exists())
    return pl.concat([pl.DataFrame(schema=polars_schema(Sample)), *read])


def _report_name(number: int) -> str:
    return f"load-{number:06}.json"


def _reported(folder: Path) -> Iterator[int]:
    """Return the numbers of the trials that have a report, from 0."""
    number = 0
    while (folder / _report_name(number)).exists():
        yield number
        number += 1


def read_load_report(folder: Path, number: int) -> dict[str, Any] | None:
    """Read the report of one trial; None if it is missing or damaged."""
    try:
        values = json.loads((folder / _report_name(number)).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def _samples(file: Path, number: int) -> pl.DataFrame:
    begin_ns = _started_ns(read_load_report(file.parent, number) or {})
    code = pl.col("status_or_error")
    status = code.cast(pl.Int16, strict=False)
    given = {
        "trial": pl.lit(number),
        "line": pl.col("line"),
        "url": pl.col("url").fill_null(""),
        "code": code,
        "status": status,
        "error": pl.when(status.is_null()).then(code),
        "start_ns": pl.col("intended_ns") + begin_ns,
        "duration_ns": pl.col("end_ns") - pl.col("intended_ns"),
        "body_length": pl.col("content_bytes"),
        "verdict": pl.lit(Verdict.UNVERIFIED.value),
        "explained": pl.lit(value=False),
    }
    columns = polars_schema(Sample)
    try:
        lines = pl.read_csv(file, schema=SAMPLE_COLUMNS).with_row_index("line", offset=1)
        return lines.select(given.get(name, pl.lit(None)).cast(type_).alias(name) for name, type_ in columns.items())
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
    """Make the record of one load from its report, which contains its validity.

    Trials are numbered from 0, each in its own block; ``target`` is the requested URL or its description.

    Raises
    ------
    EngineFailed
        If the report is incomplete.
    """
    try:
        load, plan = restore(LoadSummary, _figures(report)), report["plan"]
        judged = report.get("validity") or {}
        labels = [Labels(tuple(restore(LabelCount, _label(one)) for one in of))] if (of := report.get("labels")) else []
        found = report.get("addresses")
        addresses = [Addresses(tuple(restore(AddressCount, one) for one in found))] if found else []
        outcome, reason = _ending(report, load)
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
            outcome=outcome,
            reason=reason,
            validity=Validity(judged["verdict"]) if judged else None,
            validity_reason=judged.get("reason"),
            broken_rules=tuple(one["rule"] for one in judged.get("rules", ()) if one["passed"] is False)
            if judged
            else None,
            figures=figures_of(load, *labels, *addresses),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise EngineFailed(f"the load generator's report cannot be read: {what}; {RENEW_ENGINE}") from error


def _ending(report: Mapping[str, Any], load: LoadSummary) -> tuple[Outcome, str | None]:
    if not load.requests and load.errors:
        unsent = (load.censored, "still open at the end"), (load.unsent or 0, "due and never sent")
        counts = [*((failure.count, f"x {failure.name}") for failure in load.failures), *unsent]
        return Outcome.DIED, f"no answer came: {', '.join(f'{count:,} {words}' for count, words in counts if count)}"
    if report["interrupted"]:
        return Outcome.INTERRUPTED, f"stopped after {load.elapsed_ns / 1e9:.1f} s"
    return Outcome.OK, None


def _figures(report: Mapping[str, Any]) -> dict[str, Any]:
    plan, wire, connections = report["plan"], report.get("wire") or {}, report.get("connections") or {}
    censored, checks, rate = report["censored"], report.get("checks"), plan["rate_per_s"]
    data = report.get("data") or {}
    times = {kind: report[name] for kind, name in _TIMES.items()}
    times["response"] = _at_least(times["response"], report.get("response_time_at_least"))
    times["all"] = report.get("response_time_all") or times["response"]
    times |= {phase: report["phases"].get(phase) for phase in _PHASES}
    return {
        "elapsed_ns": round(report["elapsed_s"] * 1e9),
        "sent": int(report["sent"]),
        "requests": int(report["requests"]),
        "requests_per_s": float(report["rps"]),
        "errors": int(report["errors_total"]) + report.get("failed_answers", 0),
        "failed_answers": report.get("failed_answers"),
        "resent": report.get("resent", connections.get("retried_requests")),
        "open_loop": rate is not None,
        "rate_per_s": rate,
        "rate_end_per_s": plan.get("rate_end_per_s"),
        "unsent": None if rate is None else int(report["unsent"]),
        "censored": int(censored["count"]),
        "censored_oldest_ns": censored.get("oldest_ns"),
        "cpu_user_ns": _nanoseconds(report.get("cpu_user_s")),
        "cpu_system_ns": _nanoseconds(report.get("cpu_system_s")),
        "busy_share": _largest_share(report, "busy_share"),
        "waiting_share": _largest_share(report, "waiting_share"),
        "peak_memory_bytes": report.get("peak_memory_bytes"),
        **{name: wire.get(name) for name in ("sent_bytes", "received_bytes", "content_bytes")},
        "connections_opened": connections.get("opened"),
        "connections_failed": connections.get("failed"),
        **{name: connections.get(name) for name in ("tls_full", "tls_resumed")},
        "data_rows": data.get("rows"),
        "data_used_up": data.get("used_up"),
        "statuses": _most_frequent_first(report["statuses"]),
        "failures": _most_frequent_first(report["errors"]),
        "series": report["series"],
        **_until(report.get("until")),
        **_warm_up(report.get("warm_up")),
        "tolerated": None if (odd := report.get("tolerated")) is None else _most_frequent_first(odd),
        **_expect(report.get("expect_continue")),
        "proxy": plan.get("proxy"),
        "stages": report.get("stages"),
        "wrong_examples": None if checks is None else [_example(one) for one in checks.get("examples", ())],
        "replay": json.dumps(replay, ensure_ascii=False, separators=(",", ":"))
        if (replay := report.get("replay"))
        else None,
        **_find(report),
        **{f"check_{one.name}": checks.get(one.name, 0) for one in fields(LoadChecks) if checks is not None},
        **{
            f"{kind}_{figure.name}": histogram[figure.name]
            for kind, histogram in times.items()
            if histogram is not None and histogram["count"]
            for figure in fields(LoadTimes)
        },
    }


def _expect(record: Mapping[str, int] | None) -> dict[str, int | None]:
    names = {"expect_continued": "continued", "expect_answered": "answered", "expect_silent": "silent"}
    return {field: None if record is None else record[name] for field, name in names.items()}


def _label(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of ``LabelCount`` from the generator's report."""
    times = values["response_time"] or {}
    counts = ((name, _most_frequent_first(values[key])) for name, key in _COUNTS_OF_LABEL.items())
    return {
        "label": values["label"],
        "grouped": values.get("grouped"),
        "requests": values["requests"],
        "errors": values["errors_total"] + values["failed_answers"],
        "not_2xx": sum(count for status, count in values["statuses"].items() if not status.startswith("2")),
        **{name: ", ".join(f"{one['name']}: {one['count']}" for one in counted) for name, counted in counts},
        **{field.name: times.get(field.name) for field in fields(LabelCount) if field.name.endswith("_ns")},
    }


def _example(wrong: Mapping[str, Any]) -> str:
    return f"wrong by {wrong['check']}: got {wrong['got']}"


def _until(found: Mapping[str, Any] | None) -> dict[str, Any]:
    if found is None:
        return {}
    names = ("estimate_ns", "low_ns", "high_ns", "half_width_share")
    return {"until": found["condition"], "until_met": found["is_met"], **{f"until_{one}": found[one] for one in names}}


def _find(report: Mapping[str, Any]) -> dict[str, Any]:
    search = report.get("find")
    if search is None:
        return {}
    return {
        **{f"find_{name}": search[name] for name in ("objective", "verdict", "first_broken", "duration_s")},
        "find_steps": [{**step, "over": ", ".join(map(str, step["over"]))} for step in search["steps"]],
        **{name: report[name] for name in ("found_per_s", "found_low_per_s", "found_high_per_s")},
    }


def _warm_up(found: Mapping[str, Any] | None) -> dict[str, Any]:
    if found is None:
        return {}
    return {
        "warm_up_ns": round(found["duration_s"] * 1e9),
        "warm_up_requests": int(found["requests"]),
        "warm_up_failures": _most_frequent_first(found["failures"]),
    }


def _largest_share(report: Mapping[str, Any], share: str) -> float | None:
    """Return the largest value of a share among the generator's threads; None where no thread has it."""
    shares = [thread.get(share) for thread in report.get("threads") or ()]
    return max((value for value in shares if value is not None), default=None)


def _at_least(ended: Mapping[str, Any] | None, every: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the response times of ended requests, or the longer ones that include all requests.

    A request that had not ended takes longer than it had waited. If counting these waits makes a percentile longer,
    they count. A few short waits, as a closed loop has at its end, would make it shorter, and do not count.
    """
    if ended is None or every is None or not every["count"]:
        return ended
    return {**ended, **{name: max(ended[name], every[name]) for name in _GROW}}


def _most_frequent_first(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return [{"name": name, "count": count} for name, count in ordered]


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e9)
