"""The report of a search: its rows and charts are concurrencies."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from doubles.runs import make_run
from doubles.trials import trial
from httpdyno.experiments.registry import definition_of
from httpdyno.model import Chart, LinesSummary, Outcome, Report, Sample, Tally, Trial
from httpdyno.report.html import page
from httpdyno.runs.showing import build_report
from httpdyno.store import SubjectVersion, open_run, polars_schema

RATES = {1: 9.8, 4: 38.0, 16: 123.0, 32: 200.0, 64: 283.0}


def made(concurrency: int, right_per_s: float, number: int, **changes: Any) -> Trial:
    fields: dict[str, Any] = {
        "concurrency": concurrency,
        "condition": f"{concurrency} in flight",
        "experiment": "tune",
        "urls_given": 20_000,
        "summary": LinesSummary(urls=100, right_per_s=right_per_s, p50_ns=10**6, p99_ns=10**7, status_2xx=100),
        "tally": Tally(right=100, not_reached=19_900),
    }
    return trial("go-net-http", number, **(fields | changes))


def samples(of: Trial) -> pl.DataFrame:
    given: dict[str, Any] = {
        "trial": [of.trial] * 4,
        "line": [1, 2, 3, None],
        "url": [f"http://{name}.example/" for name in "abcd"],
        "code": ["200", "200", "Timeout", None],
        "status": [200, 200, None, None],
        "error": [None, None, "Timeout", None],
        "duration_ns": [10**6, 2 * 10**6, 10**9, None],
        "cause": [None, None, "stall_tls", None],
        "verdict": ["right", "right", "right", "not_reached"],
        "explained": [False] * 4,
    }
    types = polars_schema(Sample)
    return pl.DataFrame({name: given.get(name, [None] * 4) for name in types}, schema=types)


def trials_of(rates: dict[int, float]) -> list[Trial]:
    once = [made(concurrency, rate, number) for number, (concurrency, rate) in enumerate(rates.items())]
    again = [made(64, 275.0, len(once)), made(32, 205.0, len(once) + 1)]
    return [*once, *again] if rates else []


def report_of(root: Path, trials: list[Trial], **manifest: Any) -> Report:
    fields: dict[str, Any] = {
        "experiment": "tune",
        "subjects": (SubjectVersion("go-net-http", "C", "go-net-http", concurrency=16),),
        "command": ("httpdyno", "tune", "x"),
    }
    folder = make_run(root, trials, samples, **(fields | manifest))
    return build_report(open_run(folder), definition_of("tune"))


def chart_of(report: Report, name: str) -> Chart:
    return next(chart for chart in report.charts if chart.name == name)


def test_the_headline_has_the_result_the_own_rate_and_the_begin_of_contention(tmp_path: Path) -> None:
    report = report_of(tmp_path, trials_of(RATES))

    assert report.title == "tune: C go-net-http, 7 trials"
    assert report.headline.startswith("64 in flight is best: 279 right answers a second (95 %: ")
    assert "; its own 16 gives 123; contention begins at about " in report.headline


def test_the_chart_has_points_a_law_and_marks(tmp_path: Path) -> None:
    chart = chart_of(report_of(tmp_path, trials_of(RATES)), "tune")

    faint, points, law = chart.series
    assert faint.faint
    assert len(faint.x) == 7
    assert points.x == (1, 4, 16, 32, 64)
    assert all(low is not None for low in points.low)
    assert (law.x[0], law.x[-1]) == (1, 64)
    assert [mark.name.partition(":")[0] for mark in chart.marks] == ["chosen", "subject.toml", "contention begins"]
    assert "Universal Scalability Law" in chart.caption


def test_concurrencies_that_raise_errors_are_drawn_apart(tmp_path: Path) -> None:
    worse = made(256, 300.0, 7, tally=Tally(right=900, false_error=200))

    chart = chart_of(report_of(tmp_path, [*trials_of(RATES), worse]), "tune")

    assert {series.name for series in chart.series} == {
        "as measured",
        "more errors or late answers",
        "the law that fits",
    }


def test_other_charts_and_tables_have_concurrencies(tmp_path: Path) -> None:
    report = report_of(tmp_path, trials_of(RATES))

    names = tuple(f"{load} in flight" for load in RATES)
    assert {chart.name for chart in report.charts} >= {"tune", "percentiles", "verdicts", "statuses"}
    assert tuple(dict.fromkeys(series.name for series in chart_of(report, "percentiles").series)) == names
    verdicts = chart_of(report, "verdicts")
    assert [series.name for series in verdicts.series] == ["right"], "what the deadline left over says nothing"
    assert set(report.errors.values("subject")) == set(names)
    assert set(report.validity.values("subject")) == set(names)
    assert report.subjects == ()
    assert dict(report.facts)["Trials"] == "7 of 7"
    assert "geometric means" in page(report)


def test_the_own_concurrency_is_marked_once_when_it_is_chosen(tmp_path: Path) -> None:
    report = report_of(tmp_path, trials_of(RATES), subjects=(SubjectVersion("go-net-http", "C", "x", concurrency=64),))

    assert chart_of(report, "tune").marks[0].name == "chosen: 64, as in subject.toml"
    assert "its own" not in report.headline


def test_few_trials_have_neither_intervals_nor_a_law(tmp_path: Path) -> None:
    report = report_of(tmp_path, [made(4, 38.0, 0)], trials_planned=12)

    assert report.headline == "4 in flight is best: 38 right answers a second"
    assert report.reservations == ("not whole: 1 of 12 trials",)
    assert "not enough points for a law" in chart_of(report, "tune").caption
    assert "chosen: 4" in page(report)


@pytest.mark.parametrize(
    ("trials", "headline"),
    [
        ([], "Nothing was measured: the run has no finished trial"),
        (
            [made(4, 0.0, 0, outcome=Outcome.CRASHED, reason="it fell", summary=None, tally=None, validity=None)],
            "No concurrency was found at which it works",
        ),
    ],
)
def test_a_search_that_found_nothing_has_a_page(tmp_path: Path, trials: list[Trial], headline: str) -> None:
    report = report_of(tmp_path, trials, trials_planned=12)

    assert report.headline == headline
    assert headline in page(report)


def test_a_name_from_a_subject_does_nothing_to_the_page(tmp_path: Path) -> None:
    hostile = [replace(one, method="<script>alert(1)</script>") for one in trials_of(RATES)]

    assert "<script>alert" not in page(report_of(tmp_path, hostile))


def test_several_clients_share_a_chart_with_the_best_first(tmp_path: Path) -> None:
    slower = [
        replace(made(load, rate / 4, number), subject="slow", method="slow")
        for number, (load, rate) in enumerate(RATES.items())
    ]
    both = (SubjectVersion("slow", "C", "slow"), SubjectVersion("go-net-http", "C", "go-net-http"))

    report = report_of(tmp_path, [*slower, *trials_of(RATES)], subjects=both)

    assert report.title == "tune: 2 subjects, 12 trials"
    expected = "Right answers a second at the best number in flight: C go-net-http 279 with 64; C slow 70.8 with 64"
    assert report.headline == expected
    (chart,) = report.charts
    assert chart.colours == ("C go-net-http", "C slow")
    assert [(series.name, series.faint, bool(series.low)) for series in chart.series] == [
        (name, faint, low) for name in chart.colours for faint, low in ((True, False), (False, True), (False, False))
    ]
    assert [mark.name for mark in chart.marks] == ["C go-net-http: 64", "C slow: 64"]
    assert "C slow, 64" in report.validity.values("subject")
    assert chart.name in page(report)
