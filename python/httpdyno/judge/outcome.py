"""Outcome of a trial of a client or of a load tool: one word, and the reason in one line."""

import signal as signals
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from httpdyno.errors import UnreadableReport
from httpdyno.judge.lines import Lines
from httpdyno.judge.tool_reports import read_tool_report
from httpdyno.judge.verdict import Judged
from httpdyno.model import Outcome, ToolReport, TrialPlan, counted

_STDERR_LINES: Final = 3
_STDERR_LENGTH: Final = 200
_NAMED: Final = 3
_SILENT_TIMEOUTS: Final = 2
_SILENT_AT_LEAST_NS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Ending:
    """End of a subject's process, as reported by the engine."""

    kind: str
    """``exited``, ``signaled``, ``deadline``, ``interrupted``, ``failed_to_start``, ``link_limited``, ``origin_lost``,
    ``peer_failed``."""
    reason: str | None = None
    """The engine's reason."""
    exit_code: int | None = None
    signal: int | None = None
    """Exit code or signal, if the subject ran."""
    started_at_ns: int | None = None
    ended_at_ns: int | None = None
    """Start, since the Unix epoch."""
    out_of_memory: bool = False
    """Whether the kernel killed it because memory ran out."""
    stderr: str = ""
    """The end of the subject's standard error."""
    withheld: str | None = None
    """Why the subject did not get the whole list, if requests per host are limited and it owed answers."""
    owed: int | None = None
    """URLs that it got and did not answer, if requests per host are limited."""

    @property
    def cut_short(self) -> bool:
        """Whether the process was stopped before it ended by itself."""
        return self.kind in {"deadline", "interrupted"}

    @property
    def refused(self) -> bool:
        """Whether the instrument failed: its link missed the settings, or its peer did not start or was lost."""
        return self.kind in {"link_limited", "origin_lost", "peer_failed"}

    @property
    def killed(self) -> bool:
        """Whether its last line may be incomplete."""
        return self.kind != "exited"


def ending_from_report(report: Mapping[str, Any], stderr: str = "") -> Ending:
    """Read from the engine's report, version 1, how a process ended."""
    subject, fed = report.get("subject") or {}, report.get("fed") or {}
    return Ending(
        str(report.get("outcome")),
        report.get("reason"),
        **{name: subject.get(name) for name in ("exit_code", "signal", "started_at_ns", "ended_at_ns")},
        out_of_memory=bool(subject.get("out_of_memory")),
        stderr=stderr,
        **{name: fed.get(name) for name in ("withheld", "owed")},
    )


def outcome_of(ending: Ending, lines: Lines, judged: Judged, *, timeout_ns: int) -> tuple[Outcome, str | None]:
    """Return the outcome of a trial and its reason in one line; None if it is ``ok``.

    The first that applies: ``interrupted``, ``crashed``, ``hung``, ``garbage``, ``foreign``, ``duplicate``,
    ``missing``. A deadline alone is not a failure: if a client was still working then, its remaining URLs are
    ``not_reached``. It hung if it had printed nothing for two timeouts, or nothing at all, or everything without
    exiting; but not if it owed no answer and waited for the limit of a host. URLs withheld from it are ``missing``.
    """
    if ending.kind == "interrupted":
        return Outcome.INTERRUPTED, ending.reason or "stopped before it ended"
    if ending.kind == "deadline":
        silence = _hung(ending, judged, timeout_ns=timeout_ns)
        waited = ending.owed == 0 and judged.missing > 0
        if silence and not waited:
            return Outcome.HUNG, silence
    elif ending.kind != "exited" or ending.exit_code != 0:
        return Outcome.CRASHED, _crash(ending)
    faults = [
        (Outcome.GARBAGE, lines.garbage, "line", "that cannot be read", lines.garbage_examples),
        (Outcome.FOREIGN, judged.foreign, "line", "for a URL that is not in the list", judged.foreign_examples),
        (Outcome.DUPLICATE, judged.duplicates, "line", "more than the URL is in the list", judged.duplicate_examples),
    ]
    # URLs that a client never got, or not in time, are not forgotten.
    if not ending.withheld and not ending.cut_short:
        forgotten = "forgotten, although it exited with 0"
        faults.append((Outcome.MISSING, judged.missing, "URL", forgotten, judged.missing_examples))
    for outcome, count, noun, what, examples in faults:
        if count:
            return outcome, f"{counted(count, noun)} {what}, such as {', '.join(map(repr, examples))}"
    return (Outcome.MISSING, ending.withheld) if ending.withheld else (Outcome.OK, None)


