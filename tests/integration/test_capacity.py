"""Up to where does a client hold a rate: real clients in real rooms, at points with a known answer."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import MakeSubject
from doubles.command_line import Command, Ended
from httpdyno.store import open_run

Start = Callable[..., "subprocess.Popen[str]"]
WaitForEnd = Callable[[object], Ended]

# Asks one URL after the other over one connection.
ASKS_IN_TURN = """
import datetime, http.client, sys, time, urllib.parse
connection = http.client.HTTPConnection("capacity.example")
for number, line in enumerate(sys.stdin):
    url = line.strip()
    REST
    parts = urllib.parse.urlsplit(url)
    started, began = datetime.datetime.now(datetime.timezone.utc), time.perf_counter()
    connection.request("GET", parts.path + "?" + parts.query)
    answer = connection.getresponse()
    length = len(answer.read())
    took_ms = (time.perf_counter() - began) * 1000
    print(f"{url},{answer.status},{started.isoformat()},{took_ms:.3f},{length}", flush=True)
"""
RESTS_ONCE = ASKS_IN_TURN.replace("REST", "time.sleep(number == 50)")
GENEROUS = "p99 < rtt + delay + 5s, errors < 1%"
"""Holds also on a machine that has other work."""


def of_subject(ended: Ended, subject: str) -> list[dict[str, Any]]:
    assert ended.code == 0, ended.err
    return [row for row in ended.rows if row["subject"] == subject]


@pytest.fixture
def in_turn(make_subject: MakeSubject, subject_folders: Path) -> tuple[str, ...]:
    """A client that has one request in flight, whatever it is told."""
    make_subject("in-turn", ASKS_IN_TURN.replace("REST", ""))
    return "capacity", "in-turn", "--subjects", str(subject_folders), "--concurrency", "1", "--format", "json"


def test_what_is_easy_is_held(httpdyno: Command, tmp_path: Path) -> None:
    grid = ("--size", "0,20KiB", "--rps", "50", "--concurrency", "20", "--duration", "1s", "--slo", GENEROUS)
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
            assert row["held"] is True or row["verdict"] != "VALID", row
            assert row["perSec"] == pytest.approx(50, rel=0.3)
            assert row["errors"] == 0
            assert 0 < row["p50"] <= row["p99"]
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    trials = run.records()
    assert [trial.condition for trial in trials] == [*["0 B, 20 in flight"] * 2, *["20 KiB, 20 in flight"] * 2]
    assert all(trial.tally is not None and trial.tally.right == trial.urls_given for trial in trials)
    assert run.manifest.settings["size"] == "0B,20KiB"


def test_more_than_littles_law_allows_is_not_held(httpdyno: Command, in_turn: tuple[str, ...]) -> None:
    # One in flight for 200 ms each is five a second.
    (row,) = of_subject(httpdyno(*in_turn, "--delay", "200ms", "--rps", "50", "--duration", "2s"), "in-turn")
    assert row["held"] is not True
    assert row["perSec"] < 5.1
    assert "right answers a second, not 50" in row["whyNot"]
    assert row["limit"] == "concurrency" or row["verdict"] != "VALID"


def test_more_than_the_link_carries_is_not_held(httpdyno: Command, in_turn: tuple[str, ...]) -> None:
    # 100 KiB fifty times a second are 41 Mbit/s.
    grid = ("--size", "100KiB", "--link-rate", "10mbit", "--rps", "50", "--duration", "2s")
    ended = httpdyno(*in_turn, *grid)
    (row,) = ended.rows
    if row["verdict"] == "refused" and "the link is not what was asked for" in row["whyNot"]:
        pytest.skip(f"this machine is too busy for a link: {row['whyNot']}")
    assert ended.code == 0, ended.err
    assert row["held"] is not True
    assert row["perSec"] < 12.5
    assert row["linkRate"] == 10_000_000
    assert row["limit"] == "bandwidth" or row["verdict"] != "VALID"


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
    # A machine that has other work may take the rate, too.
    assert "max was" in row["whyNot"] or "right answers a second" in row["whyNot"]
    assert row["p99"] > 500
    assert row["mean"] < row["p99"] / 3


def test_our_own_generator_is_measured_like_any_other_tool(httpdyno: Command) -> None:
    grid = ("--rps", "100", "--concurrency", "10", "--duration", "1s", "--slo", GENEROUS)
    (row,) = of_subject(httpdyno("capacity", "httpdyno-load", *grid, "--format", "json"), "httpdyno-load")
    assert row["held"] is True or row["verdict"] != "VALID", row
    assert row["perSec"] == pytest.approx(100, rel=0.3)


def test_a_run_that_was_stopped_goes_on(
    start: Start,
    wait_for_end: WaitForEnd,
    httpdyno: Command,
    in_turn: tuple[str, ...],
    tmp_path: Path,
    nothing_left: Callable[..., None],
) -> None:
    grid = ("--size", "0,1KiB,...,5KiB", "--rps", "20", "--duration", "1s", "--slo", GENEROUS)
    command = start(*in_turn, *grid)
    runs = tmp_path / "runs"
    deadline = time.monotonic() + 60
    while not list(runs.glob("*/parts/trial-*")):
        assert command.poll() is None, command.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    command.send_signal(signal.SIGINT)
    stopped = wait_for_end(command)
    assert stopped.code == 130, stopped.err
    assert "capacity --resume" in stopped.err
    before = len(open_run(next(runs.iterdir())).trials)
    assert 1 <= before < 6
    ended = httpdyno("capacity", "--resume", "latest", "--format", "json")
    assert len(of_subject(ended, "in-turn")) == 6
    assert f"{before} of them finished before" in ended.err
    nothing_left()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name the SUBJECT whose capacity is asked for"),
        (("go-net-htpp",), "did you mean 'go-net-http'?"),
        (("go-net-http", "--size", "1KiB,...,9KiB"), "--size: ... needs two values before it"),
        (("go-net-http", "--link-rate", "0gbit"), "--link-rate: '0gbit' lets nothing through"),
        (("go-net-http", "--rtt", "-4ms"), "--rtt: '-4ms' is not understood"),
        (("go-net-http", "--loss", "100%"), "--loss: '100%' is not understood"),
        (("go-net-http", "--queue", "10ms"), "give a --link-rate, too"),
        (("go-net-http", "--slo", "p98 < 5ms"), "there is no 'p98'"),
        (("go-net-http", "--loop", "half"), "known are: closed, open"),
        (("go-net-http", "--duration", "10ms"), "--duration: 0.01 s are too short"),
        (("go-net-http", "--scale", "1/10"), "--scale: only a published grid has it"),
        (("wrk",), "wrk cannot send in an open loop"),
        (
            ("go-net-http", "--size", "1..1000", "--rtt", "1ms..1000ms"),
            "1,000,000 trials would take about",
        ),
    ],
)
def test_bad_input_gets_one_clear_line(
    httpdyno: Command, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    ended = httpdyno("capacity", *arguments)
    assert (ended.code, ended.out) == (2, ""), ended.err
    (line,) = ended.err.splitlines()
    assert said in line
    assert not (tmp_path / "runs").exists()
