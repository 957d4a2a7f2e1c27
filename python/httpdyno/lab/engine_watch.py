"""Waits for the engine while a trial runs: passes on what it tells, and ends it when it is overdue."""

import contextlib
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Observer
from httpdyno.lab.progress import ProgressReader, parse_progress
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.silence import SilenceWatch
from httpdyno.model import format_exact

__all__ = ["EngineWatch", "Limits"]

_TICK_MS: Final = 100
_PREPARING_S: Final = 300.0
"""How long the engine may take until the subject starts: it makes the room, and draws the hosts of the list."""
_PREPARING_S_PER_MIB: Final = 60.0
"""How much longer for each MiB of the list, some 40,000 URLs: 20 times what was seen on a slow machine."""
_GRACE_S: Final = 30.0
"""How much longer than the deadline of the subject the engine may take: it clears the room after."""
_STOP_S: Final = 10.0
"""How long the engine may take to end the subject and clear the room once it is told to stop."""
_PIPE_PIECE: Final = 65536


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
        """Keep who is waited for.

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
        """Whether the engine has told that the subject runs."""

    def until_end(self, interruption: Interruption, limits: Limits) -> str | None:
        """Wait until the engine has ended, or kill it; return what it did not do in time, None if it ended itself."""
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
                self._tell_silence()
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
