"""A client that runs under its supervisor: what goes to it, and what comes from it, through pipes."""

import contextlib
import fcntl
import json
import os
import select
import subprocess
import sys
import time
from typing import IO, Any, Final

from httpdyno.errors import EngineFailed
from httpdyno.lab import live_supervisor
from httpdyno.lab.answered_lines import AnsweredLines
from httpdyno.lab.host_limit import HostLimit
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Observer
from httpdyno.lab.progress import Progress
from httpdyno.lab.scratch import ScratchFile
from httpdyno.storage import storage_errors

__all__ = ["GRACE_S", "FedClient"]

_TICK_MS: Final = 100
_NEWS_S: Final = 0.2
_BLOCK_BYTES: Final = select.PIPE_BUF
"""What a pipe takes whole or not at all."""
_OUTPUT_PIPE_BYTES: Final = 1024 * 1024
_PIPE_PIECE: Final = 65536
GRACE_S: Final = live_supervisor.GRACE_S + 30.0
"""How much longer than the deadline a trial may take: the client is asked to end, killed, and counted."""
_SILENCE_S: Final = 10.0
"""Beside two timeouts: how long a client may print nothing while others wait for the answers that it owes."""
_START_S: Final = 60.0
"""The same before its first line: a runtime takes its time to start on a busy machine."""
_STOP: Final = b"."


class FedClient:
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
        # What is left by a supervisor that was killed may hold the pipe for ever.
        while (status := self._process.poll()) is None or (status == 0 and self._results is not None):
            if interruption.requested and not stopping:
                stopping = True
                kill_at = min(kill_at, time.monotonic() + GRACE_S)
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
                self._process.wait(GRACE_S)
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
