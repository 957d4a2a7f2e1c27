"""A server subject as a process on this machine's loopback, and requests to it."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Final

from httpdyno.errors import Interrupted
from httpdyno.judge.conformance import Answer, Request
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.scratch import ScratchFile
from httpdyno.subjects.build import Build
from httpdyno.subjects.cache import program_path

_HOST: Final = "127.0.0.1"
_LONGEST_START_S: Final = 120.0
_PATIENCE_S: Final = 2.0
"""Time between SIGTERM and SIGKILL, as in a room."""
_PAUSE_S: Final = 0.02
_LEASH: Final = ("setpriv", "--pdeathsig", "TERM") if shutil.which("setpriv") else ()
"""Ends the server when this process is killed."""


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server."""

    process: subprocess.Popen[bytes]
    host: str
    port: str
    printed: ScratchFile

    @property
    def output(self) -> str:
        """Its output so far."""
        return self.printed.read_text()

    def ready(self, interruption: Interruption) -> bool:
        """Wait until it answers; return False if it ends, or does not answer within two minutes."""
        deadline = time.monotonic() + _LONGEST_START_S
        while self.process.poll() is None and time.monotonic() < deadline:
            if interruption.requested:
                raise Interrupted("interrupted while a server was starting")
            if self.send(Request("/plain")) is not None:
                return True
            time.sleep(_PAUSE_S)
        return False

    def send(self, request: Request, *, timeout_s: float = 60.0) -> Answer | None:
        """Send a request on a new connection; return None without an answer."""
        connection = HTTPConnection(self.host, int(self.port), timeout=timeout_s)
        start = time.monotonic()
        try:
            connection.request(request.method, request.path, body=request.content)
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


@contextlib.contextmanager
def start_server(build: Build, settings: Mapping[str, str]) -> Iterator[ServerProcess]:
    """Start a server in a session of its own; end it, and every process that it started, with the ``with`` block.

    ``settings`` are variables of the contract; the default of ``PORT`` is a free port.
    """
    with socket.socket() as place, ScratchFile() as printed:
        # Bound without listening: no other program gets the port. The server shares it, as all set SO_REUSEADDR.
        place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        place.bind((_HOST, 0))
        given = {"HOST": _HOST, "PORT": str(place.getsockname()[1]), **settings}
        process = subprocess.Popen(
            [*_LEASH, *build.argv],
            cwd=build.folder,
            env={"PATH": program_path(), **build.environment, **given},
            stdin=subprocess.DEVNULL,
            stdout=printed.file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        server = ServerProcess(process, given["HOST"], given["PORT"], printed)
        try:
            yield server
        finally:
            server.end()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
