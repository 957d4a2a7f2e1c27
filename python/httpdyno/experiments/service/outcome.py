"""The reports of a server's trial, and its outcome: one word, and the reason in one line."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any, Final, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE
from httpdyno.judge.outcome import last_lines, process_end
from httpdyno.model import Outcome, format_time


@dataclass(frozen=True, slots=True)
class ServerArtifacts:
    """Artifacts of a server's trial."""

    report: Mapping[str, Any]
    """The engine's report of the room, version 1."""
    drive: Mapping[str, Any] | None
    """The engine's report of the drive: checks before, during and after the load; None if it wrote none."""
    load: Mapping[str, Any] | None
    """The report of our own generator; None if it wrote none, or another generator sent."""
    samples: pl.DataFrame | None
    """Every request of our own generator."""
    text: str = ""
    """Output of another generator."""
    stderr: str = ""
    """The end of the server's standard error."""
    said: str = ""
    """The end of the standard error of the engine and the generator."""


Span = tuple[int, int]
"""Start and end, since the server's exec, in nanoseconds."""

_FEWEST: Final = 4
"""Fewest readings that can show an increase."""
_FOR_A_CONNECTION: Final = 1.25
"""Allowed descriptors per connection: the connection itself, and sometimes one that is not closed yet."""
_ALWAYS_ALLOWED: Final = 24
"""Descriptors that a server may open during a load: for threads, a log, or before a late garbage collection."""
_RISING: Final = 0.6
"""Least share of rising steps between readings in a leak; around a constant number, at most half of them rise."""
_AT_LIMIT: Final = 0.97
_UNSUPPORTED: Final = 127
"""Exit code of a program for a setting that it cannot honour: ``subjects/CONTRACT.md``."""
_last_lines: Final = partial(last_lines, count=2, length=240)
_NO_MORE: Final = ("Too many open files", "EMFILE", "ENFILE")


class _Read(BaseModel):
    """Part of a report; null is the same as absent."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, values: Any) -> Any:  # noqa: ANN401  # whatever the report has
        if not isinstance(values, Mapping):
            return values
        return {name: value for name, value in values.items() if value is not None}


class Process(_Read):
    """End and CPU time of the server, the driver or the generator."""

    exit_code: int | None = None
    signal: int | None = None
    out_of_memory: bool = False
    started_at_ns: int | None = None
    wall_ns: int | None = None
    cpu_user_ns: int | None = None
    cpu_system_ns: int | None = None

    @property
    def cpu_ns(self) -> int | None:
        """CPU time in user mode and in the kernel; None if not measured."""
        known = [part for part in (self.cpu_user_ns, self.cpu_system_ns) if part is not None]
        return sum(known) if known else None

    def end(self, stderr: str) -> str:
        """Describe how it ended, with the end of its standard error."""
        what = process_end("ended", self.exit_code, self.signal, out_of_memory=self.out_of_memory)
        return (what or "ended") + _last_lines(stderr)


class Server(_Read):
    """Readiness of a server, and the open descriptors of its processes over time."""

    ready_ns: int | None = None
    descriptors: tuple[tuple[int, int], ...] = ()
    """``(elapsed_ns, count)``."""
    descriptor_limit: int | None = None
    """Limit of one process; None: not known."""
    most_descriptors_of_one_process: int | None = None

    @property
    def peak(self) -> int | None:
        """The most descriptors that were open at once; None if not counted."""
        return max((count for _, count in self.descriptors), default=None)

    def exhausted(self, *, connections: int) -> str | None:
        """Describe how a process reached its limit although its connections need fewer descriptors; else None."""
        most, limit = self.most_descriptors_of_one_process, self.descriptor_limit
        most = self.peak if most is None else most
        if limit is None or most is None or most < _AT_LIMIT * limit:
            return None
        if limit <= _ALWAYS_ALLOWED + _FOR_A_CONNECTION * connections:
            return None
        return f"used up its descriptors, {most:,} of {limit:,}, with at most {connections:,} connections"

    def leak(self, span: Span, *, connections: int) -> str | None:
        """Describe an increase of open descriptors over a span that the connections do not explain; else None.

        In ``span`` all connections were open, at most ``connections``.
        """
        within = [count for at, count in self.descriptors if span[0] <= at <= span[1]]
        if len(within) < _FEWEST:
            return None
        steps = list(pairwise(within))
        rising = sum(after > before for before, after in steps)
        before_load = min(count for at, count in self.descriptors if at <= span[1])
        explained = before_load + _ALWAYS_ALLOWED + _FOR_A_CONNECTION * connections
        if within[-1] <= explained or within[-1] <= within[0] or rising < _RISING * len(steps):
            return None
        seconds = (span[1] - span[0]) / 1e9
        return (
            f"descriptors grew from {within[0]:,} to {within[-1]:,} in {seconds:.1f} s, "
            f"while at most {connections:,} connections were open"
        )


class _Room(_Read):
    outcome: str
    reason: str | None = None
    server: Server = Server()
    subject: Process = Process()
    driver: Process = Process()


class _Check(_Read):
    check: str | None = None
    passed: bool = False
    answered: bool = True
    evidence: str = ""

    def __str__(self) -> str:
        return f"{self.check}: {self.evidence or 'no evidence'}"


class _During(_Read):
    asked: int = 0
    wrong: int = 0
    evidence: tuple[str, ...] = ()


class _Drive(_Read):
    before: tuple[_Check, ...] = ()
    during: _During = _During()
    generator: Process | None = None


class _Checks(_Read):
    right: int = 0
    wrong_length: int = 0
    wrong_content: int = 0
    wrong_json: int = 0

    @property
    def wrong(self) -> int:
        return self.wrong_length + self.wrong_content + self.wrong_json


class _Load(_Read):
    started: datetime
    checks: _Checks | None = None
    send_lag: Mapping[str, Any] = {}
    threads: tuple[Mapping[str, Any], ...] = ()

    @property
    def busy_share(self) -> float | None:
        """Use of the busiest thread, 0 to 1."""
        shares = [thread.get("busy_share") for thread in self.threads]
        return max((share for share in shares if share is not None), default=None)


class Reports(_Read):
    """The reports of a server's trial: of the room, of the drive, and of our own generator."""

    room: _Room
    drive: _Drive | None = None
    load: _Load | None = None

    @classmethod
    def of(cls, artifacts: ServerArtifacts) -> Self:
        """Read the reports; raise ``EngineFailed`` if one is damaged."""
        try:
            return cls(room=artifacts.report, drive=artifacts.drive, load=artifacts.load)  # type: ignore[arg-type]
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise EngineFailed(f"the report {place} cannot be read: {first['msg']}; {RENEW_ENGINE}") from error

    @property
    def generator(self) -> Process | None:
        """The generator's process; None if it was not started."""
        return self.drive.generator if self.drive else None

    @property
    def load_began_ns(self) -> int | None:
        """Begin of the load, since the server's exec; None without a load."""
        exec_ns, began_ns = self.room.subject.started_at_ns, (self.generator or Process()).started_at_ns
        if self.load is not None:
            began_ns = round(self.load.started.timestamp() * 1e6) * 1000
        return None if exec_ns is None or began_ns is None else began_ns - exec_ns


