"""One load from the generator's report to the record of its trial: the figures, the outcome, the validity."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from httpdyno.errors import EngineFailed
from httpdyno.experiments.load.figures import LoadChecks, LoadSecond, LoadSummary, LoadTimes
from httpdyno.experiments.load.rules import LOAD_RULES
from httpdyno.installation import RENEW_ENGINE
from httpdyno.judge.validity import with_validity
from httpdyno.model import Count, Outcome, Trial, figures_of

__all__ = ["SERVER", "judge_load", "load_from_report"]

SERVER: Final = "server"
"""The subject of every load, so that two runs are compared whatever address their servers have."""
_KINDS: Final = ("response", "service", "send_lag")
_GROW: Final = tuple(field.name for field in fields(LoadTimes) if field.name not in {"count", "min_ns", "stdev_ns"})
"""Figures of a distribution that are longer where requests had not ended."""
_PHASES: Final = ("dns", "connect", "tls", "first_byte", "content")


def judge_load(number: int, report: Mapping[str, Any], *, target: str, checks: Sequence[str] = ()) -> Trial:
    """Make the record of one load.

    Trials are numbered from 0, each a block of its own; ``target`` is what was asked for, in words: the URL.
    """
    load = load_from_report(report)
    try:
        trial = _trial(number, report, report["plan"], load, target, checks)
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable(error) from error
    return with_validity(trial, LOAD_RULES)


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
    checks: Sequence[str],
) -> Trial:
    stopped = bool(report["interrupted"])
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
        check=", ".join(checks),
        http_version=str(plan["http"]),
        urls_given=int(plan["urls"]),
        outcome=Outcome.INTERRUPTED if stopped else Outcome.OK,
        reason=f"stopped after {load.elapsed_ns / 1e9:.1f} s" if stopped else None,
        figures=figures_of(load),
    )


def _unreadable(error: Exception) -> EngineFailed:
    what = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
    return EngineFailed(f"the load generator's report cannot be read: {what}; {RENEW_ENGINE}")


_CHECKS: Final = fields(LoadChecks)
