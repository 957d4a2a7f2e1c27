"""The limits of a client at a rate: real clients in real rooms, at points with a known result."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeSubject
from doubles.command_line import Command, Ended
from doubles.in_process import in_process
from httpdyno.experiments.capacity.figures import CapacitySummary
from httpdyno.model import Trial
from httpdyno.store import open_run

from .conftest import NothingLeft, Start, wait_until

WaitForEnd = Callable[["subprocess.Popen[str]"], Ended]

# Asks one URL after the other over one connection.
ASKS_IN_TURN = """
import datetime, http.client, os, sys, time, urllib.parse
connection = http.client.HTTPConnection("capacity.example")
for number, line in enumerate(sys.stdin):
    url = line.strip()
    REST
    parts = urllib.parse.urlsplit(url)
    # The duration counts from before the start: whatever takes the CPU in between, the request lies within the two.
    began, started = time.perf_counter(), datetime.datetime.now(datetime.timezone.utc)
    connection.request("GET", parts.path + "?" + parts.query)
    answer = connection.getresponse()
    length = len(answer.read())
    took_ms = (time.perf_counter() - began) * 1000
    print(f"{url},{answer.status},{started.isoformat()},{took_ms:.3f},{length}", flush=True)
"""
RESTS_ONCE = ASKS_IN_TURN.replace("REST", "time.sleep(number == 50)")
# At its first request of 1 KiB it prints that, and stops.
STOPS_ONCE = """
    if "/bytes/1024?" in url and not os.path.exists(FLAG):
        open(FLAG, "w").close()
        time.sleep(3600)
"""
GENEROUS = "p99 < rtt + delay + 60s, errors < 1%"
"""Valid on a busy machine, too."""


def of_subject(ended: Ended, subject: str) -> list[dict[str, Any]]:
    assert ended.code == 0, ended.err
    return [row for row in ended.rows if row["subject"] == subject]


def trials_in(folder: Path) -> tuple[Trial, ...]:
    (run,) = (folder / "runs").iterdir()
    return tuple(open_run(run).records())


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process."""
    return in_process(environment, tmp_path, monkeypatch, capfd)


@pytest.fixture
def in_turn(make_subject: MakeSubject, subject_folders: Path) -> tuple[str, ...]:
    """A client with one request in flight, whatever its setting."""
    make_subject("in-turn", ASKS_IN_TURN.replace("REST", ""))
    return "capacity", "in-turn", "--subjects", str(subject_folders), "--concurrency", "1", "--format", "json"


def test_more_than_littles_law_allows_is_not_held(here: Command, in_turn: tuple[str, ...], tmp_path: Path) -> None:
    # One in flight for at least 200 ms each: on any machine, however slow, at most one answer more than whole waits.
    (row,) = of_subject(here(*in_turn, "--delay", "200ms", "--rps", "10", "--duration", "1s"), "in-turn")
    assert row["held"] is not True
    (trial,) = trials_in(tmp_path)
    summary = trial.get(CapacitySummary)
    assert summary is not None
    assert summary.answers <= 1 + summary.measured_ns / 200e6
    # A client that started too slowly for the schedule has no answer in it, and so no rate.
    assert (row["right_per_s"] is None) == (summary.answers == 0)
    assert ("nothing was answered" if summary.answers == 0 else "right answers a second, not 10") in row["why_not"]


def test_our_own_generator_is_a_subject_like_any_other_tool(here: Command, tmp_path: Path) -> None:
    grid = ("--rps", "20", "--concurrency", "10", "--duration", "1s", "--slo", GENEROUS)
    (row,) = of_subject(here("capacity", "httpdyno-load", *grid, "--format", "json"), "httpdyno-load")
    assert (row["loop"], row["target"], row["concurrency"], row["errors"]) == ("open", 20.0, 10, 0)
    (trial,) = trials_in(tmp_path)
    assert trial.tally is not None
    assert trial.tally.right > 0
    assert trial.tally.wrong == 0