def service_outcome(
    reports: Reports,
    artifacts: ServerArtifacts,
    *,
    connections: int,
    leak: str | None = None,
    silent_ns: int | None = None,
) -> tuple[Outcome, str | None]:
    """Return the outcome of a server with its reason in one line; None if it is ``ok``.

    The first that applies: it was stopped, could not be started, never listened, used up its descriptors, died,
    answered wrongly, leaked, stopped answering. Slowness is not an outcome: it is measured.

    ``leak`` describes the increase of its descriptors; ``silent_ns`` is the time without answers at the end of the
    load, if it is too long to be slowness.
    """
    room, stderr = reports.room, artifacts.stderr
    if room.outcome == "interrupted":
        return Outcome.INTERRUPTED, room.reason or "stopped before it ended"
    if room.outcome == "failed_to_start":
        return Outcome.CRASHED, f"could not be started: {room.reason or 'no reason given'}"
    if room.server.ready_ns is None:
        return _never_listened(room, stderr)
    died, exhausted = room.outcome == "died", room.server.exhausted(connections=connections)
    if exhausted or (leak and (died or silent_ns is not None)):
        refused = any(sign in stderr for sign in _NO_MORE)
        parts = (exhausted, leak, "reports too many open files" if refused else None)
        return Outcome.LEAKED, "; ".join(filter(None, parts))
    if died:
        before = "" if reports.generator or reports.load else ", before the load"
        return Outcome.DIED, room.subject.end(stderr) + before
    return _wrong_answers(reports) or (
        (Outcome.LEAKED, leak) if leak else _end_of_load(reports, silent_ns, artifacts.said)
    )


def _never_listened(room: _Room, stderr: str) -> tuple[Outcome, str | None]:
    if room.outcome != "died":
        return Outcome.NEVER_LISTENED, f"{room.reason or 'accepted no connection'}{_last_lines(stderr)}"
    if room.subject.exit_code == _UNSUPPORTED:
        return Outcome.UNAVAILABLE, f"cannot honour a setting{_last_lines(stderr)}"
    return Outcome.NEVER_LISTENED, f"ended before it listened: {room.subject.end(stderr)}"


def _wrong_answers(reports: Reports) -> tuple[Outcome, str] | None:
    """Find an answer that is missing before the load or violates the contract; None if there is none."""
    drive, checks = reports.drive or _Drive(), reports.load.checks if reports.load else None
    failed = next((check for check in drive.before if not check.passed), None)
    if failed is not None and not failed.answered:
        return Outcome.HUNG, f"before the load: no answer to {failed}"
    if failed is not None:
        return Outcome.WRONG_ANSWERS, f"before the load: {failed}"
    if during := drive.during.wrong:
        evidence = next(iter(drive.during.evidence), "no evidence kept")
        return Outcome.WRONG_ANSWERS, f"under load {during} of {drive.during.asked} answers were wrong: {evidence}"
    if checks and checks.wrong:
        total = checks.wrong + checks.right
        return Outcome.WRONG_ANSWERS, f"under load {checks.wrong:,} of {total:,} answers had the wrong content"
    return None


def _end_of_load(reports: Reports, silent_ns: int | None, said: str) -> tuple[Outcome, str | None]:
    """Return whether the load ended; a failure of the generator is not the server's fault."""
    if silent_ns is not None:
        silence = format_time(silent_ns)
        return Outcome.DIED, f"answered nothing in the last {silence} of the load, although requests were open"
    if reports.room.outcome == "deadline":
        return Outcome.HUNG, "did not end before the deadline"
    if reports.drive is None:
        return Outcome.REFUSED, f"the drive left no report: {reports.room.driver.end(said)}"
    if reports.generator is None:
        return Outcome.WRONG_ANSWERS, "the contract checks did not run, so there was no load"
    if reports.generator.exit_code != 0:
        return Outcome.REFUSED, f"the generator {reports.generator.end(said)}"
    return Outcome.OK, None
