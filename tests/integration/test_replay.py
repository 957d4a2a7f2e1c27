"""`httpdyno load --replay` with the real engine: times, order and places of recorded requests."""

import gzip
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from doubles.command_line import Command
from doubles.in_process import in_process
from httpdyno.lab.engine import Engine

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
PATIENT = ("--timeout", "60s", "-c", "4")
LINES = (
    ("12:00:01", "GET /plain?second"),
    ("12:00:00", "GET /plain?first"),
    ("12:00:01", "HEAD /plain?third"),
    ("12:00:01", "POST /plain"),
    ("12:00:01", r"\x16\x03"),
)
LOG = "".join(f'::1 - - [21/Oct/2024:{at} +0000] "{line} HTTP/1.1" 200 0 "-" "curl"\n' for at, line in LINES)


@pytest.fixture(scope="module")
def origin(engine: Engine) -> Iterator[str]:
    """A web on a port of its own; return its address."""
    argv = [engine.path, "origin", "--web", "plain", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr
            yield process.stderr.readline().split()[-1]
        finally:
            process.terminate()


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process."""
    return in_process(environment, tmp_path, monkeypatch, capfd)


def report_of(tmp_path: Path) -> dict[str, Any]:
    (file,) = tmp_path.glob("runs/*/load-000000.json")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def test_an_access_log_is_replayed_on_its_schedule(here: Command, origin: str, tmp_path: Path) -> None:
    (tmp_path / "access.log.gz").write_bytes(gzip.compress(LOG.encode()))
    words = ("--replay", "access.log.gz", "--speed", "1000%", "--samples", "samples.csv")
    load = here("load", origin, *PATIENT, *words)
    assert load.code == 0, load.err
    assert "2 of 5 lines are skipped: 1 POST (no body is recorded), 1 not requests" in load.out
    samples = pl.read_csv(tmp_path / "samples.csv").sort("intended_ns")
    assert samples["intended_ns"].to_list() == [0, 100_000_000, 150_000_000]
    assert [url.rpartition("?")[2] for url in samples["url"]] == ["first", "second", "third"]
    report = report_of(tmp_path)
    schema = json.loads((REFERENCE / "load-report.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(report)
    replay = report["replay"]
    assert (replay["format"], replay["lines"], replay["requests"], replay["different"]) == ("access log", 5, 3, 3)
    assert replay["hosts"] == [{"host": None, "to": origin.rstrip("/"), "requests": 3}]
    for name in ("table", "json", "csv"):
        assert here("report", "latest", "--format", name).code == 0
    assert here("report", "latest").out == load.out


def test_a_loop_begins_again_and_ends_after_its_requests(here: Command, origin: str, tmp_path: Path) -> None:
    lines = [{"at": at, "url": "https://www.example/plain"} for at in (0, 0.01)]
    (tmp_path / "timed.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    hosts = ("--hosts", f"www.example={origin.rstrip('/')}", "--hosts", "*=skip")
    words = ("--replay", "timed.jsonl", "--loop", "-n", "5", "--samples", "samples.csv", "--format", "json")
    load = here("load", *PATIENT, *words, *hosts)
    assert load.code == 0, load.err
    intended = pl.read_csv(tmp_path / "samples.csv").sort("intended_ns")["intended_ns"]
    assert intended.to_list() == [0, 10_000_000, 20_000_000, 30_000_000, 40_000_000]
    (row,) = load.rows
    Draft202012Validator(json.loads((REFERENCE / "load.schema.json").read_text(encoding="utf-8"))).validate(load.rows)
    assert (row["loop"], row["requests"], row["2xx"]) == ("open", 5, 5)
    replay = json.loads(row["replay"])
    assert (replay["is_loop"], replay["requests"]) == (True, 2)


def test_a_dry_run_sends_nothing(here: Command, tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text(LOG, encoding="utf-8")
    # Nothing listens on this port; a load would fail.
    server = "http://127.0.0.1:1"
    dry = here("load", server, "--replay", "access.log", "--dry-run")
    assert dry.code == 0, dry.err
    assert "no recorded host -> http://127.0.0.1:1: 3 requests" in dry.out
    rows = here("load", server, "--replay", "access.log", "--dry-run", "--format", "json").rows
    assert [(row["time_s"], row["method"], row["url"]) for row in rows] == [
        (0, "GET", f"{server}/plain?first"),
        (1, "GET", f"{server}/plain?second"),
        (1.5, "HEAD", f"{server}/plain?third"),
    ]
    (closed,) = here("load", server, "-X", "PUT", "-n", "5", "--dry-run", "--format", "json").rows
    assert (closed["time_s"], closed["method"], closed["url"]) == (None, "PUT", server)
    open_loop = here("load", server, "--rate", "2", "-n", "3", "--dry-run", "--format", "json").rows
    assert [row["time_s"] for row in open_loop] == [0, 0.5, 1]
    assert not list(tmp_path.glob("runs/*"))
