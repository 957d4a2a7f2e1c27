"""The table of the cost question: its ranking, its other columns, and its notes."""

from dataclasses import replace
from pathlib import Path

import pytest

from doubles.cost import MS, cost_trial, tool_trial
from doubles.runs import make_run
from httpdyno.experiments.cost.judge import Coding, CostPoint, RequestClock
from httpdyno.experiments.cost.present import cost_table, cost_views
from httpdyno.experiments.published import compare_run
from httpdyno.experiments.registry import definition_of
from httpdyno.model import Counters, Outcome, Table, Trial
from httpdyno.model.counters import AgainstCounters
from httpdyno.published import find_preset, in_published_form
from httpdyno.runs.showing import build_report
from httpdyno.store import open_run


def trials() -> list[Trial]:
    """Make five blocks of three subjects: curb is the cheapest client, ab is cheaper still."""
    return [
        one
        for block in range(5)
        for one in (
            cost_trial("ruby-curb", block, document_us=200 + block),
            cost_trial("ruby-net-http", block, document_us=500 + block),
            tool_trial("ab", block),
        )
    ]


def rows(table: Table) -> list[dict[str, object]]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, row, strict=True)) for row in table.rows]


def notes(table: Table) -> str:
    return "\n".join(note.text for note in table.notes)


def test_the_cheapest_verified_document_is_first_and_a_tool_is_shown_without_a_rank() -> None:
    found = rows(cost_table(trials()))
    assert [(row["subject"], row["rank"]) for row in found] == [
        ("ruby-curb", 1),
        ("ruby-net-http", 2),
        ("ab", None),
    ]
    curb, _, ab = found
    assert curb["cpu_per_document_ms"] == pytest.approx(0.207, abs=0.001)
    assert (curb["verified"], curb["json_parser"], curb["keepalive"], curb["gzip"]) == (10_000, "a parser", True, False)
    assert (curb["user"], curb["total"], curb["real"]) == pytest.approx((1.035, 2.07, 4.14), abs=0.001)
    assert (ab["verified"], ab["json_parser"], ab["verdict"]) == (None, None, "UNVERIFIED")


def test_a_tool_leaves_clients_ranked_and_has_a_remark() -> None:
    table = cost_table(trials())
    assert "without checking them: shown, but not ranked" in notes(table)
    assert "nobody is ranked" not in notes(table)


def test_settings_have_rows_of_their_own_and_are_shown_where_they_differ() -> None:
    kept = cost_trial(condition="keep-alive")
    closed = cost_trial(condition="no keep-alive", keepalive=False, document_us=400)
    zipped = cost_trial(condition="gzip", cost_point=CostPoint(10_000, Coding.GZIP))
    assert [row["keepalive"] for row in rows(cost_table([kept, closed]))] == [True, False]
    assert [row["gzip"] for row in rows(cost_table([kept, zipped]))] == [False, True]
    for shown, of in (({"keepalive"}, [kept, closed]), ({"gzip"}, [kept, zipped]), (set(), [kept])):
        for view in cost_views(of, {}):
            assert {column.name for column in view.columns} & {"keepalive", "gzip"} == shown


def test_the_views_hold_every_row_and_the_notes_once() -> None:
    spent, published = cost_views(trials(), {})
    assert len(spent.rows) == len(published.rows) == 3
    assert spent.notes == ()
    assert published.notes


def test_a_note_explains_a_split_by_the_clients_own_times() -> None:
    own = {"requests_timed_by": RequestClock.CLIENT}
    rests = "start-up and steady state are computed from the clients' own times: "
    foreign = [cost_trial(subject, peer="apache", cost=own) for subject in ("ruby-curb", "ruby-net-http")]
    assert notes(cost_table(foreign)).count(f"{rests}apache records no time of its requests") == 1
    ours = cost_trial("ruby-curb", cost=own)
    assert f"{rests}no request reached the origin" in notes(cost_table([ours]))
    way = AgainstCounters(url="http://other:8080", clock_bound_ns=50 * MS)
    far = cost_trial(counters=Counters(against=way), cost=own)
    assert f"{rests}the clock of http://other:8080 is known to 50 ms only" in notes(cost_table([far]))
    near = cost_trial(counters=Counters(against=way), cost={"requests_timed_by": RequestClock.ORIGIN})
    assert rests not in notes(cost_table([near]))


def test_a_comparison_with_a_publication_names_another_machine(tmp_path: Path) -> None:
    settings = {"preset": "published", "against": "http://other:8080"}
    folder = make_run(tmp_path, [cost_trial()], experiment="cost", settings=settings)
    result = notes(compare_run(open_run(folder), definition_of("cost"), find_preset("published", "cost")))
    assert "served by http://other:8080, another machine" in result


