"""The printed frontiers of subjects: no size is claimed that was not observed to hold."""

from dataclasses import replace

import pytest

from doubles.capacity import MS, Simulated, capacity_trials, point
from httpdyno.experiments.capacity.axes import CONCURRENCY, ROUND_TRIP, Axes
from httpdyno.experiments.capacity.frontier import Frontier, FrontierPoint, find_frontiers
from httpdyno.experiments.capacity.present import capacity_views, reach_legend, reach_table

KIB = 1024
AXES = Axes(
    sizes_bytes=tuple(KIB * size for size in range(0, 501, 50)),
    round_trips_ns=tuple(MS * rtt for rtt in (0, 20, 400)),
    rates_bits_per_s=(2_000_000_000,),
    concurrencies=(600,),
)


def boundary(size: int | None, surely: int | None, fails: int | None, *, doubtful: bool = False) -> FrontierPoint:
    """Make a boundary from sizes in KiB."""
    sizes = (None if one is None else KIB * one for one in (size, surely, fails))
    return FrontierPoint(*sizes, doubtful=doubtful, x=20 * MS)


@pytest.mark.parametrize(
    ("found", "cell", "size"),
    [
        (boundary(300, 300, 320), "300", 300),
        (boundary(300, 200, 400, doubtful=True), "200 - 400", 300),
        (boundary(300, None, 400, doubtful=True), "0 - 400", 300),
        (boundary(None, None, 20), "none", None),
        # The likeliest boundary is beyond all tried sizes.
        (boundary(500, 200, None, doubtful=True), "\u2265 200", 200),
        (boundary(500, None, None, doubtful=True), "?", None),
    ],
)
def test_the_cell_of_a_frontier_point(found: FrontierPoint, cell: str, size: int | None) -> None:
    one = Frontier("go-net-http", ROUND_TRIP, "", (found,), 3, 50)
    table = reach_table([one], "2,000 requests a second")
    assert table.rows == (("go-net-http", cell),)
    assert found.reached == (None if size is None else KIB * size)
    legend = reach_legend([one])
    assert legend[-1] == "3 trials; the grid has 50 points"
    assert len(legend) == (1 if cell == "300" else 2)


def test_a_search_shows_how_far_subjects_reach_and_a_grid_both() -> None:
    subjects = [Simulated(bytes_per_s=9e8), Simulated("rust-reqwest", "reqwest", 30_000)]
    trials = list(capacity_trials(AXES.points(), subjects))
    settings = {**AXES.settings(), "slo": "p99 < rtt + delay + 500ms"}
    grids = capacity_views(trials, settings)
    assert [table.columns[0].name for table in grids] == ["size", "size", "subject"]
    (alone,) = capacity_views(trials, settings | {"frontier": True})
    assert alone.rows == grids[-1].rows
    assert (
        alone.title.splitlines()[-1] == "largest size at which 2,000 requests a second are held, KiB; across: rtt, ms"
    )
    # 2 Gbit/s carry 122 KiB of each of 2,000 answers.
    assert [row[1:] for row in alone.rows] == [("100", "100", "none"), ("100", "100", "none")]


def test_other_varied_settings_are_part_of_the_name_of_a_row() -> None:
    near, far = boundary(300, 300, 320), replace(boundary(100, 100, 120), x=40 * MS)
    near_only = replace(boundary(None, None, 20), x=40 * MS)
    found = [
        Frontier(subject, ROUND_TRIP, rest, points, 3, 50)
        for subject in ("a", "b")
        for rest, points in (("20 in flight", (near, near_only)), ("40 in flight", (near, far)))
    ]
    table = reach_table(found, "2,000 requests a second")
    assert table.title == "largest size at which 2,000 requests a second are held, KiB; across: rtt, ms"
    assert [column.name for column in table.columns] == ["subject", "at", "20", "40"]
    assert table.rows == (
        ("a", "20 in flight", "300", "none"),
        ("b", "20 in flight", "300", "none"),
        ("a", "40 in flight", "300", "100"),
        ("b", "40 in flight", "300", "100"),
    )


@pytest.mark.parametrize("lost", ["rtt", "size"])
def test_there_are_no_frontiers_without_the_settings_of_the_grid(lost: str) -> None:
    settings = {name: value for name, value in AXES.settings().items() if name != lost}
    assert find_frontiers(list(capacity_trials(AXES.points())), settings) == ()


def test_two_sizes_of_a_grid_make_no_frontier() -> None:
    trials = list(capacity_trials([point(0, 0, 2), point(500, 0, 2)]))
    assert find_frontiers(trials, AXES.settings()) == ()
    assert find_frontiers([], AXES.settings()) == ()


def test_the_notes_count_open_boundaries_of_an_exhausted_search() -> None:
    points = (boundary(300, 200, 400, doubtful=True), boundary(100, 100, 120))
    against = ("300 KiB at 9 in flight held, but 200 KiB at 20 did not",)
    one = Frontier("go-net-http", CONCURRENCY, "", points, 44, 110, against, exhausted=True)

    legend = reach_legend([one])

    assert legend[-2:] == [
        "the budget ended the search (go-net-http): 1 boundary is open; --repeat 2 allows twice as much",
        "go-net-http: 300 KiB at 9 in flight held, but 200 KiB at 20 did not",
    ]
