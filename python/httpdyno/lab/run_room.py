"""Runs one room: starts the engine with its files, waits for its end, reads its report."""

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

from httpdyno.errors import EngineFailed, Interrupted
from httpdyno.installation import RENEW_ENGINE
from httpdyno.lab.engine import engine_refusal
from httpdyno.lab.engine_watch import EngineWatch, Limits
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Observer
from httpdyno.lab.room import RoomFiles, RoomSpec
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.silence import SilenceWatch
from httpdyno.lab.trial_files import TrialFiles

__all__ = ["run_room"]


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
    is returned; however the subject ended is in its report: that is no error. ``Interrupted`` is raised when somebody
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
