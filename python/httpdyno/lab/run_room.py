"""Runs one room: starts the engine with its files, waits for its end, reads its report."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from httpdyno.errors import EngineFailed, Interrupted
from httpdyno.installation import RENEW_ENGINE
from httpdyno.lab.engine import engine_refusal
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Observer, ProgressReader, SilenceWatch, parse_progress
from httpdyno.lab.room import RoomFiles, RoomSpec
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import TrialFiles
from httpdyno.model import format_exact

_TICK_MS: Final = 100
_PREPARING_S: Final = 300.0
"""How long the engine may take until the subject starts: it makes the room, and draws the hosts of the list."""
_PREPARING_S_PER_MIB: Final = 60.0
"""How much longer for each MiB of the list, some 40,000 URLs: 20 times what was seen on a slow machine."""
_GRACE_S: Final = 30.0
"""How much longer than the deadline of the subject the engine may take: it clears the room after."""
_STOP_S: Final = 10.0
"""How long the engine may take to end the subject and clear the room after the signal to stop."""
_PIPE_PIECE: Final = 65536


def run_room(
    engine: Path,
    spec: RoomSpec,
    lines: ScratchFile,
    interruption: Interruption,
    observer: Observer | None = None,
    *,
    answers_lines: bool = False,
    keep_stopped: bool = False,
) -> TrialFiles:
    """Run one fresh process of a subject in a fresh room.

    Must be called in the main thread: the engine dies with the thread that started it. ``lines`` are the subject's
    standard input; ``answers_lines``: it prints one for each, so that a silence is worth a word. The caller closes what
    is returned; however the subject ended is in its report: that is no error. ``Interrupted`` is raised when the user
    stops it; ``keep_stopped``: only if it left no report.
    """
    with contextlib.ExitStack() as kept, contextlib.ExitStack() as dropped:
        stdout, stderr, arrivals, driver = (kept.enter_context(ScratchFile()) for _ in range(4))
        report, own, peer = (dropped.enter_context(ScratchFile()) for _ in range(3))
        reading, writing = os.pipe()
        dropped.callback(os.close, reading)
        files = RoomFiles(
            stdin=lines.path,
            stdout=stdout.path,
            stderr=stderr.path,
            report=report.path,
            arrivals=arrivals.path,
            progress_descriptor=writing,
            driver_output=driver.path,
            peer_output=peer.path,
        )
        try:
            inherited = [file.descriptor for file in (lines, stdout, stderr, report, arrivals, driver, peer)]
            process = _start(spec.argv(engine, files), [*inherited, writing], own)
        finally:
            os.close(writing)
        silence = SilenceWatch(stdout.path, lines.path, spec.deadline_s) if answers_lines else None
        watch = EngineWatch(process, reading, stdout.path, observer, silence)
        overdue = watch.until_end(interruption, Limits.of(spec.deadline_s, lines))
        if interruption.requested and not (keep_stopped and report.read_text()):
            raise Interrupted("interrupted during a trial")
        if overdue:
            raise EngineFailed(
                f"the engine {overdue} and was killed;"
                " try again when this machine has less to do, and look at: httpdyno doctor"
            )
        values = _read_report(report, own, process.returncode)
        output = TrialFiles(values, stdout, stderr, arrivals, driver, said=own.last_words())
        kept.pop_all()
        return output


def _start(argv: list[str], descriptors: list[int], own: ScratchFile) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=own.file,
            stderr=own.file,
            pass_fds=descriptors,
            # Ctrl-C in a terminal reaches this process only, which then ends the trial in order.
            process_group=0,
        )
    except OSError as error:
        raise EngineFailed(f"the engine {argv[0]} cannot be started: {error.strerror}; {RENEW_ENGINE}") from error


def _read_report(report: ScratchFile, own: ScratchFile, status: int) -> dict[str, Any]:
    """Return the engine's report; refuse when it left none.

    Its exit status alone says nothing: a subject may end with any status, and the engine passes it on.
    """
    try:
        values = json.loads(report.read_text())
    except ValueError as error:
        raise EngineFailed(f"the engine failed: {engine_refusal(own.read_text(), status)}") from error
    if not isinstance(values, dict):
        raise EngineFailed(f"the engine's report is no JSON object; {RENEW_ENGINE}")
    return values


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the engine may take: until the subject starts, and from then on."""

    preparing_s: float
    running_s: float

    @classmethod
    def of(cls, deadline_s: float, lines: ScratchFile) -> Self:
        """Return how long it may take for a subject with a deadline and a list."""
        list_mib = os.fstat(lines.descriptor).st_size / 2**20
        return cls(_PREPARING_S + _PREPARING_S_PER_MIB * list_mib, deadline_s + _GRACE_S + _STOP_S)


class EngineWatch:
    """Waits for the engine while passing on its progress and the subject's output."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        reading: int,
        output: Path,
        observer: Observer | None,
        silence: SilenceWatch | None = None,
    ) -> None:
        """Keep the engine's process.

        The engine has a process group of its own. ``reading``, the descriptor at which it tells its progress, stays the
        caller's. ``silence`` looks whether lines come; None: none are due.
        """
        self._process = process
        self._reading = reading
        self._observer = observer
        self._silence = silence
        self._reader = ProgressReader(parse_progress)
        self._output = output.open("rb") if observer and observer.wants_output else None
        self._started = False
        """Whether the engine has reported that the subject runs."""

    def until_end(self, interruption: Interruption, limits: Limits) -> str | None:
        """Wait until the engine has ended, or kill it; return the step that timed out, None if it ended itself."""
        poll = select.poll()
        poll.register(self._reading, select.POLLIN)
        exit_descriptor = os.pidfd_open(self._process.pid)
        poll.register(exit_descriptor, select.POLLIN)
        kill_at = time.monotonic() + limits.preparing_s
        counting = stopping = False
        try:
            while self._process.poll() is None:
                for descriptor, _ in poll.poll(_TICK_MS):
                    if descriptor == self._reading and not self._pass_progress():
                        poll.unregister(self._reading)
                self._pass_output()
                self._tell_silence()
                if self._started and not counting and not stopping:
                    counting = True
                    kill_at = time.monotonic() + limits.running_s
                if interruption.requested and not stopping:
                    stopping = True
                    kill_at = min(kill_at, time.monotonic() + _STOP_S)
                    self._process.send_signal(signal.SIGTERM)
                if interruption.urgent or time.monotonic() > kill_at:
                    return self._overdue(limits)
            self._pass_output()
            return None
        finally:
            os.close(exit_descriptor)
            if self._process.returncode is None:
                # Everything in the room dies with the engine.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
            if self._output:
                self._output.close()

    def _overdue(self, limits: Limits) -> str:
        if self._started:
            return f"did not end within {format_exact(limits.running_s)} s of the subject's start"
        return f"did not start the subject within {limits.preparing_s:.0f} s"

    def _pass_progress(self) -> bool:
        piece = os.read(self._reading, _PIPE_PIECE)
        for progress in self._reader.feed(piece):
            self._started = self._started or progress.phase != "preparing"
            if self._observer:
                self._observer.progress(progress)
        return bool(piece)

    def _tell_silence(self) -> None:
        if self._started and self._observer and self._silence:
            silence = self._silence.look(time.monotonic())
            if silence:
                self._observer.silent(silence)

    def _pass_output(self) -> None:
        if self._output and self._observer and (piece := self._output.read()):
            self._observer.output(piece)
