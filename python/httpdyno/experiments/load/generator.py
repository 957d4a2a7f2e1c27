"""Runs the engine's load generator once, and reads its report.

Imports little: ``httpdyno load`` must hear the engine as soon as it has started.
"""

import json
import os
import select
import signal
import time
from pathlib import Path
from typing import Any, Final, Protocol

from httpdyno.errors import EngineFailed, Interrupted, InvalidValue, NothingMeasured, StorageFull
from httpdyno.experiments.load.options import LoadOptions
from httpdyno.experiments.load.progress import LoadProgress, parse_load_progress
from httpdyno.experiments.load.started import StartedLoad, start_load
from httpdyno.installation import RENEW_ENGINE
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.progress import ProgressReader
from httpdyno.lab.scratch import ScratchFile

__all__ = ["LoadObserver", "LoadReport", "run_load", "watch_load"]

LoadReport = dict[str, Any]
"""The engine's report of one load, version 1: docs/reference/load-report.md."""

REPORT_VERSION: Final = 1
_TICK_MS: Final = 100
_PIPE_PIECE: Final = 65536
_SILENCE_S: Final = 60.0
"""The engine tells of its progress five times a second: after so long without a word it hangs."""
_STOP_S: Final = 15.0
"""How long the engine may take to report once it is told to stop."""
_USAGE: Final = 2


class LoadObserver(Protocol):
    """Whoever wants to see a load while it runs."""

    def load_progress(self, progress: LoadProgress) -> None:
        """Handle news of how far the load is."""


def run_load(
    engine: Path, options: LoadOptions, interruption: Interruption, observer: LoadObserver | None = None
) -> LoadReport:
    """Send one load with a fresh process of the engine.

    A wish to stop ends it in order: what was measured until then is reported, with ``interrupted`` set.

    A second wish kills the engine. A load without an answer has no report: it raises ``NothingMeasured``.
    """
    with start_load(str(engine), options.arguments()) as started:
        return watch_load(started, options, interruption, observer)


def watch_load(
    started: StartedLoad, options: LoadOptions, interruption: Interruption, observer: LoadObserver | None = None
) -> LoadReport:
    """Wait for a load that is started already, and read its report: the rest is as with ``run_load``."""
    if hung := _until_end(started, interruption, observer):
        raise EngineFailed(f"the engine {hung} and was killed; try again when this machine has less to do")
    return _read(started, options)


def _until_end(started: StartedLoad, interruption: Interruption, observer: LoadObserver | None) -> str | None:
    """Wait for the engine; say what it did not do in time, None when it has ended by itself."""
    process, reading = started.process, started.progress
    listener = _Listener(reading, observer)
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    exit_descriptor = os.pidfd_open(process.pid)
    poll.register(exit_descriptor, select.POLLIN)
    kill_at = time.monotonic() + _SILENCE_S
    told = False
    try:
        while process.poll() is None:
            for descriptor, _ in poll.poll(_TICK_MS):
                if descriptor == reading and not listener.hears():
                    poll.unregister(reading)
                elif descriptor == reading and not told:
                    kill_at = time.monotonic() + _SILENCE_S
            if interruption.requested and not told:
                told = True
                kill_at = time.monotonic() + _STOP_S
                process.send_signal(signal.SIGTERM)
            if interruption.urgent or time.monotonic() > kill_at:
                return "did not stop when it was told to" if told else f"said nothing for {_SILENCE_S:.0f} s"
        return None
    finally:
        os.close(exit_descriptor)


class _Listener:
    """Passes on what the engine tells."""

    def __init__(self, reading: int, observer: LoadObserver | None) -> None:
        self._reading = reading
        self._observer = observer
        self._reader = ProgressReader(parse_load_progress)

    def hears(self) -> bool:
        """Read what there is; return whether there may be more."""
        piece = os.read(self._reading, _PIPE_PIECE)
        for progress in self._reader.feed(piece):
            if self._observer:
                self._observer.load_progress(progress)
        return bool(piece)


def _read(started: StartedLoad, options: LoadOptions) -> LoadReport:
    status = started.process.returncode
    if status == _USAGE:
        raise InvalidValue(_refusal(started.said, status))
    try:
        values = json.loads(started.report.read_text())
    except ValueError as error:
        if status == -signal.SIGTERM:
            raise Interrupted("interrupted before the load began") from error
        kinds = {kind.exit_code: kind for kind in (NothingMeasured, StorageFull)}
        kind = kinds.get(status, EngineFailed)
        raise kind(f"the load generator: {_refusal(started.said, status)}") from error
    if not isinstance(values, dict) or values.get("version") != REPORT_VERSION:
        raise EngineFailed(f"the load generator's report is not of version {REPORT_VERSION}; {RENEW_ENGINE}")
    if not values.get("requests"):
        raise NothingMeasured(_no_answer(values, options))
    return values


def _refusal(said: ScratchFile, status: int) -> str:
    # Heavy: only who fails pays for it.
    import re

    from httpdyno.lab.engine import engine_refusal

    # What came in by standard input was typed so.
    return re.sub(r"/proc/self/fd/\d+", "-", engine_refusal(said.read_text(), status))


def _no_answer(report: LoadReport, options: LoadOptions) -> str:
    errors = sorted(dict(report.get("errors") or {}).items(), key=lambda error: -error[1])
    still_open = int((report.get("censored") or {}).get("count") or 0)
    told = [f"{count:,} x {name}" for name, count in errors]
    told += [f"{still_open:,} still open at the end"] if still_open else []
    unsent = int(report.get("unsent") or 0)
    told += [f"{unsent:,} due and never sent"] if unsent else []
    asked = f"{options.urls[0]}: " if len(options.urls) == 1 else ""
    # The servers of whoever measures their own often have a certificate of their own, too.
    refused = any(name.startswith("Certificate") for name, _ in errors)
    cure = "; --cacert FILE trusts a certificate, --insecure any" if refused else ""
    return f"{asked}no answer came: {', '.join(told) or 'nothing was sent'}{cure}"
