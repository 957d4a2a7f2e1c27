"""The frontier of a real client over real links: where the link is the limit, the result is known beforehand."""

from pathlib import Path

import pytest

from doubles.command_line import Command
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.frontier import find_frontiers
from httpdyno.store import open_run

pytestmark = pytest.mark.measured

KIB = 1024
MBIT = 10**6
CARRIES = {5 * MBIT: 10 * KIB, 10 * MBIT: 20 * KIB, 20 * MBIT: 40 * KIB}
"""Of 0, 10, ... 50 KiB the largest that each rate carries fifty times a second."""


def test_a_client_reaches_as_far_as_its_link(httpdyno: Command, tmp_path: Path) -> None:
    rates = ",".join(f"{rate // MBIT}mbit" for rate in CARRIES)
    grid = ("--rps", "50", "--size", "0,10KiB,...,50KiB", "--link-rate", rates, "--concurrency", "20", "--quick")

    ended = httpdyno("capacity", "native", *grid, "--frontier")

    assert ended.code == 0, ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    trials = run.records()
    assert run.manifest.settings["frontier"] is True
    assert all(
        trial.get(CapacityPoint) is not None and trial[CapacityPoint].size_bytes % (10 * KIB) == 0 for trial in trials
    )
    (found,) = find_frontiers(trials, run.manifest.settings)
    assert [point.x for point in found.points] == list(CARRIES)
    for point in found.points:
        assert point.fails_from_bytes is not None, "what no link carries needs no trial"
        assert (point.held, point.doubtful) == (CARRIES[point.x], False)
    assert found.trials == len(trials)
    assert "largest size at which 50 requests a second are held" in ended.out