def test_nothing_measured_makes_empty_tables() -> None:
    assert cost_table([]).rows == ()
    assert [view.rows for view in cost_views([], {})] == [(), ()]


def test_remarks_on_unsettled_caught_and_unsteered_trials() -> None:
    text = notes(
        cost_table(
            [
                cost_trial("java-x", cost={"drift": -0.4}),
                cost_trial("ruby-curb", cost={"caught": 10}),
                cost_trial("go-x", cost={"receive_steering": False, "receive_steering_reason": "no such file"}),
                cost_trial("node-x", cost={"drift": -0.05}),
            ]
        )
    )
    assert "a document of the last third cost 40 % less than one of the first" in text
    assert "the web served wrong documents: 10 were reported as wrong" in text
    assert "packets were not received on its own CPUs: no such file" in text
    assert text.count("had not settled") == 1


def test_a_failed_subject_keeps_a_row() -> None:
    failed = cost_trial("ruby-patron", outcome=Outcome.UNAVAILABLE, reason="no gem", validity=None)
    found = rows(cost_table([cost_trial(), replace(failed, figures={}, tally=None)]))
    assert [(row["subject"], row["verdict"]) for row in found] == [
        ("ruby-curb", "VALID"),
        ("ruby-patron", "unavailable"),
    ]


def test_the_published_form_has_the_published_columns_and_figures_are_compared_per_document() -> None:
    published = find_preset("published", "cost")
    measured = cost_table([cost_trial("ruby-curb", documents=1_000, document_us=400, start_ms=0), tool_trial()])
    form = in_published_form(measured, published, {})
    names = ["runtime", "client", "documents", "user", "system", "total", "real"]
    assert [column.name for column in form.columns] == names
    assert form.rows[0][:3] == ("Ruby", "curb", 1_000)
    assert find_preset("published", "cost").urls == 10_000
    assert set(find_preset("published", "cost").subjects) >= {"ruby-curb", "java-apache-httpclient5", "ab", "httperf"}


def test_a_run_is_compared_with_the_publication(tmp_path: Path) -> None:
    one = cost_trial("ruby-curb", documents=1_000, document_us=544, start_ms=0)
    run = open_run(make_run(tmp_path, [one], experiment="cost", settings={"preset": "published"}))
    table = compare_run(run, definition_of("cost"), find_preset("published", "cost"), for_programs=True)
    curb = next(row for row in rows(table) if row["subject"] == "ruby-curb")
    # 0.544 s for a thousand documents are as much as the published 5.44 s for ten thousand.
    assert (curb["total"], curb["total_published"], curb["total_ratio"]) == (0.544, 5.44, 1.0)


def test_the_page_has_the_four_published_charts_and_the_winner(tmp_path: Path) -> None:
    report = build_report(open_run(make_run(tmp_path, trials(), experiment="cost")), definition_of("cost"))
    assert report.headline.startswith("Ruby curb is first: 0.207 ms of CPU time for each verified document")
    assert "C ab" in report.headline.partition("not ranked")[2]
    names = [chart.name for chart in report.charts]
    assert [name for name in names if name in {"throughput", "real-time", "user-system-time", "all-data"}] == [
        "throughput",
        "real-time",
        "user-system-time",
        "all-data",
    ]
    assert {"ranking", "ratios", "spending", "course"} <= set(names)


def test_the_page_of_two_settings_has_charts_for_each(tmp_path: Path) -> None:
    of = [
        cost_trial(condition=name, keepalive=kept, block=block)
        for block in range(3)
        for name, kept in (("keep-alive", True), ("no keep-alive", False))
    ]
    report = build_report(open_run(make_run(tmp_path, of, experiment="cost")), definition_of("cost"))
    assert {"throughput-0", "throughput-1"} <= {chart.name for chart in report.charts}
    assert "keep-alive: " in report.headline


def test_unknown_figures_are_not_drawn(tmp_path: Path) -> None:
    nothing = {"steps": None, "start_cpu_ns": None, "warm_up_cpu_ns": None}
    report = build_report(
        open_run(make_run(tmp_path, [cost_trial(cost=nothing)], experiment="cost")), definition_of("cost")
    )
    assert not {"spending", "course"} & {chart.name for chart in report.charts}


def test_a_warm_up_is_taken_out_of_the_documents(tmp_path: Path) -> None:
    one = cost_trial(document_us=200, start_ms=500, cost={"warm_up_cpu_ns": 500.0 * MS})
    report = build_report(open_run(make_run(tmp_path, [one], experiment="cost")), definition_of("cost"))
    chart = next(chart for chart in report.charts if chart.name == "spending")
    assert {series.name: series.y for series in chart.series} == {
        "documents": (1500.0,),
        "start": (500.0,),
        "warm-up": (500.0,),
    }
