"""Every experiment with an origin can use that of another machine."""

from collections.abc import Callable
from pathlib import Path

import pytest

from doubles.command_line import Command
from doubles.two_machines import AGAINST, RunningOrigin
from httpdyno.experiments.capacity.figures import CapacitySummary
from httpdyno.experiments.cost.judge import CostSummary, RequestClock
from httpdyno.experiments.latency.judge import LatencySummary
from httpdyno.store import open_run


def test_try_asks_there_too(origin: Callable[..., RunningOrigin], here: Command, urls: Path) -> None:
    origin()
    tried = here("try", "native", "--against", AGAINST, "--urls", str(urls), "--format", "json")
    assert (tried.code, tried.rows[0]["wrong"]) == (0, 0), tried.err


@pytest.mark.measured
def test_tune_measures_there_too(origin: Callable[..., RunningOrigin], here: Command, tmp_path: Path) -> None:
    origin()
    tuned = here(
        "tune", "native", "--against", AGAINST, "--limit", "2000", "--duration", "0.5s", "--format", "json"
    )  # fmt: skip
    assert tuned.code in {0, 3}, tuned.err
    (folder,) = (tmp_path / "runs").iterdir()
    trials = open_run(folder).records()
    assert len(trials) > 1
    assert {trial.link for trial in trials} == {f"against {AGAINST}"}


def test_capacity_asks_there_too_and_takes_no_link_of_ours(
    origin: Callable[..., RunningOrigin], here: Command, tmp_path: Path
) -> None:
    origin()
    asked = ["capacity", "native", "--against", AGAINST, "--rps", "100", "--size", "0,1KiB", "--quick"]
    ended = here(*asked, "--format", "json")
    assert ended.code == 0, ended.err
    assert [row["size"] for row in ended.rows] == [0, 1024]
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.settings["against"] == AGAINST
    for trial in run.records():
        assert trial.link == f"against {AGAINST}"
        assert trial.get(CapacitySummary) is not None
        assert (trial.tally.wrong if trial.tally else None, trial[CapacitySummary].errors) == (0, 0)
    for option, value in (("--rtt", "10ms"), ("--link", "mtu=9000")):
        refused = here(*asked, option, value)
        assert refused.code == 2
        assert "conflicts with --link, --rtt, --link-rate, --queue and --loss" in refused.err


def test_the_way_there_takes_the_place_of_a_presets_link(
    origin: Callable[..., RunningOrigin], here: Command, tmp_path: Path
) -> None:
    origin()
    asked = ("--size", "0", "--delay", "100ms", "--concurrency", "5", "--against", AGAINST)
    ended = here("capacity", "native", "--preset", "published-batch-1-public-network", *asked, "--scale", "1/10")
    assert ended.code == 0, ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    assert [trial.link for trial in open_run(folder).records()] == [f"against {AGAINST}"]
    # There the link is the question.
    refused = here("capacity", "native", "--preset", "published-batch-4", "--against", AGAINST)
    assert refused.code == 2
    assert "or the preset that sets them" in refused.err


def test_documents_come_from_the_other_machine_and_its_stamps_give_their_start(
    origin: Callable[..., RunningOrigin], here: Command, tmp_path: Path
) -> None:
    origin()
    ended = here("cost", "native", "--against", AGAINST, "--documents", "600", "--quick", "--format", "json")
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert (row["verified"], row["wrong"], row["connections"], row["wire_bytes"]) == (600, 0, 1, None)
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.settings["against"] == AGAINST
    (trial,) = run.records()
    assert trial.link == f"against {AGAINST}"
    assert not trial.receive_steering
    assert trial.get(CostSummary) is not None
    # The clock of a machine at the end of a cable is known far better than the CPU clock is read.
    assert trial[CostSummary].requests_timed_by is RequestClock.ORIGIN
    assert trial[CostSummary].start_ns is not None
    assert trial[CostSummary].real_ns is not None
    assert 0 < trial[CostSummary].start_ns < trial[CostSummary].real_ns


def test_a_call_over_a_cable_is_the_servers_the_wires_and_the_clients(
    origin: Callable[..., RunningOrigin], here: Command, tmp_path: Path
) -> None:
    origin()
    ended = here(
        "latency", "native", "--against", AGAINST, "--workload", "plain", "--parallel", "1", "--keepalive", "on",
        "--mode", "lines", "--duration", "2s", "--repeat", "1", "--format", "json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert row["wrong"] == 0
    (folder,) = (tmp_path / "runs").iterdir()
    (trial,) = open_run(folder).records()
    assert (trial.link, trial.peer) == (f"against {AGAINST}", "origin")
    found, way = trial.get(LatencySummary), trial.counters.against
    assert found is not None
    assert way is not None
    assert found.call_ns is not None
    assert way.clock_bound_ns is not None
    shares = (row["client_share"], row["wire_share"], row["server_share"])
    if way.clock_bound_ns < found.call_ns:
        assert None not in shares
        assert found.wire_ns is not None
        assert found.wire_ns > 0
    else:
        assert shares == (None, None, None)
