"""Runs one trial on the real internet, without a room, and gathers what it left."""

import contextlib
import json
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from httpdyno.errors import EngineFailed, Interrupted
from httpdyno.lab.host_limit import HostLimit
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.live_client import GRACE_S, FedClient
from httpdyno.lab.observer import Observer
from httpdyno.lab.room import Command, Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, parse_cpus
from httpdyno.storage import storage_errors

__all__ = ["LiveOutput", "run_live_trial"]

_ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "DENO_TLS_CA_STORE": "system",
    "DENO_NO_UPDATE_CHECK": "1",
    "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
}
"""As in a room, but with the trust of the machine itself; runtimes call nobody's home."""


@dataclass(slots=True)
class LiveOutput:
    """What a trial left: a report in the engine's form, and files that are read by their path until ``close``."""

    report: dict[str, Any]
    stdout: ScratchFile
    stderr: ScratchFile
    withheld: str | None
    """Why the client was not given the whole list; None when it was, or when the trial ended before that."""
    owed: int
    """URLs that it was given and did not answer; where there are none, it was not the client that others waited for."""

    def close(self) -> None:
        """Free the files."""
        self.stdout.close()
        self.stderr.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def run_live_trial(
    condition: Condition,
    pinning: Pinning,
    command: Command,
    urls: ScratchFile,
    interruption: Interruption,
    observer: Observer | None = None,
) -> LiveOutput:
    """Run one fresh process of a client on this machine itself.

    The client is pinned; this process moves to the engine's CPUs meanwhile. Names, certificates and connections are
    those of the real internet.

    Parameters
    ----------
    condition, pinning, command
        What is measured, on which CPUs, and how the client is started.
    urls : ScratchFile
        The list. Lines of a host that has as many in flight as the condition allows are held back.
    interruption : Interruption
        Looked at ten times a second.
    observer : Observer, optional
        Sees the progress, and the output if it wants to.

    Returns
    -------
    LiveOutput
        To be closed by the caller. However the client ended is in its report: that is no error.

    Raises
    ------
    Interrupted
        If the trial was stopped half-way.
    EngineFailed
        If the trial does not come to an end, or leaves no report.
    StorageFailed
        If there is no room for the files of the trial.
    """
    with contextlib.ExitStack() as kept, contextlib.ExitStack() as dropped:
        stdout, stderr = (kept.enter_context(ScratchFile()) for _ in range(2))
        report = dropped.enter_context(ScratchFile())
        engine_cpus, subject_cpus = _cpus(pinning)
        lines = dropped.enter_context(urls.path.open("rb"))
        limit = HostLimit(
            (stripped for line in lines if (stripped := line.strip())),
            per_host=condition.per_host,
            interval_ns=round(condition.per_host_interval_s * 1e9),
        )
        dropped.enter_context(_own_cpus(engine_cpus))
        home = dropped.enter_context(_home())
        client = FedClient(limit, stdout.file, observer, expected=_count(urls), timeout_s=condition.workload.timeout_s)
        settings = {
            "report": report.descriptor,
            "engine_cpus": sorted(engine_cpus),
            "subject_cpus": sorted(subject_cpus),
            "deadline_s": condition.deadline_s,
            "folder": str(command.folder),
            "home": home,
            "environment": {**_ENVIRONMENT, **command.environment, "HOME": home, "TMPDIR": home},
        }
        dropped.callback(client.close)
        client.start(settings, command.argv, stderr)
        overdue = not client.until_end(interruption, condition.deadline_s + GRACE_S)
        if interruption.requested:
            raise Interrupted("interrupted during a trial")
        if overdue:
            raise EngineFailed(
                "the trial did not end at its deadline, and was killed; try again when this machine has less to do"
            )
        evidence = LiveOutput(_read_report(report, stderr), stdout, stderr, client.withheld, limit.in_flight)
        kept.pop_all()
        return evidence


def _read_report(report: ScratchFile, stderr: ScratchFile) -> dict[str, Any]:
    try:
        values = json.loads(report.read_text())
    except ValueError as error:
        last = stderr.read_text(4096).strip().splitlines()[-1:] or ["it says nothing"]
        raise EngineFailed(f"the trial left no report: {last[0]}; try again") from error
    assert isinstance(values, dict), "the supervisor writes an object"
    return values


def _cpus(pinning: Pinning) -> tuple[frozenset[int], frozenset[int]]:
    """Choose the engine's and the subject's CPUs, as a room does: the first and the last one."""
    available = sorted(os.sched_getaffinity(0))
    engine = parse_cpus(pinning.engine_cpus) if pinning.engine_cpus else {available[0]}
    subject = parse_cpus(pinning.subject_cpus) if pinning.subject_cpus else {available[-1]}
    return frozenset(engine), frozenset(subject)


@contextlib.contextmanager
def _own_cpus(cpus: frozenset[int]) -> Iterator[None]:
    """Stay on the engine's CPUs: what feeds a client must not take its time."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def _home() -> Iterator[str]:
    """Make a home folder for the client; at its end, end whoever lives there still, and remove it.

    That is the supervisor's work, and somebody else's only when the supervisor was killed.
    """
    with storage_errors("making a home folder for the client: cannot write"):
        home = tempfile.mkdtemp(prefix="httpdyno-live-")
    try:
        yield home
    finally:
        if Path(home).exists():
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    if f"HOME={home}".encode() in (process / "environ").read_bytes().split(b"\0"):
                        os.kill(int(process.name), signal.SIGKILL)
            shutil.rmtree(home, ignore_errors=True)


def _count(urls: ScratchFile) -> int:
    with urls.path.open("rb") as lines:
        return sum(1 for line in lines if line.strip())
