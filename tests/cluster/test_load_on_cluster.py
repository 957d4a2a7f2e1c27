"""`load --cluster` with real nodes: one schedule from three generators, and a generator that is lost."""

import json
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doubles.ray_node import kill_tree
from httpdyno.lab.engine import Engine

pytest.importorskip("ray", reason="Ray is not installed; make test-cluster installs it and runs these tests")

PATIENCE_S = 300
RATE_PER_S, DURATION_S = 60, 3
LIMIT_PER_S = 300
Start = Callable[..., Any]


def test_three_nodes_send_the_schedule_of_one(run: Start, origin: str, tmp_path: Path) -> None:
    # `local` sets all variables of Ray itself.
    variables = {"RAY_TMPDIR": "", "RAY_AUTH_MODE": "", "RAY_AUTH_TOKEN": ""}
    words = [f"http://{origin}/plain", "--rate", str(RATE_PER_S), "-d", str(DURATION_S), "-c", "6", "--timeout", "60s"]
    output = ["--report", "-", "--out", "reports"]
    ended = run("load", "--cluster", "local:3", *words, *output, **variables)
    merged = json.loads(ended.stdout)
    assert merged["sent"] + merged["unsent"] == RATE_PER_S * DURATION_S
    assert merged["plan"]["connections"] == 6
    assert [str(node["segment"]) for node in merged["nodes"]] == ["1/3", "2/3", "3/3"]
    assert sum(node["sent"] for node in merged["nodes"]) == merged["sent"]
    reports = [json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "reports").glob("*/*.json")]
    starts = {report["segment"]["start_unix_ns"] for report in reports}
    assert (len(reports), len(starts)) == (3, 1)
    # The clock was compared before and after; one machine has one clock.
    assert all(abs(node["clock"]["ahead_ns"]) <= node["clock"]["bound_ns"] for node in merged["nodes"])


@pytest.fixture
def limited_server(engine: Engine) -> Iterator[str]:
    """Serve a known number of answers a second, and 429 for all others."""
    limiter = ["limiter", "--per-second", str(LIMIT_PER_S), "--burst", "10"]
    argv = [str(engine.path), "calibrator", "--sleep", *limiter]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().split()[-1]
        process.terminate()


def test_a_search_sends_its_steps_from_all_nodes(cluster: Any, run: Start, limited_server: str, tmp_path: Path) -> None:
    words = [f"{limited_server}/plain", "--find", "errors < 5%", "--find-for", "20s", "--arrivals", "constant"]
    ended = run("load", "--cluster", cluster.address, *words, "--out", "runs", "--format", "json")
    (row,) = json.loads(ended.stdout)
    # As many as are answered are 95 % of all.
    assert row["found_per_s"] == pytest.approx(LIMIT_PER_S / 0.95, rel=0.15), row["found"]
    assert "step 1: " in ended.stderr
    (report,) = (tmp_path / "runs").glob("*-load/load-000000.json")
    assert [node["segment"] for node in json.loads(report.read_text(encoding="utf-8"))["nodes"]] == [
        "1/3",
        "2/3",
        "3/3",
    ]


def test_an_interrupted_search_prints_what_it_has_found(cluster: Any, start: Start, limited_server: str) -> None:
    words = [f"{limited_server}/plain", "--find", "errors < 5%", "--no-store", "--format", "json"]
    before = set(Path(tempfile.gettempdir()).glob("httpdyno-*"))
    search = start("load", "--cluster", cluster.address, *words)
    while "step 2: " not in (line := search.stderr.readline()):
        assert line, search.communicate()
    search.send_signal(signal.SIGINT)
    out, err = search.communicate(timeout=PATIENCE_S)
    assert search.returncode == 128 + signal.SIGINT, err
    assert json.loads(out)[0]["requests"] > 0
    assert err.splitlines()[-1].startswith("httpdyno: interrupted")
    assert set(Path(tempfile.gettempdir()).glob("httpdyno-*")) == before


def test_a_lost_generator_is_named(cluster: Any, start: Start, origin: str) -> None:
    load = start("load", f"http://{origin}/plain", "--cluster", cluster.address, "--rate", "30", "-d", "200s")
    node = next(iter(cluster.worker_nodes))
    raylet = node.all_processes["raylet"][0].process
    deadline = time.monotonic() + PATIENCE_S
    while not generators_of(raylet.pid):
        assert load.poll() is None, load.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    kill_tree(raylet.pid)
    out, err = load.communicate(timeout=PATIENCE_S)
    raylet.wait()
    assert load.returncode == 3, err
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("httpdyno: generator ")
    assert line.endswith(" was lost, so that the load was a lower one; repeat it")
    for other in cluster.list_all_nodes():
        if other is not node:
            assert wait_for_none(other.all_processes["raylet"][0].process.pid), "a generator is left"


def generators_of(raylet: int) -> list[int]:
    """Return the engines that a node's workers have started."""
    found = []
    for child in children(raylet):
        found += [one for one in children(child) if b"--segment" in Path(f"/proc/{one}/cmdline").read_bytes()]
    return found


def children(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def wait_for_none(raylet: int) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while generators_of(raylet):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
