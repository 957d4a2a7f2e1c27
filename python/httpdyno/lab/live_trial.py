"""Runs one trial on the real internet, without a room: feeds the client, and gathers what it left."""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from httpdyno.errors import EngineFailed, Interrupted
from httpdyno.lab import live_supervisor
from httpdyno.lab.answered_lines import AnsweredLines
from httpdyno.lab.host_limit import HostLimit
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.progress import Progress
from httpdyno.lab.room import Command, Machine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial import Observer
from httpdyno.model import Condition, parse_cpus
from httpdyno.storage import storage_errors

__all__ = ["LiveEvidence", "run_live_trial"]

_TICK_MS: Final = 100
_NEWS_S: Final = 0.2
_BLOCK_BYTES: Final = select.PIPE_BUF
"""What a pipe takes whole or not at all."""
_OUTPUT_PIPE_BYTES: Final = 1024 * 1024
_PIPE_PIECE: Final = 65536
_GRACE_S: Final = live_supervisor.GRACE_S + 10.0
"""How much longer than the deadline a trial may take: the client is asked to end, killed, and counted."""
_SILENCE_S: Final = 10.0
"""Beside two timeouts: how long a client may print nothing while others wait for the answers that it owes."""
_ENVIRONMENT: Final = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "DENO_TLS_CA_STORE": "system",
    "DENO_NO_UPDATE_CHECK": "1",
    "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
}
"""As in a room, but with the trust of the machine itself; runtimes call nobody's home."""
_START_S: Final = 60.0
"""The same before its first line: a runtime takes its time to start on a busy machine."""
_STOP: Final = b"."


