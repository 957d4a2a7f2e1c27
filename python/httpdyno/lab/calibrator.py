"""A server with known behaviour, as a process of its own."""

import contextlib
import select
import subprocess
import time
from collections.abc import Collection, Sequence
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE
from httpdyno.judge.generator import ServerRecord, read_server_record
from httpdyno.lab.cpus import kept_awake, pinned
from httpdyno.lab.engine import engine_refusal
from httpdyno.lab.scratch import ScratchFile

__all__ = ["Calibrator", "measure_overhead_ns"]

_START_S: Final = 20.0
_END_S: Final = 20.0
_ROUND_TRIPS: Final = 500
_AGAIN: Final = "try again when this machine has less to do"


class Calibrator:
    """The engine's ``calibrator``; it ends with the block, and with this process however that ends."""

    def __init__(self, engine: Path, behaviour: Sequence[str], cpus: Collection[int]) -> None:
        self._report = ScratchFile()
        self._said = ScratchFile()
        argv = [str(engine), "calibrator", "--until-eof", "--report", str(self._report.path), *behaviour]
        try:
            with pinned(cpus):
                self._process = subprocess.Popen(
                    argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._said.file,
                    pass_fds=[self._report.descriptor],
                    # Ctrl-C in a terminal reaches this process only.
                    process_group=0,
                )
        except OSError as error:
            self._free()
            raise EngineFailed(f"the engine {engine} cannot be started: {error.strerror}; {RENEW_ENGINE}") from error
        self.url = self._first_line()

    def stop(self) -> ServerRecord:
        """End it, and return the record of what it did."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            status = self._process.wait(_END_S)
        except subprocess.TimeoutExpired as error:
            raise EngineFailed(f"the engine's calibrator did not end within {_END_S:.0f} s; {_AGAIN}") from error
        if status != 0:
            raise EngineFailed(f"calibrator: {engine_refusal(self._said.read_text(), status)}")
        return read_server_record(self._report.read_text())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kill()

    def _first_line(self) -> str:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], _START_S)
        line = self._process.stdout.readline().decode(errors="replace").strip() if ready else ""
        if not line.startswith("http://"):
            self._process.kill()
            said = engine_refusal(self._said.read_text(), self._process.wait())
            self._kill()
            raise EngineFailed(f"calibrator: {said}")
        return line

    def _kill(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
        self._process.kill()
        self._process.wait()
        self._free()

    def _free(self) -> None:
        self._report.close()
        self._said.close()


def measure_overhead_ns(engine: Path, *, server_cpus: Collection[int], client_cpus: Collection[int]) -> int:
    """Measure the part of a round trip that is not the server's own time: the median, of one request at a time."""
    with (
        Calibrator(engine, ("law", "--constant", "0"), server_cpus) as calibrator,
        kept_awake(client_cpus),
        pinned(client_cpus),
    ):
        parts = urlsplit(calibrator.url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_START_S)
        try:
            connection.connect()
            times_ns = [_round_trip_ns(connection) for _ in range(_ROUND_TRIPS)]
        except OSError as error:
            raise EngineFailed(f"calibrator: does not answer: {error}; {_AGAIN}") from error
        finally:
            connection.close()
        record = calibrator.stop()
    return max(0, round(median(times_ns)) - record.service.quantile_ns(0.5))


_REQUEST: Final = b"GET / HTTP/1.1\r\nHost: calibrator\r\n\r\n"


def _round_trip_ns(connection: HTTPConnection) -> int:
    """Ask once, with as little of our own in it as there can be."""
    begun = time.perf_counter_ns()
    connection.sock.sendall(_REQUEST)
    connection.sock.recv(4096)
    return time.perf_counter_ns() - begun
