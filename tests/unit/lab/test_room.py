"""The engine's command line for a trial."""

from pathlib import Path
from typing import Any

import pytest

from httpdyno.errors import InvalidValue
from httpdyno.lab.room import Command, Pinning, RoomFile, RoomSpec
from httpdyno.model import Condition, Link, Workload

FILES: dict[RoomFile, Path] = {
    "stdin": Path("/in"),
    "stdout": Path("/out"),
    "stderr": Path("/err"),
    "report": Path("/report"),
    "arrivals": Path("/arrivals"),
    "driver-output": Path("/driver"),
    "peer-output": Path("/peer"),
}
COMMAND = Command(("./client", "-v"), Path("/build"), {"B": "2", "A": "1=1"}, (Path("/a/cacert.pem"), Path("/b")))
CONDITION = Condition("crawl", "top-sites", Workload(("https://a.example/",), timeout_s=2.5), seed=7)


def argv_of(condition: Condition, pinning: Pinning = Pinning()) -> list[str]:  # noqa: B008
    return RoomSpec(COMMAND, condition, pinning).argv(Path("/engine"), FILES, 9)


def test_everything_that_a_trial_needs_is_said() -> None:
    condition = Condition(
        "crawl",
        "web.toml",
        Workload((), timeout_s=1),
        seed=3,
        link=Link.parse("rtt=40ms,rate=1gbit"),
        link_seed=5,
        deadline_s=90.5,
        memory_bytes=2**31,
        rate_per_s=12.5,
        grace_s=1.5,
    )
    argv = argv_of(condition, Pinning("1-2", "0"))
    assert " ".join(argv) == (
        "/engine room --web web.toml --seed 3 --timeout 1 --deadline 90.5s "
        "--link rtt=40ms,rate=1gbit,queue=100ms --link-seed 5 --subject-cpus 1-2 --engine-cpus 0 "
        "--memory 2147483648 --rate 12.5 --grace 1.5s --stdin /in --arrivals /arrivals "
        "--stdout /out --stderr /err --report /report --progress 9 --clean-environment --env A=1=1 --env B=2 "
        "--trust-file /a/cacert.pem --trust-file /b --directory /build -- ./client -v"
    )


def test_unset_options_are_left_to_the_engine() -> None:
    argv = argv_of(CONDITION)
    for flag in ("--subject-cpus", "--engine-cpus", "--memory", "--rate", "--grace", "--link", "--link-seed"):
        assert flag not in argv
    assert argv[argv.index("--timeout") + 1] == "2.5"
    assert argv[argv.index("--deadline") + 1] == "600s"


def test_another_machine_takes_the_place_of_a_link() -> None:
    there = Condition("bench", "plain", Workload(Path("urls")), against="http://other:8080")
    argv = argv_of(there)
    assert argv[argv.index("--against") + 1] == "http://other:8080"
    assert "--link" not in argv


def test_long_and_short_times_are_said_exactly() -> None:
    workload = Workload((), timeout_s=1234567.125)
    condition = Condition("crawl", "plain", workload, deadline_s=1234567.0, rate_per_s=0.00000125)
    said = " ".join(argv_of(condition))
    assert "--timeout 1234567.125 --deadline 1234567s --rate 0.00000125 " in said
    assert workload.environment(1)["REQUEST_TIMEOUT"] == "1234567.125"


def test_the_real_internet_is_on_the_machines_network() -> None:
    live = Condition("crawl", "live", Workload(()), per_host=3, per_host_interval_s=0.25, memory_bytes=2**30)
    assert " ".join(argv_of(live)) == (
        "/engine room --network host --timeout 5 --deadline 600s --memory 1073741824 "
        "--per-host 3 --per-host-interval 0.25s --stdin /in --stdout /out --stderr /err --report /report --progress 9 "
        "--clean-environment --env A=1=1 --env B=2 --directory /build -- ./client -v"
    )


def test_the_cpus_of_a_trial_are_those_that_were_named() -> None:
    assert Pinning("1", "0,2").cpus({0, 1, 2, 3}) == {0, 1, 2}
    assert Pinning("1").cpus({0, 1, 2, 3}) == {0, 1, 2, 3}
    assert Pinning().cpus({0, 5}) == {0, 5}


def test_batches_and_receive_steering_become_options() -> None:
    condition = Condition("latency", "plain", Workload(()), batch=20, receive_steering=True)
    argv = argv_of(condition)
    assert argv[argv.index("--batch") + 1] == "20"
    assert argv[argv.index("--receive-steering") + 1] == "on"
    assert not {"--batch", "--receive-steering"} & set(argv_of(CONDITION))


@pytest.mark.parametrize("both", [{"batch": 0}, {"batch": 2, "rate_per_s": 1.0}, {"peer": "a", "against": "http://b"}])
def test_what_excludes_each_other_is_refused(both: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue):
        Condition("latency", "plain", Workload(()), **both)
