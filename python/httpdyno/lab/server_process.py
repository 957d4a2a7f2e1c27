"""Server of the contract as a process on this machine's loopback, and requests to it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import Final, Self

from httpdyno.errors import Interrupted
from httpdyno.judge.conformance import Answer, Ask
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.scratch import ScratchFile
from httpdyno.subjects.build import Build
from httpdyno.subjects.cache import program_path

_HOST: Final = "127.0.0.1"
_LONGEST_START_S: Final = 120.0
_PATIENCE_S: Final = 2.0
"""Between SIGTERM and SIGKILL, as in a room."""
_PAUSE_S: Final = 0.02
_LEASH: Final = ("setpriv", "--pdeathsig", "TERM") if shutil.which("setpriv") else ()
"""Ends the server when this process is killed."""


class ServerProcess:
    """A server in a session of its own, which ends with the ``with`` block.

    ``settings`` are variables of the contract; the default of ``PORT`` is a free port.
    """

    def __init__(self, build: Build, settings: Mapping[str, str]) -> None:
        self._build = build
        self._settings = settings
        self._opened = contextlib.ExitStack()

    def __enter__(self) -> Self:
        """Start it."""
        with contextlib.ExitStack() as opened:
            # Bound without listening: no other program gets the port. The server shares it, as all set SO_REUSEADDR.
            place = opened.enter_context(socket.socket())
            place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            place.bind((_HOST, 0))
            given = {"HOST": _HOST, "PORT": str(place.getsockname()[1]), **self._settings}
            self._host, self.port = given["HOST"], given["PORT"]
            self._printed = opened.enter_context(ScratchFile())
            self.process = subprocess.Popen(
                [*_LEASH, *self._build.argv],
                cwd=self._build.folder,
                env={"PATH": program_path(), **self._build.environment, **given},
                stdin=subprocess.DEVNULL,
                stdout=self._printed.file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._opened = opened.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        """End it, and every process that it started."""
        with self._opened:
            self.end()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)

    @property
    def said(self) -> str:
        """The text that it has printed."""
        return self._printed.read_text()

    def ready(self, interruption: Interruption) -> bool:
        """Wait until it answers; return False if it ends, or does not answer within two minutes."""
        deadline = time.monotonic() + _LONGEST_START_S
        while self.process.poll() is None and time.monotonic() < deadline:
            if interruption.requested:
                raise Interrupted("interrupted while a server was starting")
            if self.ask(Ask("/plain")) is not None:
                return True
            time.sleep(_PAUSE_S)
        return False

    def ask(self, ask: Ask, *, timeout_s: float = 60.0) -> Answer | None:
        """Send a request on a connection of its own; return None without an answer."""
        connection = HTTPConnection(self._host, int(self.port), timeout=timeout_s)
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

    def end(self, *, patience_s: float = _PATIENCE_S) -> int:
        """Send SIGTERM and, after the patience, SIGKILL; return its exit status, below 0 if a signal ended it."""
        self.process.terminate()
        return self.status(patience_s)

    def status(self, within_s: float) -> int:
        """Wait for its end, and kill it after that time; return its exit status."""
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