@dataclass(slots=True)
class LiveEvidence:
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
    machine: Machine,
    command: Command,
    urls: ScratchFile,
    interruption: Interruption,
    observer: Observer | None = None,
) -> LiveEvidence:
    """Run one fresh process of a client on this machine itself.

    The client is pinned; this process moves to the engine's CPUs meanwhile. Names, certificates and connections are
    those of the real internet.

    Parameters
    ----------
    condition, machine, command
        What is measured, on which CPUs, and how the client is started.
    urls : ScratchFile
        The list. Lines of a host that has as many in flight as the condition allows are held back.
    interruption : Interruption
        Looked at ten times a second.
    observer : Observer, optional
        Sees the progress, and the output if it wants to.

    Returns
    -------
    LiveEvidence
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
        engine_cpus, subject_cpus = _cpus(machine)
        lines = dropped.enter_context(urls.path.open("rb"))
        limit = HostLimit(
            (stripped for line in lines if (stripped := line.strip())),
            per_host=condition.per_host,
            interval_ns=round(condition.per_host_interval_s * 1e9),
        )
        dropped.enter_context(_own_cpus(engine_cpus))
        home = dropped.enter_context(_home())
        trial = _Trial(limit, stdout.file, observer, expected=_count(urls), timeout_s=condition.workload.timeout_s)
        settings = {
            "report": report.descriptor,
            "engine_cpus": sorted(engine_cpus),
            "subject_cpus": sorted(subject_cpus),
            "deadline_s": condition.deadline_s,
            "folder": str(command.folder),
            "home": home,
            "environment": {**_ENVIRONMENT, **command.environment, "HOME": home, "TMPDIR": home},
        }
        dropped.callback(trial.close)
        trial.start(settings, command.argv, stderr)
        overdue = not trial.until_end(interruption, condition.deadline_s + _GRACE_S)
        if interruption.requested:
            raise Interrupted("interrupted during a trial")
        if overdue:
            raise EngineFailed("the trial did not come to an end at its deadline; its processes were killed")
        evidence = LiveEvidence(_read_report(report, stderr), stdout, stderr, trial.withheld, limit.in_flight)
        kept.pop_all()
        return evidence


def _read_report(report: ScratchFile, stderr: ScratchFile) -> dict[str, Any]:
    try:
        values = json.loads(report.read_text())
    except ValueError as error:
        last = stderr.read_text(4096).strip().splitlines()[-1:] or ["it says nothing"]
        raise EngineFailed(f"the trial left no report: {last[0]}") from error
    assert isinstance(values, dict), "the supervisor writes an object"
    return values


def _cpus(machine: Machine) -> tuple[frozenset[int], frozenset[int]]:
    """Choose the engine's and the subject's CPUs, as a room does: the first and the last one."""
    available = sorted(os.sched_getaffinity(0))
    engine = parse_cpus(machine.engine_cpus) if machine.engine_cpus else {available[0]}
    subject = parse_cpus(machine.subject_cpus) if machine.subject_cpus else {available[-1]}
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


class _Trial:
    """A client that runs under its supervisor, the pipes to and from it, and the clock of its progress."""

    def __init__(
        self, limit: HostLimit, output: IO[bytes], observer: Observer | None, *, expected: int, timeout_s: float
    ) -> None:
        self.withheld: str | None = None
        self._limit = limit
        self._output = output
        self._observer = observer
        self._expected = expected
        self._two_timeouts_s = 2 * timeout_s
        self._answers = AnsweredLines(limit.answered)
        self._process: subprocess.Popen[bytes] | None = None
        self._began = self._active = self._told = time.monotonic()
        self._block = b""
        self._feed: int | None = None
        self._results: int | None = None
        self._leash: int | None = None

    def start(self, settings: dict[str, Any], argv: tuple[str, ...], stderr: ScratchFile) -> None:
        """Start the client; what it is given and what it prints goes through pipes."""
        stdin, self._feed = os.pipe()
        self._results, stdout = os.pipe()
        leash, self._leash = os.pipe()
        try:
            with contextlib.suppress(OSError):  # a smaller one does, too
                fcntl.fcntl(stdout, fcntl.F_SETPIPE_SZ, _OUTPUT_PIPE_BYTES)
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-I", "-S", live_supervisor.__file__),
                    json.dumps({**settings, "leash": leash}),
                    *argv,
                ],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr.file,
                pass_fds=[leash, settings["report"]],
                # Ctrl-C in a terminal reaches this process only, which then ends the trial in order.
                process_group=0,
            )
        except OSError as error:
            raise EngineFailed(f"{sys.executable} cannot be started: {error.strerror}") from error
        finally:
            for descriptor in (stdin, stdout, leash):
                os.close(descriptor)
        os.set_blocking(self._feed, False)
        os.set_blocking(self._results, False)
        self._began = self._active = self._told = time.monotonic()

    def until_end(self, interruption: Interruption, longest_s: float) -> bool:
        """Feed, read and wait until the client has ended and everything that it printed is read.

        Returns
        -------
        bool
            False when that did not happen in time, or nobody wants to wait for it.
        """
        assert self._process is not None
        assert self._leash is not None
        kill_at, stopping = self._began + longest_s, False
        # What a supervisor leaves that was killed may hold the pipe for ever.
        while (status := self._process.poll()) is None or (status == 0 and self._results is not None):
            if interruption.requested and not stopping:
                stopping = True
                kill_at = min(kill_at, time.monotonic() + _GRACE_S)
                with contextlib.suppress(BrokenPipeError):
                    os.write(self._leash, _STOP)
            if interruption.urgent or time.monotonic() > kill_at:
                return False
            self._step()
        self._tell("done")
        return True

    def close(self) -> None:
        """End what is still there."""
        for name in ("_leash", "_feed", "_results"):
            self._close(name)
        if self._process is not None:
            # The supervisor kills and reaps all that there is as soon as its pipe closes.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
            self._process.kill()
            self._process.wait()

    def _step(self) -> None:
        """Hand out what may go, wait for what happens next, read what was printed."""
        self._fill()
        poll = select.poll()
        if self._results is not None:
            poll.register(self._results, select.POLLIN)
        if self._feed is not None:
            # Without anything to write it still tells when the client closes its end.
            poll.register(self._feed, select.POLLOUT if self._block else 0)
        for descriptor, event in poll.poll(self._pause_ms()):
            if descriptor == self._results:
                self._read()
            elif event & select.POLLERR:
                self._close("_feed")
            else:
                self._write()
        if time.monotonic() >= self._told + _NEWS_S:
            self._tell("running")

    def _pause_ms(self) -> float:
        next_at_ns = self._limit.next_at_ns
        if self._feed is None or self._block or next_at_ns is None:
            return _TICK_MS
        return min(max((next_at_ns - time.monotonic_ns()) / 1e6, 0.0), _TICK_MS)

    def _fill(self) -> None:
        """Put lines that may go into the next block; end the list when there are no more."""
        if self._feed is None:
            return
        while len(self._block) < _BLOCK_BYTES // 2:
            line = self._limit.take(time.monotonic_ns())
            if line is None:
                break
            self._block += line + b"\n"
            self._active = time.monotonic()
        if self._block:
            return
        if self._limit.finished:
            self._close("_feed")
        elif self._limit.next_at_ns is None and time.monotonic() > self._active + self._longest_silence_s:
            owed, silent_s = self._limit.in_flight, time.monotonic() - self._active
            self.withheld = (
                f"printed nothing for {silent_s:.0f} s while it owed {owed} answer{'' if owed == 1 else 's'};"
                f" {'its host was' if owed == 1 else 'their hosts were'} asked for nothing more"
            )
            self._close("_feed")

    @property
    def _longest_silence_s(self) -> float:
        return self._two_timeouts_s + (_SILENCE_S if self._answers.rows else _START_S)

    def _write(self) -> None:
        assert self._feed is not None
        try:
            self._block = self._block[os.write(self._feed, self._block) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._close("_feed")

    def _read(self) -> None:
        assert self._results is not None
        piece = os.read(self._results, _PIPE_PIECE)
        if not piece:
            self._close("_results")
            return
        with storage_errors("keeping what the client prints: cannot write"):
            self._output.write(piece)
            self._output.flush()
        self._answers.feed(piece)
        self._active = time.monotonic()
        if self._observer and self._observer.wants_output:
            self._observer.output(piece)

    def _tell(self, phase: str) -> None:
        self._told = time.monotonic()
        if self._observer:
            elapsed_ns = round((self._told - self._began) * 1e9)
            self._observer.progress(Progress(phase, elapsed_ns, self._answers.rows, self._expected, 0))

    def _close(self, name: str) -> None:
        descriptor = getattr(self, name)
        if descriptor is not None:
            setattr(self, name, None)
            os.close(descriptor)
