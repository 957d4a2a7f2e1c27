"""A server with known behaviour, as a separate process."""

import select
import subprocess
import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from typing import Final, Self
from urllib.parse import urlsplit

from httpdyno.errors import EngineFailed
from httpdyno.judge.generator import ServerRecord, read_server_record
from httpdyno.lab.cpus import kept_awake, pinned
from httpdyno.lab.engine import engine_refusal, start_engine
from httpdyno.lab.scratch import ScratchFile

_START_S: Final = 20.0
_END_S: Final = 20.0
_ROUND_TRIPS: Final = 500
_REQUEST: Final = b"GET / HTTP/1.1\r\nHost: calibrator\r\n\r\n"
_AGAIN: Final = "try again when this machine is less busy"


class Calibrator:
    """The engine's ``calibrator``. It ends with the block, and with this process even if that is killed."""

    def __init__(self, engine: Path, behaviour: Sequence[str], cpus: Collection[int]) -> None:
        with ExitStack() as opened:
            self._report, self._stderr = (opened.enter_context(ScratchFile()) for _ in range(2))
            argv = [str(engine), "calibrator", "--until-eof", "--report", str(self._report.path), *behaviour]
            with pinned(cpus):
                self._process = start_engine(
                    argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr.file,
                    pass_fds=[self._report.descriptor],
                    # Ctrl-C in a terminal reaches this process only.
                    process_group=0,
                )
            opened.enter_context(self._process)
            opened.callback(self._process.kill)
            assert self._process.stdout is not None
            ready, _, _ = select.select([self._process.stdout], [], [], _START_S)
            self.url = self._process.stdout.readline().decode(errors="replace").strip() if ready else ""
            if not self.url.startswith("http://"):
                self._process.kill()
                raise EngineFailed(f"calibrator: {engine_refusal(self._stderr.read_text(), self._process.wait())}")
            self._opened = opened.pop_all()

    def stop(self) -> ServerRecord:
        """End it, and return its record; raise ``EngineFailed`` if it fails."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            status = self._process.wait(_END_S)
        except subprocess.TimeoutExpired as error:
            raise EngineFailed(f"the engine's calibrator did not end within {_END_S:.0f} s; {_AGAIN}") from error
        if status != 0:
            raise EngineFailed(f"calibrator: {engine_refusal(self._stderr.read_text(), status)}")
        return read_server_record(self._report.read_text())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()


def measure_overhead_ns(engine: Path, *, server_cpus: Collection[int], client_cpus: Collection[int]) -> int:
    """Measure the part of a round trip that is not the server's own time: the median with one request at a time."""
    with (
        Calibrator(engine, ("law", "--constant", "0"), server_cpus) as calibrator,
        kept_awake(client_cpus),
        pinned(client_cpus),
    ):
        parts = urlsplit(calibrator.url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_START_S)
        times_ns = []
        try:
            connection.connect()
            for _ in range(_ROUND_TRIPS):
                begun = time.perf_counter_ns()
                connection.sock.sendall(_REQUEST)
                connection.sock.recv(4096)
                times_ns.append(time.perf_counter_ns() - begun)
        except OSError as error:
            raise EngineFailed(f"calibrator: does not answer: {error}; {_AGAIN}") from error
        finally:
            connection.close()
        record = calibrator.stop()
    return max(0, round(median(times_ns)) - record.service.quantile_ns(0.5))
