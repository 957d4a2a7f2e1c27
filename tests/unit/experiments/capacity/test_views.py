"""The printed grid of a capacity run: it fits a terminal with any number of points."""

from dataclasses import replace
from typing import Any

import pytest

from doubles.capacity import MS, Simulated, capacity_trial, capacity_trials, point
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.present import capacity_views
from httpdyno.model import Loop, Outcome, Trial, Validity
from httpdyno.report.formats import Surface, render

TERMINAL = 80
BATCH_4 = [
    point(200, 0, gbit, queue_ns=queue * MS, concurrency=concurrency, loop=Loop.CLOSED)
    for concurrency in (200, 400, 600, 800, 1000)
    for queue in (100, 200, 300, 400, 500)
    for gbit in range(1, 11)
]


def shown(trials: list[Trial]) -> str:
    return "\n".join(render(view, "table", Surface(width=TERMINAL)) for view in capacity_views(trials, {}))


def changed(at: CapacityPoint, **figures: Any) -> Trial:
    """Make a trial that did not hold, with other figures than a simulated one has."""
    made: Trial = capacity_trial(at)
    assert made.get(CapacitySummary) is not None
    worse: Trial = made.having(replace(made[CapacitySummary], held=False, **figures))
    return worse


def cells(trials: list[Trial]) -> list[str | None]:
    (view,) = capacity_views(trials, {})
    return [str(cell) if cell is not None else None for row in view.rows for cell in row[1:]]


def test_a_grid_of_250_points_is_a_table_for_each_concurrency_on_80_columns() -> None:
    text = shown(list(capacity_trials(BATCH_4)))
    assert len(text.splitlines()) < 65
    assert max(len(line) for line in text.splitlines() if line[:1] == "─") <= TERMINAL
    titles = [line for line in text.splitlines() if "across" in line]
    assert titles[0] == "200 in flight; 200 KiB; down: queue, ms; across: link, Gbit/s"
    assert len(titles) == 5
    assert "29 %" in text
    answer, *_ = lines = text.replace("\n  ", " ").splitlines()
    (held,) = (number for number, line in enumerate(lines) if line.startswith("held: "))
    assert lines[held] == "held: 2,000 requests a second, and the objective; p99 there was 2.4 ms"
    assert lines[held + 1] == "percentages: share of the 2,000 requests a second"
    assert answer == (
        "go-net-http holds 2,000 requests a second at 175 of 250 points, with 4 Gbit/s or more, bandwidth limits 75 of"
        " the others"
    )


def test_the_legend_has_the_full_objective() -> None:
    grid = [replace(point(size, 20, 1), objective="p99 < 500ms") for size in (0, 100)]
    said = shown(list(capacity_trials(grid))).replace("\n  ", " ")
    assert "held: 2,000 requests a second, and p99 < 500ms; p99 there was " in said


def test_rows_are_subjects_where_one_axis_alone_varies() -> None:
    grid = [point(size, 20, 1) for size in (0, 50, 100)]
    subjects = [Simulated(), Simulated("python-aiohttp", "aiohttp", most_per_s=1500)]
    (view,) = capacity_views(list(capacity_trials(grid, subjects)), {})
    assert [column.name for column in view.columns] == ["subject", "0", "50", "100"]
    assert view.title.splitlines()[1:] == ["1 Gbit/s, rtt 20 ms, 600 in flight; across: size, KiB"]
    assert view.rows == (
        ("go-net-http", "held", "held", "59 %"),
        ("python-aiohttp", "75 %", "75 %", "59 %"),
    )


def test_sizes_run_down_and_several_subjects_have_a_table_each() -> None:
    grid = [point(size, rtt, 10) for size in (0, 1024) for rtt in (0, 40)]
    views = capacity_views(list(capacity_trials(grid, [Simulated(), Simulated("other", bytes_per_s=1e7)])), {})
    shared = "10 Gbit/s, 600 in flight; down: size, MiB; across: rtt, ms"
    assert [view.title.splitlines()[-1] for view in views] == [f"go-net-http; {shared}", f"other; {shared}"]
    assert [view.columns[0].name for view in views] == ["size", "size"]
    assert [column.name for column in views[0].columns[1:]] == ["0", "40"]
    assert [note.text for note in views[0].notes] == []


@pytest.mark.parametrize(
    ("trial", "said"),
    [
        (capacity_trial(point(1)), "held"),
        (changed(point(1), per_s=1998.0, why_not="p99 812 ms > 540 ms"), "slow"),
        (changed(replace(point(1), objective="errors < 0.1%"), per_s=1998.0, errors_share=0.02), "errors"),
        (replace(changed(point(1), why_not="p99 was 2 s"), validity=Validity.ORIGIN_LIMITED), "(slow)"),
        (changed(point(1), per_s=1979.0), "99 %"),
        (changed(point(1), per_s=3.0), "0 %"),
        # A disturbance makes a subject look worse, never better.
        (capacity_trial(point(1), validity=Validity.ORIGIN_LIMITED), "held"),
        (capacity_trial(point(1), Simulated(most_per_s=600), validity=Validity.ORIGIN_LIMITED), "(30)"),
        # Where the link has no room, no client could have held.
        (capacity_trial(point(200, 0, 1), validity=Validity.ORIGIN_LIMITED), "29 %"),
        (capacity_trial(point(200, 0, 1), validity=Validity.UNVERIFIED), "(29)"),
        (capacity_trial(point(1), validity=Validity.INCORRECT), "(100)"),
        (capacity_trial(point(1), validity=Validity.LINK_LIMITED, capacity=None), "?"),
        (capacity_trial(point(1), outcome=Outcome.CRASHED, validity=None, capacity=None), "failed"),
        (capacity_trial(point(1), outcome=Outcome.UNAVAILABLE, validity=None, capacity=None), "?"),
        (capacity_trial(point(1, loop=Loop.CLOSED, target_per_s=None)), "20,000"),
        (capacity_trial(point(1, loop=Loop.CLOSED, target_per_s=10.0), Simulated(most_per_s=5.0)), "50 %"),
    ],
)
def test_a_cell_has_one_word(trial: Trial, said: str) -> None:
    assert cells([trial]) == [said]


def test_points_that_hold_in_some_trials_are_doubtful() -> None:
    held, not_held = capacity_trial(point(1)), changed(point(1), per_s=1900.0)
    assert cells([held, not_held]) == ["held?"]
    # A trial that does not count does not decide it.
    assert cells([held, replace(not_held, validity=Validity.UNSTEADY)]) == ["held"]


def test_a_point_that_was_not_tried_is_empty() -> None:
    grid = [point(0, 0), point(0, 40), point(100, 0)]
    assert cells(list(capacity_trials(grid))) == ["held", "held", "held", None]


def test_the_view_of_a_run_without_trials() -> None:
    assert "Nothing was measured" in shown([])
    assert isinstance(capacity_trial(point(1)).get(CapacitySummary), CapacitySummary)


def test_held_points_are_green_where_there_are_colours() -> None:
    (view,) = capacity_views([capacity_trial(point(1))], {})
    assert "\x1b[32mheld" in render(view, "table", Surface(colour=True, width=TERMINAL))
    assert "\x1b" not in render(view, "table", Surface(width=TERMINAL))


def test_wide_grids_continue_below_with_the_names_of_rows() -> None:
    grid = [point(size, rtt, 10) for size in (0, 100) for rtt in range(0, 400, 20)]
    lines = shown(list(capacity_trials(grid))).splitlines()
    assert max(len(line) for line in lines if line[:1] == "─") <= TERMINAL
    assert sum(line.startswith("size ") for line in lines) == 2