def _hung(ending: Ending, judged: Judged, *, timeout_ns: int) -> str | None:
    if ending.started_at_ns is None or ending.ended_at_ns is None:
        return "the deadline passed before it started"
    if judged.missing == 0:
        return "printed every URL, but did not exit before the deadline"
    unanswered = f"{counted(judged.missing, 'URL')} missing: {_name_unanswered(judged.samples)}"
    ends = judged.samples["start_ns"] + judged.samples["duration_ns"]
    last = ends.max()
    if not isinstance(last, int):
        return f"printed nothing in {(ending.ended_at_ns - ending.started_at_ns) / 1e9:.1f} s; {unanswered}"
    # A client's own clock may be wrong by days.
    silent_ns = ending.ended_at_ns - max(last, ending.started_at_ns)
    if silent_ns > _SILENT_TIMEOUTS * timeout_ns + _SILENT_AT_LEAST_NS:
        return f"printed nothing in the {silent_ns / 1e9:.1f} s before the deadline; {unanswered}"
    return None


def _name_unanswered(samples: pl.DataFrame) -> str:
    """Name URLs without a line, with their faults in the web; faulty ones come first."""
    missing = samples.filter(pl.col("line").is_null()).sort(pl.col("cause").is_null(), maintain_order=True)
    urls = [f"{url} ({cause})" if cause else url for url, cause in missing.select("url", "cause").head(_NAMED).rows()]
    rest = len(missing) - len(urls)
    asked = "" if missing["cause"].is_null().all() else "; does the client's REQUEST_TIMEOUT cover that?"
    return ", ".join(urls) + (f" and {rest:,} more" if rest else "") + asked


def _crash(ending: Ending) -> str:
    if ending.kind == "failed_to_start":
        return f"could not be started: {ending.reason or 'no reason given'}"
    what = process_end("exited", ending.exit_code, ending.signal, out_of_memory=ending.out_of_memory)
    what = what or ending.reason or "ended for an unknown reason"
    return what + last_lines(ending.stderr, _STDERR_LINES, _STDERR_LENGTH)


def process_end(ended: str, exit_code: int | None, signal: int | None, *, out_of_memory: bool) -> str | None:
    """Describe the end of a process; ``ended`` is the verb before its exit code. None if it is unknown."""
    if out_of_memory:
        return "killed by the kernel: out of memory"
    if signal is None:
        return None if exit_code is None else f"{ended} with {exit_code}"
    try:
        return f"killed by {signals.Signals(signal).name}"
    except ValueError:
        return f"killed by signal {signal}"


def last_lines(stderr: str, count: int, length: int) -> str:
    """Return the last lines of a text after a colon, at most ``length`` characters; empty if there are none."""
    last = [line.strip() for line in stderr.splitlines() if line.strip()][-count:]
    return f": {' / '.join(last)[-length:]}" if last else ""


_SAID: Final = 200


@dataclass(frozen=True, slots=True)
class ToolArtifacts:
    """Output and report of a trial of a load tool."""

    report: Mapping[str, Any]
    """The engine's report, version 1, parsed from JSON."""
    text: str
    """The tool's standard output: its report."""
    stderr: str
    arrivals: pl.DataFrame
    """Arrivals at the origin, in the form of ``read_arrivals``."""


def tool_ending(plan: TrialPlan, ending: Ending, text: str) -> tuple[Outcome, str | None, ToolReport | None]:
    """Return the outcome of a tool's trial, its reason unless the outcome is ``ok``, and the tool's report if it is."""
    if ending.kind == "interrupted":
        return Outcome.INTERRUPTED, ending.reason or "stopped before it ended", None
    if ending.kind == "deadline":
        return Outcome.HUNG, "did not end before the deadline", None
    if ending.kind != "exited":
        return Outcome.CRASHED, ending.reason or f"ended by signal {ending.signal}", None
    try:
        return Outcome.OK, None, read_tool_report(plan.subject.report_parser, text)
    except UnreadableReport as error:
        said = " ".join(ending.stderr.split())[-_SAID:]
        if ending.exit_code:
            return Outcome.CRASHED, f"exited with {ending.exit_code}: {said or 'no message'}", None
        return Outcome.GARBAGE, error.line, None
