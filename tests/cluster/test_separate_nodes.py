"""Nodes of Ray that have a network, a name and a share of a CPU of their own: losses, pauses and clocks."""

import csv
import json
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from doubles.separate_machines import SERVER_ADDRESS, Machine, Machines, separate_machines
from doubles.two_machines import in_namespace
from httpdyno.judge.generator import replay, stalling_server

pytest.importorskip("ray", reason="Ray is not installed; make test-cluster installs it and runs these tests")

NODES: Final = 3
CPUS: Final = 0.5
PORT: Final = 8080
CLUSTER: Final = "10.66.8.1:6379"
PATIENCE_S: Final = 600
FAKETIME: Final = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")


@dataclass(frozen=True)
class Nodes:
    """A cluster of Ray on machines of their own, and commands on the first of them."""

    machines: list[Machine]
    variables: dict[str, str]
    folder: Path

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*self.machines[0].at, sys.executable, "-m", "httpdyno", *words],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, code: int = 0) -> tuple[str, str]:
        with self.start(*words) as process:
            out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == code, err
        return out, err

    def run_unbounded(self, *words: str) -> str:
        """Run a command next to the nodes, with as much CPU time as it needs."""
        argv = [*in_namespace(self.machines[0].namespace), sys.executable, "-m", "httpdyno", *words]
        options = {"cwd": self.folder, "env": self.variables, "timeout": PATIENCE_S}
        return subprocess.run(argv, **options, stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.fixture
def machines() -> Iterator[Machines]:
    with separate_machines(NODES, CPUS) as made:
        yield made


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """Return the file whose text is the error of the last node's clock."""
    path = tmp_path / "clock"
    path.write_text("+0")
    return path


@pytest.fixture
def nodes(machines: Machines, variables: dict[str, str], clock: Path, tmp_path: Path) -> Iterator[Nodes]:
    """Start Ray on the machines; the clock of the last generator is wrong by what the file says."""
    # Nodes with addresses of their own: on the loopback, conftest.py forbids that.
    variables = variables | {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1"}
    ray = str(Path(sys.executable).with_name("ray"))
    engine = tmp_path / "engine"
    engine.write_text(
        f"#!/bin/sh\nexport LD_PRELOAD={FAKETIME} FAKETIME_TIMESTAMP_FILE={clock} FAKETIME_CACHE_DURATION=1"
        f' FAKETIME_DONT_FAKE_MONOTONIC=1\nexec {variables["HTTPDYNO_ENGINE"]} "$@"\n'
    )
    engine.chmod(0o755)
    started = []
    for machine in machines.machines:
        is_head, is_last = machine is machines.machines[0], machine is machines.machines[-1]
        place = ["--head", "--port", CLUSTER.rpartition(":")[2], "--include-dashboard", "false"]
        words = place if is_head else ["--address", CLUSTER]
        own = {"HTTPDYNO_ENGINE": str(engine)} if is_last and FAKETIME.exists() else {}
        said = tmp_path / f"{machine.name}.txt"
        with said.open("wb") as file:
            started.append(
                subprocess.Popen(
                    [
                        *(*machine.at, ray, "start", "--block", "--node-ip-address", machine.address),
                        *("--num-cpus", "1", "--object-store-memory", "80000000", *words),
                    ],
                    env=variables | own,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
            )
        deadline = time.monotonic() + PATIENCE_S
        while "Ray runtime started" not in said.read_text():
            assert started[-1].poll() is None, said.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
    yield Nodes(machines.machines, variables, tmp_path)
    for machine in machines.machines:
        machine.kill()
    for process in started:
        process.wait()
    for path in Path(variables["RAY_TMPDIR"]).iterdir():
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def serve(machines: Machines, variables: dict[str, str]) -> Iterator[Callable[..., str]]:
    """Start a server of the engine on a machine of its own; return its URL."""
    started = []

    def begin(*words: str) -> str:
        process = subprocess.Popen(
            [*machines.at_server, variables["HTTPDYNO_ENGINE"], *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        started.append(process)
        assert process.stdout
        process.stdout.readline()
        return f"http://{SERVER_ADDRESS}:{PORT}"

    yield begin
    for process in started:
        process.terminate()
        process.communicate()


def serve_web(serve: Callable[..., str]) -> str:
    return serve("origin", "--web", "plain", "--listen", f"{SERVER_ADDRESS}:{PORT}")


def load(nodes: Nodes, *words: str) -> "subprocess.Popen[str]":
    return nodes.start("load", f"http://{SERVER_ADDRESS}:{PORT}/plain", "--cluster", CLUSTER, *words)


def wait_for_generator(machine: Machine, process: "subprocess.Popen[str]") -> float:
    """Wait until a node has its generator; return the start of its load (Unix time, in seconds)."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        for words in command_lines(machine):
            if "--start-at" in words:
                return float(words.split("--start-at ")[1].split()[0])
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def wait_until(moment_s: float) -> None:
    while time.time() < moment_s:
        time.sleep(0.05)


def command_lines(machine: Machine) -> list[str]:
    found = []
    for process in machine.processes():
        try:
            found.append(Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def test_a_million_urls_with_a_node_killed_at_two_fifths(
    nodes: Nodes, serve: Callable[..., str], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    serve_web(serve)
    hosts, pages = 5_000, 200
    urls = [f"http://h{host}.example:{PORT}/plain?{page}" for page in range(pages) for host in range(hosts)]
    (tmp_path / "urls.txt").write_text("".join(f"{url}\n" for url in urls), encoding="utf-8")
    nodes.run("split", "urls.txt", "--shards", "30", "-o", "lists")
    words = ["--from", "lists", "--into", "crawl", "--connect-to", f"::{SERVER_ADDRESS}:{PORT}", "--no-sync"]
    fetch = nodes.start("fetch", "--cluster", CLUSTER, *words, "-c", "200", "-o", "rows.csv")
    deadline = time.monotonic() + PATIENCE_S
    while rows_so_far(tmp_path / "crawl") < 0.4 * len(urls):
        assert fetch.poll() is None, fetch.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    nodes.machines[-1].kill()
    out, err = fetch.communicate(timeout=PATIENCE_S)
    assert fetch.returncode == 0, err
    assert out == ""
    assert "the node or its worker was lost; it starts again" in err
    assert f"30 shards, each URL once: {len(urls):,} URLs, {len(urls):,} answered, 0 failed" in err
    with (tmp_path / "rows.csv").open(encoding="utf-8", newline="") as file:
        rows = Counter((row[0], row[1]) for row in csv.reader(file))
    assert rows == Counter((url, "200") for url in urls)
    report = json.loads((tmp_path / "crawl" / "report.json").read_text(encoding="utf-8"))
    assert report["starts_without_report"] == 1
    record_property("messages", err)


def rows_so_far(crawl: Path) -> int:
    """Estimate the rows that are written from the size of the files and the length of the first rows."""
    files = [*crawl.glob(".shard-*.part/rows.csv"), *crawl.glob("shard-*/rows.csv")]
    size, first = 0, b""
    for path in files:
        # A shard that is done changes its name.
        try:
            size += path.stat().st_size
            with path.open("rb") as file:
                first = first or file.read(65536)
        except FileNotFoundError:
            continue
    return size * first.count(b"\n") // max(1, len(first))


def test_the_merge_of_three_has_the_stall_of_the_server_whole(nodes: Nodes, serve: Callable[..., str]) -> None:
    rate_per_s, duration_s, at_s = 300, 10, 4
    service = ["stall", "--constant", "5ms", "--at", f"{at_s}s", "--length", "1s"]
    serve("calibrator", "--address", SERVER_ADDRESS, "--port", str(PORT), "--sleep", *service)
    words = ["--rate", str(rate_per_s), "-d", f"{duration_s}s", "-c", "600", "--timeout", "60s", "--format", "json"]
    with load(nodes, *words) as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    (merged,) = json.loads(out)
    assert process.returncode == 0, err
    assert merged["sent"] == rate_per_s * duration_s
    server = stalling_server(5_000_000, at_s * 10**9, 10**9)
    truth = replay(server, rate_per_s=rate_per_s, duration_s=duration_s, connections=600).times
    # An eleventh of the answers waited: 1 s less half a service time at most.
    for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999)):
        assert merged[name] == pytest.approx(truth.quantile_ns(share) / 1e6, rel=0.1, abs=20), (name, merged)


@pytest.mark.skipif(not FAKETIME.exists(), reason="no libfaketime; as root: apt-get install libfaketime")
def test_a_clock_with_a_constant_error_is_corrected_and_its_error_stated(
    nodes: Nodes, serve: Callable[..., str], clock: Path
) -> None:
    serve_web(serve)
    clock.write_text("+3.5")
    with load(nodes, "--rate", "300", "-d", "5s", "-c", "9", "--report", "-") as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    clocks = [node["clock"] for node in json.loads(out)["nodes"]]
    wrong = [one for one in clocks if abs(one["ahead_ns"] + 3.5e9) <= one["bound_ns"] <= 1e6]
    right = [one for one in clocks if abs(one["ahead_ns"]) <= one["bound_ns"] <= 1e6]
    assert (len(wrong), len(right)) == (1, 2), clocks


@pytest.mark.skipif(not FAKETIME.exists(), reason="no libfaketime; as root: apt-get install libfaketime")
def test_a_clock_that_steps_by_5_ms_during_the_load_is_refused(
    nodes: Nodes, serve: Callable[..., str], clock: Path
) -> None:
    serve_web(serve)
    process = load(nodes, "--rate", "60", "-d", "20s", "-c", "9")
    # It has compared its clock before the start.
    wait_until(wait_for_generator(nodes.machines[-1], process) + 5)
    clock.write_text("+0.005")
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2, err
    assert out == ""
    assert "node-3" in err
    assert "5 ms" in err


def test_a_node_that_is_paused_for_some_seconds_is_named(nodes: Nodes, serve: Callable[..., str]) -> None:
    serve_web(serve)
    process = load(nodes, "--rate", "300", "-d", "20s", "-c", "30")
    paused = nodes.machines[-1]
    start_s = wait_for_generator(paused, process)
    wait_until(start_s + 5)
    paused.send(signal.SIGSTOP)
    wait_until(start_s + 9)
    paused.send(signal.SIGCONT)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert "GENERATOR_LIMITED" in out, err
    assert "node-3" in out


def test_a_node_that_is_paused_for_good_is_named(nodes: Nodes, serve: Callable[..., str]) -> None:
    serve_web(serve)
    process = load(nodes, "--rate", "60", "-d", "200s")
    paused = nodes.machines[-1]
    wait_until(wait_for_generator(paused, process))
    paused.send(signal.SIGSTOP)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 3, err
    assert out == ""
    (line,) = err.splitlines()
    assert "on node-3 reported nothing for 30 s" in line or "on node-3 was lost" in line


@pytest.mark.measured
def test_the_percentiles_of_three_generators_are_those_of_one(
    nodes: Nodes, serve: Callable[..., str], record_property: Callable[[str, object], None]
) -> None:
    """Five pairs in turns, at one rate; the intervals are those from the lowest to the highest of five.

    The one generator has a whole CPU: on the share of a node, with the head of Ray, it sends late.
    """
    # Never more than it serves at a time, so that no request waits: independent times of a known law.
    server = ["queue", "--exponential", "5ms", "--workers", "300", "--sleep"]
    url = f"{serve('calibrator', '--address', SERVER_ADDRESS, '--port', str(PORT), *server)}/plain"
    words = ["--rate", "600", "-d", "15s", "-c", "300", "--format", "json"]
    found: dict[str, list[dict[str, Any]]] = {"one": [], "three": []}
    for _ in range(5):
        found["one"] += json.loads(nodes.run_unbounded("load", url, *words, "--no-store"))
        out, _ = nodes.run("load", url, "--cluster", CLUSTER, *words)
        found["three"] += json.loads(out)
    for name in ("p50", "p99", "p99_9"):
        one, three = ([row[name] for row in found[key]] for key in ("one", "three"))
        for key, values in (("one", one), ("three", three)):
            text = f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f}) ms"
            record_property(f"{name} of {key}", text)
            print(name, key, text)
        assert max(min(one), min(three)) <= min(max(one), max(three)), (name, one, three)
