"""That `load` and `fetch` take no more memory for ten times as many requests."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from httpdyno.lab.engine import Engine

pytestmark = pytest.mark.measured

FEW, MANY = 50_000, 500_000
GROWTH_MEBIBYTES = 4.0
"""Histograms with longer times, the table of open hosts: the same allowance as in two hours of `make endure`."""
AT = re.compile(r"plain at http://(?P<address>127\.0\.0\.1:\d+)")
# A process that waits for another one knows its peak memory; a new process does not include ours.
PEAK = "import os, sys; pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ); "
PEAK += "_, status, used = os.wait4(pid, 0); print(used.ru_maxrss, file=sys.stderr); sys.exit(status != 0)"


@contextmanager
def origin(engine: Engine) -> Iterator[str]:
    """Serve the web `plain`; yield its address."""
    argv = [str(engine.path), "origin", "--web", "plain", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        said = AT.match(process.stderr.readline())
        assert said
        yield said["address"]
        process.kill()


def peak_mebibytes(argv: list[str], given: Path = Path(os.devnull)) -> float:
    """Run the engine; return its peak memory."""
    with given.open(encoding="utf-8") as lines:
        waiting = [sys.executable, "-ISc", PEAK, *argv]
        ended = subprocess.run(waiting, stdin=lines, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert ended.returncode == 0, ended.stderr
    return int(ended.stderr.splitlines()[-1]) / 1024


def test_load_takes_no_more_memory_for_ten_times_as_many_requests(
    engine: Engine, figure: Callable[[str, float, str], None]
) -> None:
    with origin(engine) as address:
        argv = [str(engine.path), "load", f"http://{address}/plain", "--no-store", "--requests"]
        few, many = (peak_mebibytes([*argv, str(count)]) for count in (FEW, MANY))
    figure("load, memory of 500,000 requests", many, "MiB")
    assert many - few < GROWTH_MEBIBYTES, (few, many)


def test_fetch_takes_no_more_memory_for_ten_times_as_many_urls(
    engine: Engine, figure: Callable[[str, float, str], None], tmp_path: Path
) -> None:
    urls, done = tmp_path / "urls", tmp_path / "done"
    peaks = []
    with origin(engine) as address:
        argv = [str(engine.path), "fetch", "--concurrency", "200", "--connect-to", f":80:{address}"]
        for count in (FEW, MANY):
            with urls.open("w", encoding="utf-8") as file:
                file.writelines(f"http://host{number % 1000}.test/plain?{number}\n" for number in range(count))
            done.unlink(missing_ok=True)
            peaks.append(peak_mebibytes([*argv, "--resume", str(done)], urls))
    figure("fetch, memory of 500,000 URLs", peaks[1], "MiB")
    assert peaks[1] - peaks[0] < GROWTH_MEBIBYTES, peaks
