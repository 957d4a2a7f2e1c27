"""The report of a service run: its headline, where servers break, its charts, and failed servers."""

from dataclasses import replace
from pathlib import Path

from doubles.runs import make_run
from doubles.trials import trial
from httpdyno.experiments.registry import definition_of
from httpdyno.experiments.service.figures import ServiceSummary
from httpdyno.experiments.service.plan import Service, Variant, name_of
from httpdyno.model import Loop, Outcome, Report, Trial, Validity
from httpdyno.report.html import page
from httpdyno.runs.showing import build_report
from httpdyno.store import open_run

MS = 10**6


def served(number: int, subject: str, block: int, connections: int, overhead_ms: float) -> Trial:
    point = Service().point(connections, Variant(Loop.CLOSED, None, None))
    late = overhead_ms >= 200
    summary = ServiceSummary(
        answers=80,
        errors=0,
        per_s=connections / 2,
        p99_ns=(2000 + overhead_ms) * MS,
        overhead_p99_ns=overhead_ms * MS,
        overhead_p50_ns=overhead_ms * MS / 2,
        cpu_per_request_ns=0.1 * MS,
        memory_per_open_bytes=4096.0,
        held=not late,
        why_not="p99 is 2.5 s, 1.25 times the ideal of 2 s" if late else None,
    )
    return trial(
        subject,
        block,
        trial=number,
        experiment="service",
        condition=name_of(point),
        service_point=point,
        service=summary,
    )


def grid() -> list[Trial]:
    asked = [
        (subject, block, connections, overhead * connections / 20 + block / 10)
        for block in range(4)
        for connections in (20, 100)
        for subject, overhead in (("quick", 4), ("slow", 100))
    ]
    return [served(number, *one) for number, one in enumerate(asked)]


def reported(root: Path, trials: list[Trial], **settings: object) -> Report:
    kept = {**Service().settings(), **settings}
    folder = make_run(root, trials, experiment="service", command=("httpdyno", "service"), settings=kept)
    return build_report(open_run(folder), definition_of("service"))


def test_findings_are_the_smallest_overhead_and_the_breaking_points(tmp_path: Path) -> None:
    report = reported(tmp_path, grid())
    assert report.headline.startswith("20 connections: C quick is first")
    assert "C quick holds every measured number, up to 100 connections" in report.findings
    assert "C slow holds 20 connections and breaks at 100: p99 is 2.5 s, 1.25 times the ideal of 2 s" in report.findings
    assert ("Each request", "waits 500,1000,2000 ms, in parallel") in report.facts
    names = ["overhead-p99", "overhead-p50", "cpu-per-request", "memory-per-open-request"]
    assert [chart.name for chart in report.charts] == names
    assert "<html" in page(report)


def test_the_headline_of_a_search_is_where_servers_break(tmp_path: Path) -> None:
    report = reported(tmp_path, grid(), search=True)
    assert "connections" in report.headline
    assert report.headline.startswith(("C quick holds every", "C slow holds 20"))


def test_the_headline_of_a_search_without_a_valid_trial(tmp_path: Path) -> None:
    disturbed = [replace(one, validity=Validity.UNSTEADY) for one in grid()]
    report = reported(tmp_path, disturbed, search=True)
    assert report.headline.startswith("No trial is VALID (UNSTEADY): C quick holds every")


def test_servers_that_hold_all_share_a_sentence(tmp_path: Path) -> None:
    more = [served(100 + number, "brisk", number, count, 5) for number in range(2) for count in (20, 100)]
    report = reported(tmp_path, [*grid(), *more])
    assert "C quick and C brisk hold every measured number, up to 100 connections" in report.findings


def test_a_server_that_failed_is_named_with_the_evidence(tmp_path: Path) -> None:
    broken = trial(
        "broken",
        0,
        trial=99,
        experiment="service",
        condition="20 connections",
        outcome=Outcome.LEAKED,
        reason="descriptors grew from 9 to 99",
        service_point=Service().point(20, Variant(Loop.CLOSED, None, None)),
    )
    report = reported(tmp_path, [*grid(), broken])
    assert "C broken leaked: 20 connections: descriptors grew from 9 to 99" in report.findings


def test_nothing_has_a_page_too(tmp_path: Path) -> None:
    report = reported(tmp_path, [])
    assert report.headline == "Nothing was measured: the run has no finished trial"
    assert report.charts == ()
