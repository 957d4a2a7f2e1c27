"""`fetch` and `load` against servers that misbehave in every way: no crash, no hang, no memory without bound."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from endurance.hostile_server import BEHAVIOURS, RUBBISH
from httpdyno.lab.location import find_engine

from .conftest import START

SERVER = Path(__file__).parents[1] / "endurance" / "hostile_server.py"
MOST_MIB = 128
"""What one of them may have in memory. A second of any flood is more than that."""
PATIENCE_S = 120
CODE = re.compile(r"^(?P<url>[^,]+),(?P<code>[^,]+),")
RIGHT = {
    "honest": "200",
    "length-too-short": "200",
    "content-where-none-is": "204",
    "redirect-to-itself": "TooManyRedirects",
    "redirect-chain": "TooManyRedirects",
    "redirect-to-nonsense": "InvalidRedirect",
    "length-too-long": "BodyCutShort",
    "coding-of-nonsense": "MalformedCoding",
    "nothing": "ClosedBeforeAnswer",
    # Its head is taken for the answer, and the connection for lost.
    "switched-protocols": "101",
}
"""How some of them end; all others end with the name of a failure."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    argv = [sys.executable, "-B", str(SERVER)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline())
        server.kill()


@pytest.fixture(scope="module")
def honest() -> Iterator[str]:
    """A server of both versions of HTTP beside them: what answers is counted meanwhile."""
    argv = [str(find_engine()), "origin", "--web", "plain", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        yield process.stderr.readline().split()[-1] + "/plain"
        process.terminate()


def urls(port: int) -> list[str]:
    return [f"http://127.0.1.{number}:{port}/{name}" for number, name in enumerate(BEHAVIOURS, 1)]


def ended(argv: list[str], folder: Path, given: str = "") -> tuple[int, str, str, float]:
    """Run the engine; its status, what it printed, and the most memory it had, in MiB."""
    (folder / "urls").write_text(given, encoding="utf-8")
    with (folder / "urls").open() as stdin, (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        process = subprocess.Popen([str(find_engine()), *argv], stdin=stdin, stdout=out, stderr=err)
        deadline, mebibytes = time.monotonic() + PATIENCE_S, 0.0
        while process.poll() is None:
            mebibytes = max(mebibytes, most_mebibytes(process.pid))
            if time.monotonic() > deadline:
                process.kill()
                pytest.fail(f"{argv} does not end")
            time.sleep(0.02)
    said = [(folder / name).read_text(encoding="utf-8") for name in ("out", "err")]
    assert "panicked" not in said[1], said[1]
    assert mebibytes > 0
    return process.returncode, said[0], said[1], mebibytes


def most_mebibytes(pid: int) -> float:
    """Read the most memory that a process had since its exec; `ru_maxrss` begins with what its parent had."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except FileNotFoundError:
        return 0.0
    peaks = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return max(map(int, peaks), default=0) / 1024


def test_fetch_gives_each_its_row(port: int, tmp_path: Path) -> None:
    # Each twice: who was fooled once may not carry it over to the next.
    lines = "".join(f"{url}\n" for url in urls(port) * 2)
    argv = ["fetch", "--concurrency", "100", "--timeout", "1s", "--max-content", "64MiB"]
    code, out, err, mebibytes = ended(argv, tmp_path, lines)
    assert code == 0, err
    rows = [CODE.match(line) for line in out.splitlines()]
    assert len(rows) == 2 * len(BEHAVIOURS)
    codes = {name: set[str]() for name in BEHAVIOURS}
    for row in rows:
        assert row is not None
        codes[row["url"].rsplit("/", 1)[1]].add(row["code"])
    for name, found in codes.items():
        # Who shares the machine with all these floods may find no time to answer.
        in_time = {code for code in found if not code.endswith("Timeout")}
        assert in_time <= {RIGHT[name]} if name in RIGHT else all(not code.isdigit() for code in in_time), (name, found)
    assert mebibytes < MOST_MIB


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
def test_load_counts_every_failure(port: int, honest: str, tmp_path: Path, *, http2: bool) -> None:
    hostile = [f"http://127.0.0.1:{port}/{name}" for name in RUBBISH] if http2 else urls(port)
    asked = [honest, *hostile]
    argv = ["load", *asked, "-c", "50", "-d", "2s", "--timeout", "300ms", "--format", "json"]
    started = subprocess.run(
        [*START, *argv, *(["--http2"] if http2 else [])],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert started.returncode == 0, started.stderr
    assert "panicked" not in started.stderr
    (row,) = json.loads(started.stdout)
    assert row["requests"] + row["errors"] + row["censored"] == row["sent"]
    assert row["errors"] > len(asked)
    assert row["2xx"] > 0
    (report,) = (tmp_path / "runs").glob("*/load-*.json")
    assert json.loads(report.read_text(encoding="utf-8"))["peak_memory_bytes"] < MOST_MIB << 20
