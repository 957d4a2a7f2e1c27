"""The report of a latency run: its headline, its charts, and missing data."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from doubles.runs import make_run
from doubles.trials import trial
from httpdyno.experiments.latency.judge import Content, LatencyPoint, LatencyRun, LatencySummary
from httpdyno.experiments.registry import definition_of
from httpdyno.model import Counters, LinkCounters, Report, Trial
from httpdyno.runs.showing import build_report
from httpdyno.store import open_run

MS = 10**6
POINT = LatencyPoint(Content.PLAIN, 1)


def timed(
    number: int, subject: str, block: int, mean_ms: float, *, harness: bool = False, shares: bool = True
) -> Trial:
    runs = tuple(LatencyRun((mean_ms + one / 100) * MS) for one in (-3, -2, -1, 0, 1, 2, 3))
    seen: dict[str, Any] = {"call_ns": mean_ms * MS, "p50_ns": round(mean_ms * MS)} if not harness else {}
    if shares and not harness:
        seen |= {"server_ns": 0.1 * MS, "wire_ns": 0.02 * MS, "client_ns": (mean_ms - 0.12) * MS}
    summary = LatencySummary(1400, 200, runs, mean_ms * MS, 0.02 * MS, **seen)
    condition = "plain, 1 at once, keep-alive" + (", in its own process" if harness else "")
    return trial(
        subject,
        block,
        trial=number,
        experiment="latency",
        condition=condition,
        harness="timeit" if harness else "",
        latency_point=POINT,
        latency=summary,
    )


def reported(root: Path, trials: list[Trial], **settings: str) -> Report:
    folder = make_run(root, trials, experiment="latency", command=("httpdyno", "latency"), settings=settings)
    return build_report(open_run(folder), definition_of("latency"))


def both_ways(*, shares: bool = True) -> list[Trial]:
    made, number = [], 0
    for block in range(5):
        for subject, mean in (("quick", 1.0), ("slow", 2.0)):
            for harness in (False, True):
                made.append(timed(number, subject, block, mean + block / 100, harness=harness, shares=shares))
                number += 1
    return made


def test_the_quickest_client_at_each_point(tmp_path: Path) -> None:
    report = reported(tmp_path, both_ways())
    assert report.headline.startswith("plain, 1 at once, keep-alive: C quick is first")
    assert any("2 of 2 agree" in finding for finding in report.findings)


def test_every_point_has_its_charts_from_both_ways_of_timing(tmp_path: Path) -> None:
    charts = {chart.name: chart for chart in reported(tmp_path, both_ways()).charts}
    loops = charts["loops-0"]
    assert [one.name for one in loops.series if not one.faint] == [
        "C quick",
        "in process: quick",
        "C slow",
        "in process: slow",
    ]
    shares = charts["shares-0"]
    assert [one.name for one in shares.series] == ["client", "wire", "server"]
    assert [round(one.y[0] or 0, 3) for one in shares.series] == [0.9, 0.02, 0.1]


def test_without_stamps_the_chart_of_parts_is_left_out(tmp_path: Path) -> None:
    names = {chart.name for chart in reported(tmp_path, both_ways(shares=False)).charts}
    assert "shares-0" not in names
    assert "loops-0" in names


def test_a_run_without_a_trial_has_a_page_too(tmp_path: Path) -> None:
    report = reported(tmp_path, [])
    assert "Nothing was measured" in report.headline
    assert report.charts == ()


def test_the_page_has_the_measured_link(tmp_path: Path) -> None:
    counters = Counters(link=LinkCounters(rtt_p50_ns=round(40.2 * MS)))
    over_it = [replace(one, link="rtt=40ms", counters=counters) for one in both_ways()]
    (table,) = reported(tmp_path / "linked", over_it).evidence
    assert (table.title, table.values("link")) == ("What the link was", ("rtt=40ms",))
    assert (table.values("rtt requested"), table.values("rtt measured")) == ((40.0,), (40.2,))
    assert reported(tmp_path / "direct", both_ways()).evidence == ()


def test_published_figures_are_in_the_chart_of_their_point(tmp_path: Path) -> None:
    report = reported(tmp_path, [timed(0, "python-httpx", 0, 2.2)], preset="published")
    (loops,) = [chart for chart in report.charts if chart.name == "loops-0"]
    (published,) = [one for one in loops.series if one.name.startswith("published: ") and not one.faint]
    assert (published.y, published.low, published.high) == ((2.01,), (pytest.approx(1.9697),), (pytest.approx(2.0503),))
    assert report.published is not None
    assert "2.2 ms a loop" in report.headline
