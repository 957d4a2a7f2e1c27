"""The cost of a call: real clients in real rooms, checked by sums that must match; and servers as the peer."""

import os
import re
from pathlib import Path

import pytest

from doubles.command_line import Command
from doubles.in_process import in_process
from httpdyno.experiments.latency.judge import LatencyPoint
from httpdyno.model import Outcome, Trial, Validity
from httpdyno.store import open_run

CACHE = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")}
"""The user's own: its claims were proved there before."""
SERVER = """
import http.server, os, sys

CONTENT = {"/plain": b"Hello, World!", "/json": b"x" * 16384}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        content = CONTENT[self.path.partition("?")[0]]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Handler).serve_forever()
"""
SUBJECT = """
kind = "server"
language = "Python"
method = "http.server"
[run]
argv = ["python3", "{folder}/main.py"]
[capabilities]
endpoints = ["plain", "json"]
"""


def server(root: Path, name: str, program: str) -> Path:
    folder = root / "servers" / name
    folder.mkdir(parents=True)
    (folder / "main.py").write_text(program)
    (folder / "subject.toml").write_text(SUBJECT)
    return root / "servers"


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process."""
    return in_process(environment, tmp_path, monkeypatch, capfd)


def trials_in(folder: Path) -> tuple[Trial, ...]:
    (run,) = (folder / "runs").iterdir()
    return tuple(open_run(run).records())


def test_calls_in_batches_over_kept_and_new_connections(here: Command, tmp_path: Path) -> None:
    ended = here(
        *("latency", "native", "--workload", "plain", "--parallel", "4", "--keepalive", "both", "--mode", "lines"),
        *("--duration", "1s", "--repeat", "1", "--format", "json"),
    )
    # 3: on a machine so slow that no point has a figure.
    assert ended.code in {0, 3}, ended.err
    assert {(row["parallel"], row["keepalive"]) for row in ended.rows} == {(4, True), (4, False)}
    for row in ended.rows:
        assert row["p50"] is None or 0 < row["p50"] <= row["p99"] <= row["max"]
    for trial in trials_in(tmp_path):
        assert trial.get(LatencyPoint) is not None
        assert trial.batch == trial.concurrency == trial[LatencyPoint].parallel
        assert (trial.counters.peak_concurrency or 0) <= trial[LatencyPoint].parallel
        assert trial.tally is not None
        # Two clock readings may be far apart if another program has the CPU in between.
        assert trial.tally.wrong == trial.tally.wrong_time
        connections = trial.counters.connections or 0
        assert connections <= trial[LatencyPoint].parallel if trial.keepalive else connections >= trial.tally.right


def test_a_server_of_somebody_elses_can_answer(here: Command, tmp_path: Path) -> None:
    servers = server(tmp_path, "fixture-server", SERVER)
    ended = here(
        *("latency", "native", "--workload", "plain,json", "--parallel", "1", "--keepalive", "on", "--mode", "lines"),
        *("--peer", "fixture-server", "--subjects", str(servers), "--duration", "1s", "--repeat", "1"),
        *("--format", "json"),
    )
    assert ended.code == 0, ended.err
    assert [row["peer"] for row in ended.rows] == ["fixture-server"] * 2
    assert [row["server_share"] for row in ended.rows] == [None, None]
    plain = next(row for row in ended.rows if row["workload"] == "plain")
    trials = trials_in(tmp_path)
    assert all((trial.counters.peer_cpu_user_ns or 0) > 0 for trial in trials)
    of_plain = next(
        trial.tally for trial in trials if trial.get(LatencyPoint) and trial[LatencyPoint].workload == "plain"
    )
    assert of_plain is not None
    assert of_plain.right > 0
    assert (plain["wrong"], of_plain.wrong) == (of_plain.wrong, of_plain.wrong_time)
    # It has no valid document: a client that parses the content finds that.
    json = next(row for row in ended.rows if row["workload"] == "json")
    assert json["wrong"] > 0
    assert json["mean"] is None


@pytest.mark.parametrize(("program", "said"), [("raise SystemExit('no such module: flask')", "no such module: flask")])
def test_a_server_that_does_not_come_up_is_named(here: Command, tmp_path: Path, program: str, said: str) -> None:
    servers = server(tmp_path, "fixture-server", program)
    ended = here(
        *("latency", "native", "--workload", "plain", "--parallel", "1", "--keepalive", "on", "--mode", "lines"),
        *("--peer", "fixture-server", "--subjects", str(servers), "--duration", "1s", "--repeat", "1"),
    )
    assert ended.code == 3
    assert said in ended.out + ended.err


def test_a_server_that_dies_meanwhile_is_not_the_clients_fault(here: Command, tmp_path: Path) -> None:
    dies = SERVER.replace(
        "        content =", "        Handler.asked += 1\n        Handler.asked < 20 or os._exit(9)\n        content ="
    )
    servers = server(
        tmp_path, "fixture-server", dies.replace("    protocol_version", "    asked = 0\n    protocol_version")
    )
    ended = here(
        *("latency", "native", "--workload", "plain", "--parallel", "1", "--keepalive", "on", "--mode", "lines"),
        *("--peer", "fixture-server", "--subjects", str(servers), "--duration", "1s", "--repeat", "1"),
    )
    assert ended.code == 3
    (trial,) = trials_in(tmp_path)
    assert (trial.outcome, trial.validity) == (Outcome.REFUSED, Validity.ORIGIN_LIMITED)
    assert trial.reason is not None
    assert trial.reason.startswith("the peer program ended during the trial (exit code 9)")


@pytest.mark.measured
def test_a_call_is_the_clients_the_wires_and_the_servers(httpdyno: Command, tmp_path: Path) -> None:
    ended = httpdyno(
        *("latency", "native", "--workload", "plain", "--parallel", "1,4", "--keepalive", "both", "--mode", "lines"),
        *("--duration", "2s", "--repeat", "1", "--format", "json"),
        **CACHE,
    )
    assert ended.code == 0, ended.err
    assert {(row["parallel"], row["keepalive"]) for row in ended.rows} == {(1, True), (1, False), (4, True), (4, False)}
    for row in ended.rows:
        # Two clock readings may be far apart if another program has the CPU in between.
        assert row["wrong"] <= 0.005 * row["calls"]
        assert row["runs"] == 7
        assert str(row["loops"]).rstrip("0") in {"1", "2", "5"}
        assert f"7 runs, {row['loops']:,} loop" in row["per_loop"]
        assert 0 < row["p50"] <= row["p99"] <= row["max"]
        assert 97 <= row["client_share"] + row["wire_share"] + row["server_share"] <= 103
    (folder,) = (tmp_path / "runs").iterdir()
    for trial in open_run(folder).records():
        assert trial.get(LatencyPoint) is not None
        assert trial.batch == trial.concurrency == trial[LatencyPoint].parallel
        assert (trial.counters.peak_concurrency or 0) <= trial[LatencyPoint].parallel
        assert trial.tally is not None
        assert trial.keepalive is ((trial.counters.connections or 0) < trial.tally.right / 10)


@pytest.mark.measured
def test_a_client_is_timed_from_outside_and_times_itself(httpdyno: Command, tmp_path: Path) -> None:
    ended = httpdyno(
        *("latency", "python-urllib-executor", "--workload", "plain", "--parallel", "1", "--keepalive", "off"),
        *("--mode", "both", "--duration", "3s", "--repeat", "1", "--format", "json"),
        **CACHE,
    )
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert row["mode"] == "lines"
    assert " per loop (mean ± std. dev. of 7 runs, " in row["in_process"]
    assert row["in_process_mean_ms"] > 0
    assert row["in_process_cpu_per_call_ms"] > 0
    if row["agree"] is None:
        # Another program spoiled one of the two, and the output names it.
        assert row["notes"]
    else:
        assert " per loop (mean ± std. dev. of 7 runs, " in row["per_loop"]
        assert re.fullmatch(r"(yes|no|unknown), [\d.]+x \([\d.]+ to [\d.]+\)", row["agree"])
    (folder,) = (tmp_path / "runs").iterdir()
    assert {trial.harness for trial in open_run(folder).records()} == {"", "timeit"}
