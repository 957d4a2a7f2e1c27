"""What became of a server, in one word and one line of evidence."""

import signal as signals
from collections.abc import Iterable, Mapping
from typing import Any, Final

from httpdyno.experiments.service.judge.artifacts import ServerArtifacts
from httpdyno.experiments.service.judge.usage import Descriptors
from httpdyno.model import Outcome, format_time

__all__ = ["Found", "service_outcome"]

Found = tuple[Outcome, str | None]
_UNSUPPORTED: Final = 127
"""What a program ends with for a setting that it cannot honour: ``subjects/CONTRACT.md``."""
_LINES: Final = 2
_LENGTH: Final = 240
_NO_MORE: Final = ("Too many open files", "EMFILE", "ENFILE")


def service_outcome(
    artifacts: ServerArtifacts, *, connections: int, leak: str | None = None, silent_ns: int | None = None
) -> Found:
    """Name what became of a server, and say why in one line; None when it is ``ok``.

    The first that applies: it was stopped, could not be started, never listened, used up its descriptors, died,
    answered wrongly, leaked, stopped answering. That it was slow is none of them: that is what is measured.

    ``leak`` is the growth of its descriptors, where there was one; ``silent_ns`` is for how long nothing was answered
    at the end of the load, where that is too long to be slowness.
    """
    report = artifacts.report
    kind = str(report.get("outcome"))
    if kind == "interrupted":
        return Outcome.INTERRUPTED, str(report.get("reason") or "stopped before it was done")
    if kind == "failed_to_start":
        return Outcome.CRASHED, f"could not be started: {report.get('reason') or 'no reason given'}"
    if (report.get("server") or {}).get("ready_ns") is None:
        return _never_listened(artifacts)
    found = _broken(artifacts, connections, leak, silent_ns) or _answered_wrongly(artifacts)
    if found is None and leak:
        found = Outcome.LEAKED, leak
    return found or _ended(artifacts, silent_ns)


def _broken(artifacts: ServerArtifacts, connections: int, leak: str | None, silent_ns: int | None) -> Found | None:
    """Return what stopped a server that had listened; None when nothing did."""
    died = artifacts.report.get("outcome") == "died"
    exhausted = Descriptors.of(artifacts.report.get("server") or {}).exhausted(connections=connections)
    if exhausted or (leak and (died or silent_ns is not None)):
        return Outcome.LEAKED, _leaked(exhausted, leak, artifacts.stderr)
    return (Outcome.DIED, f"{_end(artifacts.report, artifacts.stderr)}{_amid(artifacts)}") if died else None


def _answered_wrongly(artifacts: ServerArtifacts) -> Found | None:
    if silent := _unanswered((artifacts.drive or {}).get("before")):
        return Outcome.HUNG, f"before the load: {silent}"
    wrong = _wrong(artifacts)
    return None if wrong is None else (Outcome.WRONG_ANSWERS, wrong)


def _ended(artifacts: ServerArtifacts, silent_ns: int | None) -> Found:
    """Return whether the load came to its end."""
    if silent_ns is not None:
        silence = format_time(silent_ns)
        return Outcome.DIED, f"answered nothing in the last {silence} of the load, though requests were open"
    if artifacts.report.get("outcome") == "deadline":
        return Outcome.HUNG, "did not come to its end before the deadline"
    return _generator(artifacts)


def _never_listened(artifacts: ServerArtifacts) -> Found:
    subject = artifacts.report.get("subject") or {}
    if artifacts.report.get("outcome") != "died":
        return (
            Outcome.NEVER_LISTENED,
            f"{artifacts.report.get('reason') or 'accepted no connection'}{_said(artifacts.stderr)}",
        )
    if subject.get("exit_code") == _UNSUPPORTED:
        return Outcome.UNAVAILABLE, f"cannot honour a setting{_said(artifacts.stderr)}"
    return Outcome.NEVER_LISTENED, f"ended before it listened: {_end(artifacts.report, artifacts.stderr)}"


def _leaked(exhausted: str | None, leak: str | None, stderr: str) -> str:
    told = [part for part in (exhausted, leak) if part]
    if any(sign in stderr for sign in _NO_MORE):
        told.append("says that too many files are open")
    return "; ".join(told)


def _wrong(artifacts: ServerArtifacts) -> str | None:
    """Describe which answer was not what the contract says; None where all were."""
    drive = artifacts.drive or {}
    if failed := _failed(drive.get("before")):
        return f"before the load: {failed}"
    during = drive.get("during") or {}
    if during.get("wrong"):
        evidence = next(iter(during.get("evidence") or ()), "no evidence kept")
        return f"under load {during['wrong']} of {during['asked']} answers were wrong: {evidence}"
    checks = (artifacts.load or {}).get("checks") or {}
    wrong = sum(int(checks.get(name) or 0) for name in ("wrong_length", "wrong_content", "wrong_json"))
    if wrong:
        return f"under load {wrong:,} of {wrong + int(checks.get('right') or 0):,} answers had another content"
    return None


def _unanswered(checks: Iterable[Mapping[str, Any]] | None) -> str | None:
    failed = next((check for check in checks or () if not check.get("passed")), None)
    return None if failed is None or failed.get("answered", True) else f"no answer to {_evidence(failed)}"


def _failed(checks: Iterable[Mapping[str, Any]] | None) -> str | None:
    failed = next((check for check in checks or () if not check.get("passed")), None)
    return None if failed is None else _evidence(failed)


def _evidence(check: Mapping[str, Any]) -> str:
    return f"{check.get('check')}: {check.get('evidence') or 'no evidence kept'}"


def _amid(artifacts: ServerArtifacts) -> str:
    """Return whether there was a load when it ended."""
    began = bool((artifacts.drive or {}).get("generator")) or artifacts.load is not None
    return "" if began else ", before the load"


def _generator(artifacts: ServerArtifacts) -> Found:
    """Find out whether the generator did its work: that it did not is no fault of the server's."""
    driver = artifacts.report.get("driver") or {}
    generator = (artifacts.drive or {}).get("generator")
    if artifacts.drive is None:
        ended = _end({"subject": driver}, artifacts.said)
        return Outcome.REFUSED, f"the drive left no report: {ended}"
    if generator is None:
        return Outcome.WRONG_ANSWERS, "the contract was not proved, so that there was no load"
    if generator.get("exit_code") != 0:
        return Outcome.REFUSED, f"the generator {_end({'subject': generator}, artifacts.said)}"
    return Outcome.OK, None


def _end(report: Mapping[str, Any], stderr: str) -> str:
    subject = report.get("subject") or {}
    if subject.get("out_of_memory"):
        what = "killed by the kernel: out of memory"
    elif subject.get("signal") is not None:
        what = f"killed by {_signal_name(int(subject['signal']))}"
    elif subject.get("exit_code") is not None:
        what = f"ended with {subject['exit_code']}"
    else:
        what = "ended"
    return what + _said(stderr)


def _said(stderr: str) -> str:
    last = [line.strip() for line in stderr.splitlines() if line.strip()][-_LINES:]
    return f": {' / '.join(last)[-_LENGTH:]}" if last else ""


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"
