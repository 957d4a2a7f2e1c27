"""A server of the contract as a process on this machine's loopback, and the requests that it is sent."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from types import TracebackType
from typing import IO, Final, Self

from httpdyno.errors import Interrupted
from httpdyno.judge.conformance import Answer, Ask
from httpdyno.lab.interruption import Interruption
from httpdyno.subjects.build import Build
from httpdyno.subjects.cache import program_path

_HOST: Final = "127.0.0.1"
_LONGEST_START_S: Final = 120.0
_PATIENCE_S: Final = 2.0
"""Between SIGTERM and SIGKILL, as in a room."""
_PAUSE_S: Final = 0.02
_LEASH: Final = ("setpriv", "--pdeathsig", "TERM") if shutil.which("setpriv") else ()
"""Ends the server when this process dies of what it cannot answer."""


class ServerProcess:
    """A server, in a session of its own that ends with the ``with`` block, however that is left.

    ``settings`` are variables of the contract; ``HOST`` and ``PORT`` are chosen here unless they are given.
    """

    def __init__(self, build: Build, settings: Mapping[str, str]) -> None:
        self._build = build
        self._place = _reserved_place()
        given = {"HOST": _HOST, "PORT": str(self._place.getsockname()[1]), **settings}
        self._environment = {"PATH": program_path(os.environ), **build.environment, **given}
        self._host, self._port = given["HOST"], given["PORT"]
        self._process: subprocess.Popen[bytes] | None = None
        self._said: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Start it."""
        self._said = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [*_LEASH, *self._build.argv],
            cwd=self._build.folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it, and every process that it started."""
        self.end()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._running.pid, signal.SIGKILL)
        self._place.close()
        if self._said is not None:
            self._said.close()

    @property
    def said(self) -> str:
        """What it has printed."""
        assert self._said is not None
        return os.pread(self._said.fileno(), 1 << 20, 0).decode(errors="replace")

    @property
    def port(self) -> str:
        """Where it listens."""
        return self._port

    @property
    def group(self) -> int:
        """The process group of everything it started."""
        return self._running.pid

    def ready(self, interruption: Interruption) -> bool:
        """Wait until it answers; False when it ends instead, or does not answer within two minutes."""
        deadline = time.monotonic() + _LONGEST_START_S
        while self._running.poll() is None and time.monotonic() < deadline:
            if interruption.requested:
                raise Interrupted("interrupted while a server was starting")
            if self.ask(Ask("/plain")) is not None:
                return True
            time.sleep(_PAUSE_S)
        return False

    def ask(self, ask: Ask, *, timeout_s: float = 60.0) -> Answer | None:
        """Send a request on a connection of its own; None when there is no answer."""
        connection = HTTPConnection(self._host, int(self._port), timeout=timeout_s)
        start = time.monotonic()
        try:
            connection.request(ask.method, ask.path, body=ask.content)
            response = connection.getresponse()
            content = response.read()
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()
        return Answer(response.status, response.headers.get("Content-Type", ""), content, time.monotonic() - start)

    def end(self, *, patience_s: float = _PATIENCE_S) -> int | None:
        """Send SIGTERM, and at the end of patience SIGKILL; give its exit status, below 0 when a signal ended it."""
        if self._running.poll() is None:
            self._running.terminate()
        return self.status(patience_s)

    def status(self, within_s: float) -> int | None:
        """Wait for its end; give its exit status, and kill it when there is none in time."""
        try:
            return self._running.wait(within_s)
        except subprocess.TimeoutExpired:
            self._running.kill()
            return self._running.wait()

    @property
    def _running(self) -> "subprocess.Popen[bytes]":
        assert self._process is not None
        return self._process


def _reserved_place() -> socket.socket:
    """Bind a free port without listening: no other program gets it; the server shares it, as all set SO_REUSEADDR."""
    place = socket.socket()
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    place.bind((_HOST, 0))
    return place
