"""`fetch` and `load` against servers that misbehave in every way: no crash, no hang, no memory without bound."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from endurance.hostile_server import BEHAVIOURS, RUBBISH
from httpdyno.subjects.engine_program import find_engine

from .conftest import OF_OUR_OWN_S, PATIENCE_S, START, right_in_time

SERVER = Path(__file__).parents[1] / "endurance" / "hostile_server.py"
MOST_MIB = 128
"""The memory limit of one of them. A second of any flood is more than that."""
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
    # Its head counts as the answer, and the connection as lost.
    "switched-protocols": "101",
}
"""How some of them end; all others end with the name of a failure."""
UNENDING = [
    name
    for name in BEHAVIOURS
    if name.startswith(("endless-", "slow-"))
    or name in {"garbage", "length-of-a-petabyte", "gzip-bomb", "deflate-bomb"}
] + ["silence"]
"""They continue until the client stops, at the latest at its timeout."""
ENDING = [name for name in BEHAVIOURS if name not in UNENDING]
BRIEF, PATIENT = "1s", "300s"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    argv = [sys.executable, "-B", str(SERVER)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


@pytest.fixture(scope="module")
def honest() -> Iterator[str]:
    """A server of both versions of HTTP runs with them: its answers are counted meanwhile."""
    argv = [str(find_engine()), "origin", "--web", "plain", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        yield process.stderr.readline().split()[-1] + "/plain"
        process.terminate()


def urls(port: int, names: Sequence[str] = tuple(BEHAVIOURS)) -> list[str]:
    return [f"http://127.0.1.{number}:{port}/{name}" for number, name in enumerate(names, 1)]


def ended(argv: list[str], folder: Path, given: str = "") -> tuple[int, str, str, float]:
    """Run the engine; return its status, its output, and its peak memory, in MiB."""
    (folder / "urls").write_text(given, encoding="utf-8")
    with (folder / "urls").open() as stdin, (folder / "out").open("w+") as out, (folder / "err").open("w+") as err:
        process = subprocess.Popen([str(find_engine()), *argv], stdin=stdin, stdout=out, stderr=err)
        deadline, mebibytes = time.monotonic() + PATIENCE_S, 0.0
        while process.poll() is None:
            mebibytes = max(mebibytes, most_mebibytes(process.pid))
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                pytest.fail(f"{argv} does not end")
            time.sleep(0.02)
    said = [(folder / name).read_text(encoding="utf-8") for name in ("out", "err")]
    assert "panicked" not in said[1], said[1]
    return process.returncode, said[0], said[1], mebibytes


def most_mebibytes(pid: int) -> float:
    """Read the peak memory of a process since its exec; `ru_maxrss` begins with its parent's."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except FileNotFoundError:
        return 0.0
    peaks = (line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:"))
    return max(map(int, peaks), default=0) / 1024


def fetched(port: int, folder: Path, names: Sequence[str], timeout: str) -> tuple[dict[str, set[str]], float]:
    """Fetch each twice: state from the first answer must not affect the next. Return the codes and the memory."""
    lines = "".join(f"{url}\n" for url in urls(port, names) * 2)
    argv = ["fetch", "--concurrency", "100", "--timeout", timeout, "--max-content", "64MiB"]
    code, out, err, mebibytes = ended(argv, folder, lines)
    assert code == 0, err
    rows = [CODE.match(line) for line in out.splitlines()]
    assert len(rows) == 2 * len(names)
    codes = {name: set[str]() for name in names}
    for row in rows:
        assert row is not None
        codes[row["url"].rsplit("/", 1)[1]].add(row["code"])
    return codes, mebibytes


def test_fetch_gives_each_that_ends_its_row(port: int, tmp_path: Path) -> None:
    codes, _ = fetched(port, tmp_path, ENDING, PATIENT)
    for name, found in codes.items():
        assert len(found) == 1, (name, found)
        (code,) = found
        assert code == RIGHT[name] if name in RIGHT else not code.isdigit() and not code.endswith("Timeout"), (
            name,
            code,
        )


def test_fetch_gives_each_that_does_not_end_the_name_of_a_failure(port: int, tmp_path: Path) -> None:
    codes, _ = fetched(port, tmp_path, UNENDING, BRIEF)
    for name, found in codes.items():
        assert not any(code.isdigit() for code in found), (name, found)


@pytest.mark.measured
def test_fetch_keeps_little_of_what_it_is_sent(port: int, tmp_path: Path) -> None:
    _, mebibytes = fetched(port, tmp_path, list(BEHAVIOURS), BRIEF)
    assert 0 < mebibytes < MOST_MIB


def load(asked: list[str], folder: Path, *options: str) -> tuple[dict[str, Any], int]:
    """Load servers; return the printed row, and the engine's peak memory."""
    ran = subprocess.run(
        [*START, "load", *asked, "-c", "80", *options, "--format", "json", "--out", str(folder)],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "panicked" not in ran.stderr
    (row,) = json.loads(ran.stdout)
    (report,) = folder.glob("*/load-*.json")
    return row, json.loads(report.read_text(encoding="utf-8"))["peak_memory_bytes"]


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
def test_load_counts_every_failure(port: int, honest: str, tmp_path: Path, *, http2: bool) -> None:
    asked = [honest, *([f"http://127.0.0.1:{port}/{name}" for name in RUBBISH] if http2 else urls(port))]
    sent = 2 * len(asked)

    def run(timeout_s: int) -> dict[str, Any]:
        options = ("-n", str(sent), "--timeout", f"{timeout_s}s", *(["--http2"] if http2 else []))
        return load(asked, tmp_path / str(timeout_s), *options)[0]

    # An honest server may be slow during all these floods.
    row = right_in_time(run, lambda row: row["2xx"] > 0, timeouts_s=OF_OUR_OWN_S)
    assert row["2xx"] > 0
    assert row["2xx"] + row["3xx"] + row["errors"] + row["censored"] == row["sent"] == sent
    assert row["errors"] >= 2 * len(RUBBISH if http2 else UNENDING)


@pytest.mark.measured
@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
def test_load_keeps_little_of_what_it_is_sent(port: int, honest: str, tmp_path: Path, *, http2: bool) -> None:
    asked = [honest, *([f"http://127.0.0.1:{port}/{name}" for name in RUBBISH] if http2 else urls(port))]
    options = ("-d", "2s", "--timeout", "300ms", *(["--http2"] if http2 else []))
    _, memory_bytes = load(asked, tmp_path, *options)
    assert 0 < memory_bytes < MOST_MIB << 20
