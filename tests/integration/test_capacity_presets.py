"""Points of the published grids, measured again: the closed loop of a real client, and its output."""

import csv
from pathlib import Path

import pytest

from doubles.command_line import Command
from doubles.in_process import in_process
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.model import Trial
from httpdyno.store import open_run

HEADER = ["Delay", "Size", "Concurrency", "Average Latency (s)", "Requests/sec"]


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process."""
    return in_process(environment, tmp_path, monkeypatch, capfd)


def trials_in(folder: Path) -> tuple[Trial, ...]:
    (run,) = (folder / "runs").iterdir()
    return tuple(open_run(run).records())


def test_a_point_of_a_published_grid_is_printed_as_it_was_published(here: Command, tmp_path: Path) -> None:
    part = ("--size", "0", "--delay", "100ms", "--concurrency", "5")
    ended = here("capacity", "native", "--preset", "published-batch-2", *part, "--format", "csv")
    assert ended.code == 0, ended.err
    header, row = list(csv.reader(ended.out.splitlines()))
    assert (header, row[:3]) == (HEADER, ["100", "0", "5"])
    latency_s, per_s = map(float, row[3:])
    # Nothing is faster than its think time, and no more are in flight than may be.
    assert latency_s >= 0.1
    assert 0 < per_s * 0.1 <= 1.01 * 5
    (kept,) = (tmp_path / "runs").glob("*/published-batch-2.csv")
    assert kept.read_text() == ended.out
    (trial,) = trials_in(tmp_path)
    assert trial.tally is not None
    assert (trial.tally.wrong, trial.tally.right) == (0, trial.urls_given)
    assert trial.timeout_ns == 20 * 10**9
    assert 1 <= (trial.counters.peak_concurrency or 0) <= 5


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--preset", "published-batch-5"],
            "capacity has no preset 'published-batch-5'; choose from: published-batch-1",
        ),
        (["--preset", "published-batch-4", "--scale", "2"], "--scale: '2' is not a share"),
        (["--preset", "published-batch-2", "--as-labelled"], "the labels of published-batch-2 are right"),
        (["go-net-http", "--as-labelled"], "--as-labelled requires a published grid"),
    ],
)
def test_options_without_a_published_grid_get_one_clear_line(here: Command, options: list[str], said: str) -> None:
    ended = here("capacity", *options)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.measured
def test_a_closed_loop_comes_as_near_to_littles_law_as_the_machine_lets_it(httpdyno: Command, tmp_path: Path) -> None:
    part = ("--size", "0,100KiB", "--delay", "100ms", "--concurrency", "5,20")
    ended = httpdyno("capacity", "go-net-http", "--preset", "published-batch-2", *part, "--format", "csv")
    assert ended.code == 0, ended.err
    header, *rows = list(csv.reader(ended.out.splitlines()))
    assert header == HEADER
    assert [row[:3] for row in rows] == [
        ["100", "0", "5"],
        ["100", "0", "20"],
        ["100", "100", "5"],
        ["100", "100", "20"],
    ]
    for row in rows:
        in_flight, latency_s, per_s = float(row[2]), float(row[3]), float(row[4])
        # Nothing is faster than its think time, and no more are in flight than may be.
        assert latency_s >= 0.1
        assert in_flight / 4 < per_s * 0.1 <= 1.01 * in_flight
    (kept,) = (tmp_path / "runs").glob("*/published-batch-2.csv")
    assert kept.read_text() == ended.out
    for trial in trials_in(tmp_path):
        assert trial.tally is not None
        assert (trial.tally.wrong, trial.tally.right) == (0, trial.urls_given)
        assert trial.timeout_ns == 20 * 10**9
        assert trial.counters.peak_concurrency == trial.concurrency


@pytest.mark.measured
def test_a_scaled_point_of_batch_4_has_the_link_that_was_published(httpdyno: Command, tmp_path: Path) -> None:
    part = ("--preset", "published-batch-4", "--scale", "1/10", "--queue", "100ms", "--concurrency", "20")
    ended = httpdyno("capacity", *part, "--link-rate", "100mbit", "--format", "csv")
    (trial,) = trials_in(tmp_path)
    assert ended.code == 0, ended.err
    (row,) = list(csv.DictReader(ended.out.splitlines()))
    assert (row["Delay"], row["Bandwidth"], row["Concurrency"]) == ("100", "0.1", "20")
    # 100 Mbit/s carry 58.9 answers of 200 KiB a second in packets of 1,500 bytes.
    assert float(row["Requests/sec"]) < 58.9 * 1.15
    assert trial.get(CapacityPoint) is not None
    assert (trial[CapacityPoint].target_per_s, trial[CapacityPoint].queue_ns, trial.subject) == (
        200,
        10**8,
        "go-net-http",
    )
    assert trial.get(CapacitySummary) is not None
    assert trial[CapacitySummary].held is False
