"""The two published figures, from runs of the published grids."""

from collections.abc import Iterable
from fractions import Fraction

import pytest

from doubles.runs import manifest_of
from doubles.trials import trial
from httpdyno.experiments.capacity.figures import CapacitySummary
from httpdyno.experiments.capacity.published import preset_axes, published_charts
from httpdyno.model import Chart, ChartKind, Trial
from httpdyno.published import find_preset

TENTH = Fraction(1, 10)


def trials_of(
    name: str, scale: Fraction, subjects: Iterable[str] = ("go-net-http",), *, as_labelled: bool = False
) -> list[Trial]:
    points = list(preset_axes(find_preset(name, "capacity"), scale, as_labelled=as_labelled).points())
    return [
        trial(
            subject,
            0,
            experiment="capacity",
            capacity_point=point,
            capacity=CapacitySummary(9, 0, 10**9, 10.0 + number, 5e8),
        )
        for subject in subjects
        for number, point in enumerate(points)
    ]


def charts_of(name: str, scale: str | None, trials: list[Trial]) -> tuple[Chart, ...]:
    return published_charts(
        trials, manifest_of(trials, experiment="capacity", settings={"preset": name, "scale": scale})
    )


def test_batch_4_is_drawn_against_the_rate_of_the_link_with_the_line_of_the_target() -> None:
    chart, latency = charts_of("published-batch-4", "1/10", trials_of("published-batch-4", TENTH))
    assert (chart.kind, chart.reference, chart.reference_name) == (ChartKind.TRENDS, 200, "200 a second")
    assert (chart.x.label, chart.x.unit) == ("link", "Gbit/s")
    drawn = [series for series in chart.series if not series.faint]
    behind = [series for series in chart.series if series.faint]
    assert len(drawn) == len(behind) == 25
    assert list(dict.fromkeys(series.panel for series in drawn)) == ["100 ms", "200 ms", "300 ms", "400 ms", "500 ms"]
    assert drawn[0].name == "20 in flight"
    assert drawn[0].x == behind[0].x == tuple(number / 10 for number in range(1, 11))
    assert behind[0].y[0] == pytest.approx(59.60308)
    assert "times 1/10" in chart.caption
    # Answers take as long at any scale.
    assert (latency.name, latency.y.unit, latency.reference) == ("published-batch-4-latency", "ms", None)
    assert "times 1/10" not in latency.caption
    assert next(series.y[0] for series in latency.series if series.faint) == pytest.approx(326.5)
    assert next(series.y[0] for series in latency.series if not series.faint) == 500


def test_with_the_distance_that_was_meant_the_frames_are_not_called_alike() -> None:
    chart, _ = charts_of("published-batch-4", "1/10", trials_of("published-batch-4", TENTH, as_labelled=True))
    assert "round trip of the link here" in chart.caption
    assert "alike" not in chart.caption
    assert len({series.panel for series in chart.series}) == 5


def test_sizes_are_drawn_where_they_are_varied_and_a_large_grid_is_thinned() -> None:
    chart, _ = charts_of("published-batch-1", None, trials_of("published-batch-1", Fraction(1)))
    assert (chart.x.label, chart.x.unit, chart.reference) == ("size", "KiB", 2000)
    panels = list(dict.fromkeys(series.panel for series in chart.series))
    assert (len(panels), panels[0], panels[-1]) == (6, "100 ms", "2000 ms")
    names = list(dict.fromkeys(series.name for series in chart.series if not series.faint))
    assert (len(names), names[0], names[-1]) == (5, "100 in flight", "1500 in flight")
    assert "some frames and lines of this large grid are drawn" in chart.caption


def test_each_subject_has_a_figure_of_its_own() -> None:
    trials = trials_of("published-batch-3", Fraction(1), ("go-net-http", "hey"))
    found = charts_of("published-batch-3", None, trials)
    assert [chart.name for chart in found] == [
        "published-batch-3-go-net-http",
        "published-batch-3-go-net-http-latency",
        "published-batch-3-hey",
        "published-batch-3-hey-latency",
    ]


def test_a_run_without_a_preset_has_none() -> None:
    assert published_charts([], manifest_of([])) == ()
