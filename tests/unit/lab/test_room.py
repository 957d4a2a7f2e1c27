"""The engine's command line for a trial."""

from pathlib import Path

import pytest

from httpdyno.errors import InvalidValue
from httpdyno.lab.room import Command, Machine, RoomFiles, room_argv
from httpdyno.model import Condition, Link, Workload

FILES = RoomFiles(Path("/in"), Path("/out"), Path("/err"), Path("/report"), Path("/arrivals"), 9)
COMMAND = Command(("./client", "-v"), Path("/build"), {"B": "2", "A": "1=1"}, (Path("/a/cacert.pem"), Path("/b")))
CONDITION = Condition("crawl", "top-sites", Workload(("https://a.example/",), timeout_s=2.5), seed=7)


def test_everything_that_a_trial_needs_is_said() -> None:
    condition = Condition(
        "crawl", "web.toml", Workload((), timeout_s=1), seed=3, deadline_s=90.5, memory_bytes=2**31, rate_per_s=12.5
    )
    argv = room_argv(Path("/engine"), condition, Machine("1-2", "0"), FILES, COMMAND)
    assert " ".join(argv) == (
        "/engine room --web web.toml --seed 3 --timeout 1 --deadline 90.5s --subject-cpus 1-2 --engine-cpus 0 "
        "--memory 2147483648 --rate 12.5 --stdin /in --stdout /out --stderr /err --report /report "
        "--arrivals /arrivals --progress 9 --clean-environment --env A=1=1 --env B=2 "
        "--trust-file /a/cacert.pem --trust-file /b --directory /build -- ./client -v"
    )


def test_what_was_not_asked_for_is_left_to_the_engine() -> None:
    argv = room_argv(Path("/engine"), CONDITION, Machine(), FILES, COMMAND)
    for flag in ("--subject-cpus", "--engine-cpus", "--memory", "--rate"):
        assert flag not in argv
    assert argv[argv.index("--timeout") + 1] == "2.5"
    assert argv[argv.index("--deadline") + 1] == "600s"


def test_long_and_short_times_are_said_exactly() -> None:
    workload = Workload((), timeout_s=1234567.125)
    condition = Condition("crawl", "plain", workload, deadline_s=1234567.0, rate_per_s=0.00000125)
    said = " ".join(room_argv(Path("/engine"), condition, Machine(), FILES, COMMAND))
    assert "--timeout 1234567.125 --deadline 1234567s --rate 0.00000125 " in said
    assert workload.environment(1)["REQUEST_TIMEOUT"] == "1234567.125"


def test_what_no_room_can_be_is_refused() -> None:
    live = Condition("crawl", "live", Workload(()))
    slow = Condition("crawl", "plain", Workload(()), link=Link(round_trip_ns=40_000_000))
    with pytest.raises(InvalidValue, match="live web"):
        room_argv(Path("/engine"), live, Machine(), FILES, COMMAND)
    with pytest.raises(InvalidValue, match="link rtt=40ms"):
        room_argv(Path("/engine"), slow, Machine(), FILES, COMMAND)


def test_the_cpus_of_a_trial_are_those_that_were_named() -> None:
    assert Machine("1", "0,2").cpus({0, 1, 2, 3}) == {0, 1, 2}
    assert Machine("1").cpus({0, 1, 2, 3}) == {0, 1, 2, 3}
    assert Machine().cpus({0, 5}) == {0, 5}