def test_a_run_that_was_stopped_goes_on(
    start: Start,
    wait_for_end: WaitForEnd,
    here: Command,
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
    nothing_left: NothingLeft,
) -> None:
    flag = tmp_path / "at-1-KiB"
    make_subject("in-turn", ASKS_IN_TURN.replace("    REST\n", STOPS_ONCE.replace("FLAG", repr(str(flag)))))
    subject = ("in-turn", "--subjects", str(subject_folders), "--concurrency", "1")
    grid = ("--size", "0,1KiB,2KiB", "--rps", "20", "--duration", "1s", "--slo", GENEROUS)
    command = start("capacity", *subject, *grid, "--format", "json")
    wait_until(lambda: flag.exists() or command.poll() is not None, lambda: "no second trial began")
    command.send_signal(signal.SIGINT)
    stopped = wait_for_end(command)
    assert stopped.code == 130, stopped.err
    assert "capacity --resume" in stopped.err
    assert len(trials_in(tmp_path)) == 1
    ended = here("capacity", "--resume", "latest", "--format", "json")
    assert "1 of them finished before" in ended.err
    rows = of_subject(ended, "in-turn")
    assert [(row["size"], row["concurrency"], row["target"], row["loop"]) for row in rows] == [
        (size, 1, 20.0, "open") for size in (0, 1024, 2048)
    ]
    for row in rows:
        assert row["errors"] == 0
        assert 0 < row["p50"] <= row["p99"]
    trials = trials_in(tmp_path)
    assert [trial.condition for trial in trials] == [f"{size}, 1 in flight" for size in ("0 B", "1 KiB", "2 KiB")]
    assert [trial.tally.right for trial in trials if trial.tally] == [trial.urls_given for trial in trials], [
        (t.tally, t.outcome, t.reason, t.validity, t.validity_reason) for t in trials
    ]
    nothing_left()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name a SUBJECT to measure"),
        (("go-net-htpp",), "did you mean 'go-net-http'?"),
        (("go-net-http", "--size", "1KiB,...,9KiB"), "--size: ... needs two values before it"),
        (("go-net-http", "--link-rate", "0gbit"), "--link-rate: '0gbit' is not above 0"),
        (("go-net-http", "--rtt", "-4ms"), "--rtt: '-4ms' is negative; write it like 40ms"),
        (("go-net-http", "--loss", "100%"), "--loss: '100%' is not a loss; write 0.1%, below 100 %"),
        (("go-net-http", "--queue", "10ms"), "give a --link-rate, too"),
        (("go-net-http", "--slo", "p98 < 5ms"), "unknown figure 'p98'"),
        (("go-net-http", "--loop", "half"), "choose from: closed, open"),
        (("go-net-http", "--duration", "10ms"), "--duration: 0.01 s are too short"),
        (
            ("go-net-http", "--duration", "8s", "--loop", "closed"),
            "--duration conflicts with the closed loop, which has no schedule",
        ),
        (("go-net-http", "--scale", "1/10"), "--scale requires a published grid"),
        (("wrk", "--loop", "open"), "wrk cannot send in an open loop"),
        (
            ("go-net-http", "--size", "1..1000", "--rtt", "1ms..1000ms"),
            "1,000,000 trials would take about",
        ),
    ],
)
def test_bad_input_gets_one_clear_line(here: Command, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    ended = here("capacity", *arguments)
    assert (ended.code, ended.out) == (2, ""), ended.err
    (line,) = ended.err.splitlines()
    assert said in line
    assert not (tmp_path / "runs").exists()


@pytest.mark.measured
def test_an_easy_point_is_held(httpdyno: Command, tmp_path: Path) -> None:
    objective = "p99 < rtt + delay + 5s, errors < 1%"
    grid = ("--size", "0,20KiB", "--rps", "50", "--concurrency", "20", "--duration", "1s", "--slo", objective)
    # They were built with the other subjects of the tests, in the user's own cache.
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    ended = httpdyno("capacity", "go-net-http", "python-aiohttp", *grid, "--format", "json", XDG_CACHE_HOME=cache)
    for subject in ("go-net-http", "python-aiohttp"):
        rows = of_subject(ended, subject)
        assert [(row["size"], row["concurrency"], row["target"], row["loop"]) for row in rows] == [
            (0, 20, 50.0, "open"),
            (20_480, 20, 50.0, "open"),
        ]
        for row in rows:
            assert row["held"] is True, row
            assert row["right_per_s"] == pytest.approx(50, rel=0.3)
            assert row["errors"] == 0
            assert 0 < row["p50"] <= row["p99"]
    (folder,) = (tmp_path / "runs").iterdir()
    assert open_run(folder).manifest.settings["size"] == "0B,20KiB"


@pytest.mark.measured
def test_the_rate_of_our_own_generator_is_held(httpdyno: Command) -> None:
    grid = ("--rps", "100", "--concurrency", "10", "--duration", "1s", "--slo", "p99 < 5s, errors < 1%")
    (row,) = of_subject(httpdyno("capacity", "httpdyno-load", *grid, "--format", "json"), "httpdyno-load")
    assert row["held"] is True, row
    assert row["right_per_s"] == pytest.approx(100, rel=0.3)


@pytest.mark.measured
def test_more_than_the_link_carries_is_not_held(httpdyno: Command, in_turn: tuple[str, ...]) -> None:
    # 100 KiB fifty times a second are 41 Mbit/s.
    grid = ("--size", "100KiB", "--link-rate", "10mbit", "--rps", "50", "--duration", "2s")
    (row,) = of_subject(httpdyno(*in_turn, *grid), "in-turn")
    assert row["held"] is not True
    assert row["right_per_s"] < 12.5
    assert row["linkRate"] == 10_000_000
    assert row["limit"] == "bandwidth"


@pytest.mark.measured
def test_littles_law_is_named_as_the_limit(httpdyno: Command, in_turn: tuple[str, ...]) -> None:
    (row,) = of_subject(httpdyno(*in_turn, "--delay", "200ms", "--rps", "50", "--duration", "2s"), "in-turn")
    assert row["limit"] == "concurrency"


@pytest.mark.measured
def test_a_rest_of_the_client_shows_in_the_response_times(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path
) -> None:
    # Coordinated omission: each single request was fast.
    make_subject("resting", RESTS_ONCE)
    objective = "max < 700ms, errors < 1%"
    grid = ("--rps", "50", "--concurrency", "1", "--duration", "3s", "--slo", objective)
    ended = httpdyno("capacity", "resting", "--subjects", str(subject_folders), *grid, "--format", "json")
    (row,) = of_subject(ended, "resting")
    assert row["held"] is not True
    assert "max was" in row["why_not"] or "right answers a second" in row["why_not"]
    assert row["p99"] > 500
    assert row["mean"] < row["p99"] / 3
