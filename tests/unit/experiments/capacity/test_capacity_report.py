"""The report of a capacity run: its answer, its grid, the frontiers of the subjects, and the link."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doubles.capacity import MS, Simulated, capacity_trial, capacity_trials, point
from doubles.runs import make_run
from httpdyno.experiments.capacity.axes import LINK_RATE, ROUND_TRIP, Quantity
from httpdyno.experiments.capacity.charts import frontier_charts, grid_chart
from httpdyno.experiments.capacity.frontier import Frontier, FrontierPoint
from httpdyno.experiments.capacity.headline import capacity_headline
from httpdyno.experiments.capacity.points import point_results
from httpdyno.experiments.registry import definition_of
from httpdyno.model import ChartKind, Counters, LinkCounters, Loop, Outcome, PathCounters, Report, Tone, Trial, Validity
from httpdyno.report.sections.tables import link_table
from httpdyno.runs.showing import build_report
from httpdyno.store import open_run

GO, RUST = Simulated(), Simulated("rust-reqwest", "reqwest", bytes_per_s=3e8)
NAMES = {"go-net-http": "Go net/http", "rust-reqwest": "Rust reqwest", "python-aiohttp": "Python aiohttp"}
KIB = 1024
GRID = [point(size, rtt, 1) for size in (0, 50, 100) for rtt in (0, 20, 400)]


def frontier(subject: str, *reached: tuple[int, int | None, int | None], axis: Quantity = ROUND_TRIP) -> Frontier:
    """Make a frontier from the value of the axis, the KiB that hold and the KiB that do not."""
    factor = MS if axis is ROUND_TRIP else 10**9
    points = tuple(
        FrontierPoint(
            None if low is None else low * KIB,
            None if low is None else low * KIB,
            None if high is None else high * KIB,
            doubtful=False,
            x=x * factor,
        )
        for x, low, high in reached
    )
    return Frontier(subject, axis, "", points, trials=4 * len(points), grid_trials=100)


def headline(trials: Sequence[Trial], *frontiers: Frontier) -> str:
    return capacity_headline(point_results(trials), frontiers, NAMES)


def test_the_headline_has_the_largest_size_that_a_subject_holds() -> None:
    trials = list(capacity_trials(GRID))
    one = frontier("go-net-http", (0, 500, None), (40, 300, 320), (200, 60, 80))
    assert headline(trials, one) == (
        "Go net/http holds 2,000 requests a second up to 500 KiB or more at rtt 0 ms, up to 60 KiB at rtt 200 ms"
        " (1 Gbit/s, 600 in flight)"
    )
    flat = frontier("go-net-http", (0, 60, 80), (40, 60, 80))
    assert "up to 60 KiB from rtt 0 ms to rtt 40 ms (" in headline(trials, flat)
    rises = frontier("go-net-http", (1, 60, 80), (2, 120, 140), axis=LINK_RATE)
    assert headline(trials, rises).endswith("up to 120 KiB at 2 Gbit/s, up to 60 KiB at 1 Gbit/s (600 in flight)")


def test_the_headline_names_points_where_nothing_holds() -> None:
    trials = list(capacity_trials(GRID))
    some = frontier("go-net-http", (0, 100, 120), (400, None, 20))
    assert headline(trials, some).endswith(
        "up to 100 KiB at rtt 0 ms, and no measured size at rtt 400 ms (1 Gbit/s, 600 in flight)"
    )
    none = frontier("go-net-http", (0, None, 20))
    assert (
        headline(trials, none)
        == "Go net/http does not hold 2,000 requests a second at any measured size (1 Gbit/s, 600 in flight)"
    )


def test_subjects_are_compared_where_they_differ_most_and_ties_are_called_so() -> None:
    trials = list(capacity_trials(GRID))
    result = headline(
        trials,
        frontier("go-net-http", (0, 500, None), (40, 300, 320)),
        frontier("rust-reqwest", (0, 500, None), (40, 310, 330)),
        frontier("python-aiohttp", (0, 480, 500), (40, 20, 40)),
    )
    assert result == (
        "At rtt 40 ms (1 Gbit/s, 600 in flight), 2,000 requests a second are held by Rust reqwest up to 310 KiB,"
        " Go net/http up to 300 KiB and Python aiohttp up to 20 KiB;"
        " between Rust reqwest and Go net/http the difference may be chance"
    )


def test_the_headline_has_the_setting_where_subjects_differ_most() -> None:
    trials = list(capacity_trials(GRID))
    few = [
        replace(frontier(subject, (40, reached, reached + 20)), rest="20 in flight")
        for subject, reached in (("go-net-http", 300), ("rust-reqwest", 300))
    ]
    many = [
        replace(frontier(subject, (40, reached, reached + 20)), rest="100 in flight")
        for subject, reached in (("go-net-http", 300), ("rust-reqwest", 900))
    ]
    result = headline(trials, *few, *many)
    assert result.startswith("At rtt 40 ms, 100 in flight")
    assert result.endswith("Rust reqwest up to 900 KiB and Go net/http up to 300 KiB; the tables have 1 more setting")
    assert headline(trials, few[0], many[0]).endswith("; the tables have 1 more setting")


def test_subjects_that_hold_nothing_are_named_last() -> None:
    trials = list(capacity_trials(GRID))
    result = headline(trials, frontier("go-net-http", (40, 300, 320)), frontier("rust-reqwest", (40, None, 20)))
    assert result.endswith("held by Go net/http up to 300 KiB; Rust reqwest at no measured size")
    none = [frontier(subject, (40, None, 20)) for subject in NAMES]
    assert headline(trials, *none).endswith("were not held at any measured size")


def test_one_sentence_covers_all_differences_that_may_be_chance() -> None:
    trials = list(capacity_trials(GRID))
    same = [frontier(subject, (40, 300, 320)) for subject in NAMES]
    result = headline(trials, *same)
    assert result.endswith("Python aiohttp up to 300 KiB; the differences may be chance")


def test_without_sizes_the_headline_counts_points_and_limits() -> None:
    grid = [point(200, 0, gbit, queue_ns=queue * MS) for gbit in range(1, 6) for queue in (100, 200)]
    assert capacity_headline(point_results(capacity_trials(grid)), (), {"go-net-http": "Go net/http"}) == (
        "Go net/http holds 2,000 requests a second at 4 of 10 points, with 4 Gbit/s or more,"
        " bandwidth limits 6 of the others"
    )
    slow = capacity_trial(point(), Simulated(most_per_s=600), validity=Validity.ORIGIN_LIMITED)
    assert headline([slow]).startswith("Go net/http holds 2,000 requests a second at 0 of 1 points, 1 is unreliable")


@pytest.mark.parametrize(
    ("trials", "said"),
    [
        ([], "Nothing was measured: the run has no finished trial"),
        (
            [capacity_trial(point(1, loop=Loop.CLOSED, target_per_s=None))],
            "1 points were measured, without a target rate",
        ),
    ],
)
def test_the_headline_of_a_run_without_answers(trials: list[Trial], said: str) -> None:
    assert headline(trials) == said


def test_the_grid_has_a_panel_for_each_subject_and_sizes_upwards() -> None:
    names = {"go-net-http": "Go net/http", "rust-reqwest": "Rust reqwest"}
    chart = grid_chart(point_results(capacity_trials(GRID, [GO, RUST])), names)
    assert chart is not None
    assert (chart.kind, chart.x.label, chart.y.label) == (ChartKind.TILES, "rtt, ms", "size, KiB")
    assert list(dict.fromkeys(tile.panel for tile in chart.tiles)) == ["Go net/http", "Rust reqwest"]
    assert list(dict.fromkeys(tile.row for tile in chart.tiles)) == ["0", "50", "100"]
    assert list(dict.fromkeys(tile.column for tile in chart.tiles)) == ["0", "20", "400"]
    held = {(tile.row, tile.column) for tile in chart.tiles if tile.panel == "Go net/http" and tile.tone is Tone.HELD}
    assert held == {("0", "0"), ("0", "20"), ("50", "0"), ("50", "20")}
    far = next(tile for tile in chart.tiles if (tile.row, tile.column) == ("100", "0"))
    assert (far.tone, far.text) == (Tone.PART, "59")
    assert far.words == (
        "100 KiB, rtt 0 ms; 1,174 a second, p99 2 s; 1,174 of 2,000 a second; bandwidth allows 1,174 a second"
    )


def test_a_search_makes_no_grid() -> None:
    tried = [point(size, rtt, 1) for size, rtt in ((0, 0), (50, 0), (75, 0), (60, 0), (60, 20), (40, 20), (30, 400))]
    assert grid_chart(point_results(capacity_trials(tried)), {"go-net-http": "Go net/http"}) is None
    assert grid_chart((), {}) is None


def test_one_axis_has_subjects_as_rows_the_first_one_on_top() -> None:
    names = {"go-net-http": "Go net/http", "rust-reqwest": "Rust reqwest"}
    chart = grid_chart(point_results(capacity_trials([point(size) for size in (0, 100)], [GO, RUST])), names)
    assert chart is not None
    assert list(dict.fromkeys(tile.row for tile in chart.tiles)) == ["Rust reqwest", "Go net/http"]
    assert {tile.panel for tile in chart.tiles} == {""}


def test_the_frontiers_of_all_subjects_are_one_figure() -> None:
    points = point_results(capacity_trials([point(size, 0, gbit) for size in (0, 500) for gbit in (1, 2)]))
    drawn = list(
        frontier_charts(
            [
                frontier("go-net-http", (1, 60, 80), (2, 500, None), axis=LINK_RATE),
                frontier("rust-reqwest", (1, None, 20), (2, 100, 120), axis=LINK_RATE),
            ],
            points,
            NAMES,
        )
    )
    (chart,) = drawn
    assert (chart.kind, chart.x.unit, chart.y.unit) == (ChartKind.STAIRS, "Gbit/s", "KiB")
    go, rust, link = chart.series
    assert (go.name, go.x, go.y, go.low, go.high) == (
        "Go net/http",
        (1.0, 2.0),
        (60.0, 500.0),
        (60.0, 500.0),
        (80.0, None),
    )
    assert (rust.y, rust.low, rust.high) == ((None, 100.0), (None, 100.0), (20.0, 120.0))
    # A gigabit brings 62.5 kB of 2,000 answers each second.
    assert link.faint
    assert link.y == pytest.approx((62_500 / KIB, 125_000 / KIB))
    assert "Found in 16 trials; the grid has 200 points." in chart.caption
    assert "Upward arrow" in chart.caption
    assert "Downward arrow" in chart.caption


def test_each_of_a_few_other_settings_has_its_own_chart() -> None:
    points = point_results(capacity_trials(GRID))
    one = frontier("go-net-http", (0, 100, 120), (20, 60, 80))
    of = [replace(one, rest=rest) for rest in ("200 in flight", "400")]
    assert [chart.name for chart in frontier_charts(of, points, NAMES)] == ["frontier", "frontier-1"]
    many = [replace(one, rest=f"{count} in flight") for count in range(100, 800, 100)]
    assert list(frontier_charts(many, points, NAMES)) == []


def linked(rtt_ms: float, mbit: float | None = None, **changes: Any) -> Trial:
    """Make a trial over a link with these measured values."""
    down = PathCounters(
        packets=1000,
        lost=10,
        dropped=0,
        lateness_p99_ns=50_000,
        goodput_bits_per_s=None if mbit is None else mbit * 1e6,
        goodput_expected_bits_per_s=None if mbit is None else 950e6,
    )
    counters = Counters(link=LinkCounters(rtt_p50_ns=round(rtt_ms * MS), down=down))
    return capacity_trial(point(1, 40, 1), counters=counters, link="rtt=40ms,rate=1gbit,queue=100ms", **changes)


def test_the_report_has_the_requested_and_the_measured_link() -> None:
    table = link_table([linked(40.01, 949), linked(40.4, 940), linked(40.02, 945), capacity_trial(point(1))])
    assert len(table.rows) == 1
    row = dict(zip((column.name for column in table.columns), table.rows[0], strict=True))
    assert row == {
        "link": "rtt=40ms,rate=1gbit,queue=100ms",
        "trials": 3,
        "refused": 0,
        "rtt requested": 40.0,
        "rtt measured": 40.02,
        "largest error": 0.4,
        "content possible": 950.0,
        "content measured": 945.0,
        "least": 940.0,
        "late p99": 0.05,
        "packets": 3000,
        "dropped": 0.0,
        "lost": 1.0,
    }


def test_refused_links_are_counted_and_missing_figures_have_no_column() -> None:
    refused = linked(44.0, outcome=Outcome.REFUSED, validity=Validity.LINK_LIMITED, capacity=None)
    table = link_table([linked(40.0), refused])
    assert table.values("refused") == (1,)
    assert table.values("largest error") == (4.0,)
    assert "least" not in [column.name for column in table.columns]
    assert link_table([capacity_trial(point(1))]).rows == ()


def test_the_report_describes_super_packets_in_plain_words() -> None:
    off, bounded = "off: two packets take too long", "bounded: it takes 0.1 ms at most"
    split = "on: it takes less than 0.1 ms; it is split where packets of it are lost"
    of = {
        "rate=100mbit": LinkCounters(offload_reason=off),
        "rate=1gbit": LinkCounters(offload_bytes=12_500, offload_reason=bounded),
        "rtt=40ms": LinkCounters(),
        "rtt=40ms,loss=1%": LinkCounters(offload_bytes=65_536, offload_reason=split),
    }
    trials = [
        capacity_trial(point(1), counters=Counters(link=counters), link=link)
        for link, counters in of.items()
        for _ in range(2)
    ]
    table = link_table(trials)
    assert table.values("super-packets") == ("off", "bounded, 12.2 KiB", None, "on, 64.0 KiB, split")
    assert [note.text for note in table.notes] == [
        "super-packets: several packets that a kernel passes on in one piece (segmentation offload)",
        f"super-packets {off}",
        f"super-packets {bounded}",
        f"super-packets {split}",
    ]
    of_a_time_before_it = link_table(trials[4:6])
    assert "super-packets" not in [column.name for column in of_a_time_before_it.columns]
    assert of_a_time_before_it.notes == ()


def report_of(root: Path, trials: Sequence[Trial], **manifest: Any) -> Report:
    folder = make_run(root, list(trials), experiment="capacity", command=("httpdyno", "capacity"), **manifest)
    return build_report(open_run(folder), definition_of("capacity"))


def test_the_report_of_a_run_has_its_answer_its_grid_and_its_objective(tmp_path: Path) -> None:
    report = report_of(tmp_path, list(capacity_trials(GRID, [GO, RUST])), settings={"slo": "p99 < rtt + 500ms"})
    assert report.title == "capacity: 2 subjects, 9 points, 18 trials"
    assert "2,000 requests a second" in report.headline
    assert "grid" in [chart.name for chart in report.charts]
    assert any(finding.startswith("bandwidth: 2,000 answers") for finding in report.findings)
    assert ("Objective", "p99 < rtt + 500ms") in report.facts
    assert len(report.table.rows) == 18
    assert [name for _, name in report.subjects] == ["Go net/http", "Go reqwest"]


def test_an_empty_run_has_a_report(tmp_path: Path) -> None:
    report = report_of(tmp_path, [], trials_planned=3)
    assert report.headline.startswith("Nothing was measured")
    assert report.charts == ()
    assert report.evidence == ()


def test_the_report_compares_a_published_grid_with_the_publication(tmp_path: Path) -> None:
    grid = [
        point(200, 0, gbit, queue_ns=100 * MS, concurrency=20, loop=Loop.CLOSED, target_per_s=200.0)
        for gbit in (0.1, 0.2, 0.4)
    ]
    settings = {"preset": "published-batch-4", "scale": "1/10", "slo": "p99 < rtt + 500ms"}
    report = report_of(tmp_path, list(capacity_trials(grid)), settings=settings)
    assert "published-batch-4" in [chart.name for chart in report.charts]
    assert report.published is not None
    assert len(report.published.rows) == 3
    assert ("Scale", "1/10 of the published rates and numbers in flight") in report.facts
