"""Servers in real rooms under a real load: good and bad ones, each with the right verdict, and the run continues."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from doubles.command_line import Command
from doubles.in_process import in_process
from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.lab.conformance import write_proof
from httpdyno.lab.engine import Engine
from httpdyno.store import open_run
from httpdyno.subjects.build import build_place, find_build
from httpdyno.subjects.cache import cache_folder
from httpdyno.subjects.catalogue import read_catalogue, read_subject

FIXTURE = Path(__file__).parents[1] / "fixtures" / "bad-servers" / "main.py"
DOCUMENT = Path(__file__).parents[2] / "subjects" / "servers" / "flask-dev" / "document.json"
CACHE = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")}
"""The user's own cache: it has the builds of the contract test."""
FLASK = ("flask-gunicorn", "--workloads-ms", "20,100", "--duration", "1s", "--repeat", "1")
"""A server that works on as many requests as it has threads, ten by default; each waits for 0.1 s."""
WAIT_MS = 100
DEFINITION = """\
kind = "server"
language = "Python"
method = "{name}"
[run]
argv = ["python3", "main.py"]
environment = {{ BAD = "{bad}", AFTER = "20" }}
[capabilities]
endpoints = ["plain", "json", "workloads", "timeout"]
"""
ENDINGS = {
    "good": ("ok", ""),
    "deaf": ("never_listened", "ended before it listened: ended with 3: binds to nothing"),
    "dies": ("died", "killed by SIGKILL: out of ideas"),
    "lies": ("wrong_answers", "under load "),
    "leaks": ("leaked", "used up its descriptors, "),
}


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process."""
    return in_process(environment, tmp_path, monkeypatch, capfd)


@pytest.fixture
def servers(here: Command, tmp_path: Path, engine: Engine) -> Path:
    """Make a server of each kind; its claims are taken for proved, which tests/contract does for real ones."""
    digest = engine.identity().sha256
    for bad in ENDINGS:
        folder = tmp_path / "servers" / bad
        folder.mkdir(parents=True)
        (folder / "subject.toml").write_text(DEFINITION.format(name=bad, bad=bad), encoding="utf-8")
        shutil.copy(FIXTURE, folder / "main.py")
        shutil.copy(DOCUMENT, folder / "document.json")
    built = here("subjects", "build", *ENDINGS, "--subjects", str(tmp_path / "servers"))
    assert built.code == 0, built.err
    for bad in ENDINGS:
        place = build_place(read_subject(tmp_path / "servers" / bad), tmp_path / "cache" / "httpdyno")
        write_proof(place, digest, ())
    return tmp_path / "servers"


def test_bad_servers_are_named_with_evidence_and_the_good_one_is_measured(
    here: Command, servers: Path, tmp_path: Path, nothing_left: Callable[..., None]
) -> None:
    ended = here(
        *("service", *ENDINGS, "--subjects", str(servers), "--repeat", "1", "--format", "json"),
        *("--workloads-ms", f"20,{WAIT_MS}", "--connections", "20", "--duration", "1s", "--server-cpus", "all"),
    )
    assert ended.code == 0, ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    trials = {trial.subject: trial for trial in open_run(folder).records()}
    for name, (outcome, reason) in ENDINGS.items():
        assert trials[name].outcome.value == outcome, (name, trials[name].reason, ended.err)
        assert str(trials[name].reason or "").startswith(reason), (name, trials[name].reason)
    (good,) = [row for row in ended.rows if row["subject"] == "good"]
    assert good["errors"] == good["wrong"] == 0
    assert good["overhead_p50_ms"] > 0
    # 20 connections and a wait of 0.1 s make 200 a second at most, and what was under way before.
    assert 0 < good["requestsPerSec"] <= 221
    assert 0 < good["open"] <= 20
    # The whole machine, except the generator's CPU.
    available = sorted(os.sched_getaffinity(0))
    of_server = [cpu.cpu for cpu in trials["good"].counters.cpus or () if cpu.role in {"subject", "both"}]
    assert of_server == (available[1:] or available)
    assert good["cpus"] == len(of_server)
    assert (folder / "report.html").exists()
    nothing_left()


def test_an_open_loop_has_the_schedule_of_an_ideal_server(here: Command, servers: Path, tmp_path: Path) -> None:
    asked = ("--workloads-ms", f"20,{WAIT_MS}", "--loop", "open", "--connections", "4", "--duration", "1s")
    ended = here("service", "good", "--subjects", str(servers), *asked, "--repeat", "1")
    assert ended.code == 0, ended.err
    assert "open loop: response times count from the due time of a request" in ended.out
    (folder,) = (tmp_path / "runs").iterdir()
    (trial,) = open_run(folder).records()
    assert trial.get(ServicePoint) is not None
    # As many as keep an ideal server at four in flight.
    assert (trial[ServicePoint].loop.value, trial[ServicePoint].rate_per_s) == ("open", 4 * 1000 / WAIT_MS)
    assert trial.get(ServiceSummary) is not None
    assert (trial[ServiceSummary].per_s or 0) > 0


def test_what_requests_failed_with_is_named(here: Command, servers: Path) -> None:
    asked = ("--workloads-ms", f"20,{WAIT_MS}", "--timeout-ms", "60", "--connections", "4", "--duration", "1s")
    ended = here("service", "good", "--subjects", str(servers), *asked, "--repeat", "1", "--format", "json")
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert row["errors"] > 0
    assert row["failures"] == f"{row['errors']:,} x 503"
    assert (row["held"], row["why_not"]) == (False, f"100.0 % of the requests failed: {row['failures']}")


@pytest.mark.measured
def test_a_search_finds_how_many_connections_are_held(httpdyno: Command, tmp_path: Path) -> None:
    ended = httpdyno(
        *("service", *FLASK, "--search", "--quick", "--threads", "3"),
        *("--connections", "2", "--most-connections", "4"),
        **CACHE,
    )
    assert ended.code == 0, ended.err
    (found,) = ended.table("up to how many connections each server holds")
    # Three threads cannot answer four connections in one wait.
    assert (found["holds"], found["breaks at"]) == ("2", "4")
    assert found["how"]
    (folder,) = (tmp_path / "runs").iterdir()
    tried = [trial[ServicePoint].connections for trial in open_run(folder).records() if trial.get(ServicePoint)]
    # One that was disturbed is tried again.
    assert list(dict.fromkeys(tried)) == [2, 4]
    assert int(found["trials"]) == len(tried)


@pytest.mark.measured
def test_threads_are_an_axis(httpdyno: Command) -> None:
    asked = ("--threads", "1,unlimited", "--connections", "4", "--format", "json")
    ended = httpdyno("service", *FLASK, *asked, **CACHE)
    assert ended.code == 0, ended.err
    one, many = sorted(ended.rows, key=lambda row: row["threads"] is None)
    assert (one["threads"], many["threads"]) == (1, None)
    # Four connections of which one waits at a time, and four that all wait.
    assert one["held"] is False
    assert 0 < one["requestsPerSec"] <= 11
    assert one["requestsPerSec"] < many["requestsPerSec"] <= 44
    assert one["cpu_per_request_ms"] > 0


@pytest.mark.measured
def test_the_generator_of_the_publication_can_send(httpdyno: Command) -> None:
    (rewrk,) = read_catalogue().select(["rewrk"])
    if find_build(rewrk, cache_folder()) is None:
        pytest.skip("rewrk is not built; build it with: httpdyno subjects install rewrk")
    asked = ("--generator", "rewrk", "--connections", "4")
    ended = httpdyno("service", *FLASK, *asked, "--format", "json", **CACHE)
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert row["generator"] == "rewrk"
    # It prints no percentiles.
    assert (row["rank"], row["overhead_p99_ms"]) == (None, None)
    assert row["slowest5"] >= WAIT_MS
    assert 0 < row["requestsPerSec"] <= 44
