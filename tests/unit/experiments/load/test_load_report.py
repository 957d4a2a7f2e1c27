"""The report of a load: its headline, its charts, and the page without the generator's own reports."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doubles.charts import require_valid
from doubles.loads import keep_load_report
from doubles.runs import make_run
from httpdyno.experiments.load.definition import DEFINITION
from httpdyno.experiments.load.judge import LoadSummary
from httpdyno.experiments.load.records import load_trial, read_load_report
from httpdyno.model import ChartKind, Report, Scale, Trial
from httpdyno.report.charts.canvas import LIGHT, Canvas
from httpdyno.report.html import page
from httpdyno.runs.showing import build_report
from httpdyno.store import open_run

REPORTS = Path(__file__).parents[3] / "fixtures" / "load-reports"

LoadPage = Callable[..., Report]


def report(name: str) -> dict[str, Any]:
    return dict(json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8")))


@pytest.fixture
def load_page(tmp_path: Path) -> LoadPage:
    """Make the report of a run of these loads."""

    def tell(*names: str, kept: bool = True, target: str = "http://a.example/") -> Report:
        trials: list[Trial] = [load_trial(number, report(name), target=target) for number, name in enumerate(names)]
        folder = make_run(tmp_path, trials, experiment="load", command=("httpdyno", "load", target), webs=())
        if kept:
            for number, name in enumerate(names):
                keep_load_report(folder, number, report(name))
        return build_report(open_run(folder), DEFINITION)

    return tell


def test_an_open_loop_has_every_chart(load_page: LoadPage) -> None:
    of = load_page("open")
    assert [chart.name for chart in of.charts] == ["percentiles", "phases", "throughput", "times", "lag", "outcomes"]
    percentiles = of.charts[0]
    assert percentiles.x.scale is Scale.PERCENTILE
    assert [series.name for series in percentiles.series] == ["response time", "service time", "send lag"]
    assert all(list(series.y) == sorted(series.y) for series in percentiles.series if None not in series.y)  # type: ignore[type-var]
    outcomes = of.charts[-1]
    assert outcomes.kind is ChartKind.STACKED_BARS
    assert {series.name: series.y for series in outcomes.series} == {"status 200": (874.0,), "never sent": (26.0,)}


def test_the_page_has_a_table_of_labels(load_page: LoadPage, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not load_page("closed").evidence
    label = {"label": "check out", "requests": 3, "statuses": {"200": 3}, "errors": {}, "errors_total": 0}
    labels = [{**label, "failed_answers": 0, "grouped": None, "response_time": None}]
    values = {**report("closed"), "labels": labels}
    monkeypatch.setitem(globals(), "report", lambda _: values)
    (table,) = load_page("open").evidence
    assert table.rows == (("check out", 3, 0, None, None, "200: 3"),)


def test_a_closed_loop_has_no_lag(load_page: LoadPage) -> None:
    charts = load_page("closed").charts
    assert "lag" not in [chart.name for chart in charts]
    assert [series.name for series in charts[0].series] == ["response time", "service time"]
    throughput = next(chart for chart in charts if chart.name == "throughput")
    assert {series.name for series in throughput.series} == {"answers"}


def test_further_trials_are_drawn_behind_the_first(load_page: LoadPage) -> None:
    percentiles = load_page("open", "open", "open").charts[0]
    response = [series.faint for series in percentiles.series if series.name == "response time"]
    assert response == [False, True, True]


@pytest.mark.parametrize("names", [("open",), ("closed", "closed")])
def test_every_chart_can_be_drawn(load_page: LoadPage, names: tuple[str, ...]) -> None:
    for chart in load_page(*names).charts:
        for width in (340, 760):
            require_valid(chart, Canvas(width, LIGHT))


def test_the_headline_has_the_rate_and_the_validity(load_page: LoadPage) -> None:
    of = load_page("open")
    assert of.headline == (
        "291 answers a second, half of them within 95.5 ms, 99 % within 451 ms, no errors; GENERATOR_LIMITED"
    )
    assert dict(of.facts)["Load"] == "http://a.example/: HTTP/1.1, 8 at a time, open loop of 300 a second, 3 s"


def test_the_page_without_the_generators_reports_has_its_other_parts(load_page: LoadPage) -> None:
    assert [chart.name for chart in load_page("open", kept=False).charts] == ["throughput", "times", "lag", "outcomes"]


def test_the_headline_of_a_run_without_a_trial(load_page: LoadPage) -> None:
    of = load_page()
    assert of.headline.startswith("Nothing was measured")
    assert of.charts == ()
    assert "Nothing was measured" in page(of)


def test_the_page_escapes_a_target_with_markup(load_page: LoadPage) -> None:
    text = page(load_page("open", target="http://a/</script><script>alert(1)</script>\x1b[31m"))
    assert "<script>alert(1)" not in text
    assert "\x1b" not in text


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_a_damaged_report_counts_as_missing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "load-000000.json").write_bytes(content)
    assert read_load_report(tmp_path, 0) is None
    assert read_load_report(tmp_path, 1) is None


def test_the_charts_leave_out_an_incomplete_last_second(load_page: LoadPage) -> None:
    # The closed loop lasted 1.43 s: its second second is one in part only.
    throughput = next(chart for chart in load_page("closed").charts if chart.name == "throughput")
    assert [len(series.x) for series in throughput.series] == [1]


def test_a_load_shorter_than_a_second_has_its_charts(tmp_path: Path) -> None:
    trial = load_trial(0, report("closed"), target="x")
    assert trial.get(LoadSummary) is not None
    short = trial.having(replace(trial[LoadSummary], elapsed_ns=400_000_000))
    folder = make_run(tmp_path, [short], experiment="load", webs=())
    charts = build_report(open_run(folder), DEFINITION).charts
    assert "throughput" in [chart.name for chart in charts]
