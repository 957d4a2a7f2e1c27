"""Runs one trial in a room, and gathers what it left."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self

from httpdyno.errors import EngineFailed, Interrupted
from httpdyno.lab.engine import engine_refusal
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.progress import Progress, ProgressReader
from httpdyno.lab.room import Command, Machine, RoomFiles, room_argv
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, format_exact

__all__ = ["Evidence", "Observer", "run_trial"]

_TICK_MS: Final = 100
_PREPARING_S: Final = 60.0
"""How long the engine may take until the subject starts: it makes the room, and draws the hosts of the list."""
_PREPARING_S_PER_MIB: Final = 60.0
"""How much longer for each MiB of the list, some 40,000 URLs: 20 times what was seen on a slow machine."""
_GRACE_S: Final = 30.0
"""How much longer than the deadline of the subject the engine may take: it clears the room after."""
_STOP_S: Final = 10.0
"""How long the engine may take to end the subject and clear the room once it is told to stop."""
_PIPE_PIECE: Final = 65536


class Observer(Protocol):
    """Whoever wants to see a trial while it runs; must be quick, as it runs on the CPUs of the engine."""

    @property
    def wants_output(self) -> bool:
        """Whether what the subject prints is read while it runs."""

    def progress(self, progress: Progress) -> None:
        """Take news of how far the trial is."""

    def output(self, piece: bytes) -> None:
        """Take a piece of what the subject has printed."""


@dataclass(slots=True)
class Evidence:
    """What a trial left: the engine's report, and files that are read by their path until ``close``."""

    report: dict[str, Any]
    stdout: ScratchFile
    stderr: ScratchFile
    arrivals: ScratchFile

    def close(self) -> None:
        """Free the files."""
        for file in (self.stdout, self.stderr, self.arrivals):
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def run_trial(
    engine: Path,
    condition: Condition,
    machine: Machine,
    command: Command,
    urls: ScratchFile,
    interruption: Interruption,
    observer: Observer | None = None,
) -> Evidence:
    """Run one fresh process of a subject in a fresh room.

    Must be called in the main thread: the engine dies with the thread that started it.

    Parameters
    ----------
    engine : Path
        The engine's program.
    condition, machine, command
        What is measured, on which CPUs, and how the subject is started.
    urls : ScratchFile
        Standard input of the subject.
    interruption : Interruption
        Looked at ten times a second.
    observer : Observer, optional
        Sees the progress, and the output if it wants to.

    Returns
    -------
    Evidence
        To be closed by the caller. However the subject ended is in its report: that is no error.

    Raises
    ------
    Interrupted
        If the trial was stopped half-way.
    EngineFailed
        If the engine refuses, fails, or does not come to an end.
    StorageFailed
        If there is no room for the files of the trial.
    """
    with contextlib.ExitStack() as kept, contextlib.ExitStack() as dropped:
        stdout, stderr, arrivals = (kept.enter_context(ScratchFile()) for _ in range(3))
        report, own = (dropped.enter_context(ScratchFile()) for _ in range(2))
        reading, writing = os.pipe()
        dropped.callback(os.close, reading)
        files = RoomFiles(urls.path, stdout.path, stderr.path, report.path, arrivals.path, writing)
        try:
            argv = room_argv(engine, condition, machine, files, command)
            inherited = [file.descriptor for file in (urls, stdout, stderr, report, arrivals)]
            process = _start(argv, [*inherited, writing], own)
        finally:
            os.close(writing)
        watch = _Watch(process, reading, stdout.path, observer)
        overdue = watch.until_end(interruption, _Limits.of(condition, urls))
        if interruption.requested:
            raise Interrupted("interrupted during a trial")
        if overdue:
            raise EngineFailed(f"the engine {overdue}; it was killed")
        evidence = Evidence(_read_report(report, own, process.returncode), stdout, stderr, arrivals)
        kept.pop_all()
        return evidence


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
        raise EngineFailed(f"the engine {argv[0]} cannot be started: {error.strerror}") from error


def _read_report(report: ScratchFile, own: ScratchFile, status: int) -> dict[str, Any]:
    """Give the engine's report; refuse when it left none.

    Its exit status alone says nothing: a subject may end with any status, and the engine passes it on.
    """
    try:
        values = json.loads(report.read_text())
    except ValueError as error:
        raise EngineFailed(f"the engine failed: {engine_refusal(own.read_text(), status)}") from error
    if not isinstance(values, dict):
        raise EngineFailed("the engine's report is no JSON object; build the engine again")
    return values


@dataclass(frozen=True, slots=True)
class _Limits:
    """How long the engine may take: until the subject starts, and from then on."""

    preparing_s: float
    running_s: float

    @classmethod
    def of(cls, condition: Condition, urls: ScratchFile) -> Self:
        list_mib = os.fstat(urls.descriptor).st_size / 2**20
        return cls(_PREPARING_S + _PREPARING_S_PER_MIB * list_mib, condition.deadline_s + _GRACE_S + _STOP_S)


class _Watch:
    """Waits for the engine while passing on its progress and the subject's output."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", reading: int, output: Path, observer: Observer | None
    ) -> None:
        self._process = process
        self._reading = reading
        self._observer = observer
        self._reader = ProgressReader()
        self._output = output.open("rb") if observer and observer.wants_output else None
        self._started = False
        """Whether the engine has told that the subject runs."""

    def until_end(self, interruption: Interruption, limits: _Limits) -> str | None:
        """Wait until the engine has ended, or kill it.

        Returns
        -------
        str or None
            What it did not do in time; None when it has ended by itself.
        """
        poll = select.poll()
        poll.register(self._reading, select.POLLIN)
        exit_descriptor = os.pidfd_open(self._process.pid)
        poll.register(exit_descriptor, select.POLLIN)
        kill_at = time.monotonic() + limits.preparing_s
        counting = told = False
        try:
            while self._process.poll() is None:
                for descriptor, _ in poll.poll(_TICK_MS):
                    if descriptor == self._reading and not self._pass_progress():
                        poll.unregister(self._reading)
                self._pass_output()
                if self._started and not counting and not told:
                    counting = True
                    kill_at = time.monotonic() + limits.running_s
                if interruption.requested and not told:
                    told = True
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

    def _overdue(self, limits: _Limits) -> str:
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

    def _pass_output(self) -> None:
        if self._output and self._observer and (piece := self._output.read()):
            self._observer.output(piece)
