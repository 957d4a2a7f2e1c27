"""Runs one room: starts the engine with its files, waits for its end, reads its report."""

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from httpdyno.errors import EngineFailed, Interrupted
from httpdyno.installation import RENEW_ENGINE
from httpdyno.lab.engine import engine_refusal, start_engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Observer, ProgressReader, SilenceWatch
from httpdyno.lab.room import RoomFile, RoomSpec
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import TrialFiles
from httpdyno.model import format_exact

TRANSCRIPTS: Final = "transcripts"
"""Name of the file with the transcripts of a script."""
_TICK_MS: Final = 100
_PREPARING_S: Final = 300.0
"""Limit for the engine to start the subject: it creates the room, and computes the hosts of the list."""
_PREPARING_S_PER_MIB: Final = 60.0
"""Additional time for each MiB of the list, some 40,000 URLs: 20 times what a slow machine takes."""
_GRACE_S: Final = 30.0
"""Limit for the engine to remove the room after the deadline of the subject."""
_STOP_S: Final = 10.0
"""Limit for the engine to end the subject and remove the room after the signal to stop."""
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

    The calling thread must live until the end: the engine dies with the thread that started it. ``lines`` are the
    subject's standard input; ``answers_lines``: it prints a line for each, so that silences are reported. The caller
    closes the result, whose report says how the subject ended; that is not an error. Raises ``Interrupted`` if the user
    stops the trial; with ``keep_stopped`` only if it left no report. Raises ``EngineFailed`` without a report.
    """
    with contextlib.ExitStack() as kept, contextlib.ExitStack() as dropped:
        stdout, stderr, arrivals, driver = (kept.enter_context(ScratchFile()) for _ in range(4))
        report, own, peer = (dropped.enter_context(ScratchFile()) for _ in range(3))
        reading, writing = os.pipe()
        dropped.callback(os.close, reading)
        files: dict[RoomFile, ScratchFile] = {"stdin": lines, "stdout": stdout, "stderr": stderr, "report": report}
        files |= {"arrivals": arrivals, "driver-output": driver, "peer-output": peer}
        if spec.script:
            files["scripts"] = scripts = dropped.enter_context(ScratchFile())
            scripts.write([spec.script.encode()])
            files["transcripts"] = kept.enter_context(ScratchFile())
        try:
            process = start_engine(
                spec.argv(engine, {name: file.path for name, file in files.items()}, writing),
                stdin=subprocess.DEVNULL,
                stdout=own.file,
                stderr=own.file,
                pass_fds=[*(file.descriptor for file in files.values()), writing],
                # Ctrl-C in a terminal reaches only this process, which then ends the trial cleanly.
                process_group=0,
            )
        finally:
            os.close(writing)
        deadline_s = spec.condition.deadline_s
        silence = SilenceWatch(stdout.path, lines.path, deadline_s) if answers_lines else None
        watched = dropped.enter_context(stdout.path.open("rb")) if observer and observer.wants_output else None
        watch = _EngineWatch(process, reading, watched, observer, silence)
        list_mib = os.fstat(lines.descriptor).st_size / 2**20
        preparing_s = _PREPARING_S + _PREPARING_S_PER_MIB * list_mib
        overdue = watch.until_end(interruption, preparing_s, deadline_s + _GRACE_S + _STOP_S)
        if interruption.requested and not (keep_stopped and report.read_text()):
            raise Interrupted("interrupted during a trial")
        if overdue:
            raise EngineFailed(
                f"the engine {overdue} and was killed;"
                " try again when this machine is less busy, and see: httpdyno doctor"
            )
        values = _read_report(report, own, process.returncode)
        output = TrialFiles(values, stdout, stderr, arrivals, driver, said=own.last_words())
        if spec.script:
            output.more[TRANSCRIPTS] = files["transcripts"]
        kept.pop_all()
        return output


def _read_report(report: ScratchFile, own: ScratchFile, status: int) -> dict[str, Any]:
    """Return the engine's report; its exit status does not indicate a failure, because it is that of the subject."""
    try:
        values = json.loads(report.read_text())
    except ValueError as error:
        raise EngineFailed(f"the engine failed: {engine_refusal(own.read_text(), status)}") from error
    if not isinstance(values, dict):
        raise EngineFailed(f"the engine's report is not a JSON object; {RENEW_ENGINE}")
    return values


@dataclass(slots=True)
class _EngineWatch:
    """Waits for the engine, which leads a process group, and forwards its progress and the subject's output."""

    process: "subprocess.Popen[bytes]"
    reading: int
    """Descriptor of its progress, which the caller closes."""
    output: IO[bytes] | None
    """Output of the subject; None: it is not observed."""
    observer: Observer | None
    silence: SilenceWatch | None
    started: bool = False
    """Whether the engine has reported that the subject runs."""
    reader: ProgressReader = field(default_factory=ProgressReader)

    def until_end(self, interruption: Interruption, preparing_s: float, running_s: float) -> str | None:
        """Wait until the engine has ended, or kill it; return the step that timed out, None if it ended by itself."""
        poll, exit_descriptor = select.poll(), os.pidfd_open(self.process.pid)
        for descriptor in (self.reading, exit_descriptor):
            poll.register(descriptor, select.POLLIN)
        kill_at = time.monotonic() + preparing_s
        counting = stopping = False
        try:
            while self.process.poll() is None:
                for descriptor, _ in poll.poll(_TICK_MS):
                    if descriptor == self.reading and not self._pass_progress():
                        poll.unregister(self.reading)
                self._pass_output()
                if self.started and not counting and not stopping:
                    counting = True
                    kill_at = time.monotonic() + running_s
                if interruption.requested and not stopping:
                    stopping = True
                    kill_at = min(kill_at, time.monotonic() + _STOP_S)
                    self.process.send_signal(signal.SIGTERM)
                if interruption.urgent or time.monotonic() > kill_at:
                    if self.started:
                        return f"did not end within {format_exact(running_s)} s of the subject's start"
                    return f"did not start the subject within {preparing_s:.0f} s"
            self._pass_output()
            return None
        finally:
            os.close(exit_descriptor)
            if self.process.returncode is None:
                # Everything in the room dies with the engine.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()

    def _pass_progress(self) -> bool:
        piece = os.read(self.reading, _PIPE_PIECE)
        for progress in self.reader.feed(piece):
            self.started = self.started or progress.phase != "preparing"
            if self.observer:
                self.observer.progress(progress)
        return bool(piece)

    def _pass_output(self) -> None:
        """Forward the subject's new output, or its silence."""
        if self.observer and self.output and (piece := self.output.read()):
            self.observer.output(piece)
        if self.observer and self.silence and self.started and (silence := self.silence.look(time.monotonic())):
            self.observer.silent(silence)
