"""The generator against a known truth: a server that stalls for a second under a thousand requests a second."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from httpdyno.lab.engine import Engine
from httpdyno.subjects.engine_program import find_engine

pytestmark = pytest.mark.measured

RATE = 1000
STALL_S = 1.0
LASTS_S = 6
COMMAND = [sys.executable, "-c", "import sys; from httpdyno.cli import main; sys.exit(main())"]


@pytest.fixture
def origin() -> Iterator[tuple[int, str]]:
    """A web on a port of its own; return its process and its address."""
    argv = [Engine(find_engine()).path, "origin", "--web", "plain", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            yield process.pid, process.stderr.readline().split()[-1]
        finally:
            process.send_signal(signal.SIGCONT)
            process.terminate()


def loaded_during_a_stall(origin: tuple[int, str], folder: Path, *options: str) -> tuple[int, dict[str, Any], str]:
    """Stop the server for a second in the middle of a load; return the exit code, the row and the messages."""
    process, address = origin
    with subprocess.Popen(
        [*COMMAND, "load", f"{address}/plain", "-d", f"{LASTS_S}s", "--no-store", "--format", "json", *options],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as load:
        time.sleep(LASTS_S / 2)
        os.kill(process, signal.SIGSTOP)
        time.sleep(STALL_S)
        os.kill(process, signal.SIGCONT)
        out, err = load.communicate(timeout=300)
    return load.returncode, json.loads(out)[0], err


def test_a_stall_of_a_second_shows_in_the_response_time(origin: tuple[int, str], tmp_path: Path) -> None:
    # A thousand of the six thousand requests were due during the stall: one in six waited, uniformly from zero to a
    # second.
    limit = f"p99.9 > {STALL_S / 2}s"
    code, row, said = loaded_during_a_stall(origin, tmp_path, "--rate", str(RATE), "--fail-if", limit)
    assert row["sent"] == RATE * LASTS_S
    assert row["errors"] == 0
    # Not far below the stall, and not above it by more than a busy machine adds.
    assert 0.9 * STALL_S * 1000 < row["p99_9"] < 3 * STALL_S * 1000, row
    assert row["max"] > 0.9 * STALL_S * 1000, row
    # At most 64 requests could be sent into the stall, one in a hundred, and their service time includes it; it does
    # not include the wait of the other delayed requests.
    assert row["service_max"] > 0.9 * STALL_S * 1000, row
    assert row["service_p90"] < row["p90"], row
    assert code == 1
    assert "FAILED --fail-if 'p99.9 > 0.5s': p99_9 is " in said
    # The server was late, not the generator.
    assert row["send_lag_p99"] < STALL_S * 1000 / 2, row


def test_a_closed_loop_hides_it_from_nearly_all_of_its_requests(origin: tuple[int, str], tmp_path: Path) -> None:
    code, row, _ = loaded_during_a_stall(origin, tmp_path, "-c", "4", "--fail-if", "p99 > 500ms")
    assert code == 0, row
    assert row["max"] > 0.9 * STALL_S * 1000, row
    assert row["p99"] < STALL_S * 1000 / 2, row
