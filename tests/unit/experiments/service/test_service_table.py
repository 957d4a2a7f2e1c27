"""The tables of the service question: for programs, for people, and the published form."""

from dataclasses import replace
from pathlib import Path

import pytest

from doubles.runs import manifest_of
from httpdyno.errors import UnreadableRun
from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.experiments.service.options import ServiceOptions
from httpdyno.experiments.service.plan import Service, make_service
from httpdyno.experiments.service.present import published_form, service_charts, service_table, service_views
from httpdyno.judge import Circumstances, trial_not_run
from httpdyno.model import Note, Outcome, Subject, SubjectKind, Table, Trial, TrialPlan, Validity, figures_of
from httpdyno.published import find_preset
from httpdyno.report.formats import Surface, render

MS = 10**6


def trial(subject: str, connections: int, overhead_ms: float, *, block: int = 0, **changes: object) -> Trial:
    (condition,) = Service(connections=str(connections)).conditions()
    server = Subject(subject, SubjectKind.SERVER, "Rust", subject, Path(), ("x",))
    summary = ServiceSummary(
        answers=100,
        errors=0,
        per_s=connections / 2,
        p99_ns=(2000 + overhead_ms) * MS,
        slowest_5_ns=(2000 + overhead_ms) * MS,
        overhead_p99_ns=overhead_ms * MS,
        overhead_p50_ns=overhead_ms * MS / 2,
        cpu_per_request_ns=1.0 * MS,
        memory_per_open_bytes=2048.0,
        held=overhead_ms < 200,
        at_least=overhead_ms > 1000,
    )
    made = trial_not_run(TrialPlan(block, block, 0, server, condition), Outcome.OK, None, Circumstances("1"))
    return replace(made.having(summary), **{"validity": Validity.VALID, **changes})  # type: ignore[arg-type]


def shown(table: Table) -> list[str]:
    return [column.name for column in table.columns if column.shown]


GRID = [
    trial(subject, connections, overhead * connections / 20, block=block)
    for block in range(3)
    for connections in (20, 100)
    for subject, overhead in (("quick", 4 + block / 10), ("slow", 60 + block))
]


def test_points_stand_in_the_order_of_connections_whatever_a_search_tried_first() -> None:
    table = service_table([trial("quick", connections, 4) for connections in (20, 320, 5120, 80)])
    assert table.values("connections") == (20, 80, 320, 5120)


def test_failures_of_requests_are_a_note_on_the_worst_trial() -> None:
    def failing(connections: int, errors: int, failures: str) -> Trial:
        made = trial("broken", connections, 4)
        return made.having(replace(made[ServiceSummary], errors=errors, failures=failures))

    table = service_table([failing(20, 2, "2 x 503"), failing(100, 9, "8 x 503, 1 x ConnectionReset")])
    assert table.values("failures") == ("2 x 503", "8 x 503, 1 x ConnectionReset")
    result = [note.text for note in table.notes if "failed with" in note.text]
    assert result == [
        "broken: requests failed with 100 connections: 8 x 503, 1 x ConnectionReset, the most of 2 trials with failures"
    ]


def test_at_each_point_the_least_overhead_comes_first() -> None:
    table = service_table(GRID)
    assert list(zip(table.values("connections"), table.values("subject"), strict=True)) == [
        (20, "quick"),
        (20, "slow"),
        (100, "quick"),
        (100, "slow"),
    ]
    assert table.values("held") == (True, True, True, False)
    assert table.values("breaks_at") == (None, 100, None, 100)
    assert table.values("holds_up_to") == (100, 20, 100, 20)
    assert table.values("trials") == (3, 3, 3, 3)
    assert table.values("rank") == (1, 2, 1, 2)
    assert {"loop", "threads"}.isdisjoint(shown(table))


def test_a_failed_server_keeps_its_row_and_has_a_reason() -> None:
    failed = replace(
        trial("broken", 20, 1),
        outcome=Outcome.LEAKED,
        reason="descriptors grew",
        figures=figures_of(trial("broken", 20, 1)[ServicePoint]),
        validity=None,
    )
    table = service_table([*GRID, failed])
    place = table.values("subject").index("broken")
    assert table.values("verdict")[place] == "leaked"
    assert "broken: leaked: descriptors grew" in [note.text for note in table.notes]
    assert table.values("held")[place] is False


def test_nothing_makes_an_empty_table() -> None:
    assert service_table([]).rows == ()
    (only,) = service_views([], {})
    assert only.rows == ()


def test_a_search_begins_with_the_reach_of_each_server() -> None:
    searched = Service(connections="20", search=True, most_connections=100).settings()
    reach, by_point = service_views(GRID, searched)
    assert reach.values("server") == ("quick", "slow")
    assert reach.values("holds") == (100, 20)
    assert reach.values("breaks at") == (None, 100)
    assert len(by_point.rows) == 4
    assert len(service_views(GRID, {"search": False})) == 1
    with pytest.raises(UnreadableRun, match="the settings of the run are damaged: quick is missing"):
        service_views(GRID, {name: value for name, value in searched.items() if name != "quick"})


def test_a_narrow_terminal_leaves_out_what_is_empty_before_figures() -> None:
    bare = [one.having(replace(one[ServiceSummary], held=None)) for one in GRID if one.subject == "quick"]
    (view,) = service_views(bare, {"search": False})
    lines = render(view, "table", Surface(colour=False, width=150)).splitlines()
    heading = lines[next(place for place, line in enumerate(lines) if line.startswith("─")) - 1].split()
    assert not {"rank", "held"} & set(heading)
    assert {"requestsPerSec", "p99", "verdict"} <= set(heading)


@pytest.mark.parametrize(
    ("first", "second", "held", "drawn_ms"),
    [
        pytest.param((240, Validity.VALID), (4, Validity.VALID), False, 122, id="both count"),
        pytest.param((240, Validity.UNSTEADY), (4, Validity.UNSTEADY), True, 4, id="made again, as it was disturbed"),
        pytest.param((240, Validity.UNSTEADY), (240, Validity.UNSTEADY), False, 240, id="never held"),
    ],
)
def test_a_cell_a_chart_and_the_reach_say_the_same_of_a_point(
    first: tuple[float, Validity], second: tuple[float, Validity], held: bool, drawn_ms: float
) -> None:
    seen = [
        trial("quick", 20, late_ms, block=block, validity=validity)
        for block, (late_ms, validity) in enumerate((first, second))
    ]
    table = service_table(seen)
    assert table.values("held") == (held,)
    assert table.values("breaks_at") == (None if held else 20,)
    (chart, *_) = service_charts(seen, {"quick": "Quick"})
    assert chart.series[0].y == pytest.approx((drawn_ms,))
    assert table.values("overhead_p99_ms") == pytest.approx((drawn_ms,))


def test_lower_bounds_are_marked() -> None:
    notes = [note.text for note in service_table([trial("late", 20, 5000)]).notes]
    assert any("at_least" in note for note in notes)
    assert any("the longest wait of a request, 2 s" in note for note in notes)


def test_a_server_that_answers_too_early_has_a_note() -> None:
    hasty = trial("hasty", 20, 1)
    assert hasty.get(ServiceSummary) is not None
    hasty = hasty.having(replace(hasty[ServiceSummary], early=40, early_by_ns=3.9 * MS))
    notes = [note.text for note in service_table([hasty, trial("patient", 20, 2)]).notes]
    (result,) = [note for note in notes if "arrived before" in note]
    assert result.startswith("hasty: 40 of 100 answers arrived before the longest wait was over, by up to 3.9 ms")


def test_figures_without_percentiles_are_sorted_and_not_ranked() -> None:
    def claimed(subject: str, connections: int, slowest_ms: float) -> Trial:
        summary = ServiceSummary(answers=100, errors=0, per_s=9.0, slowest_5_ns=slowest_ms * MS, claimed_answers=100)
        return trial(subject, connections, 1).having(summary)

    trials = [
        claimed(subject, connections, slowest + connections)
        for connections in (20, 100)
        for subject, slowest in (("a", 2100), ("b", 2001), ("c", 2050))
    ]
    (table,) = service_views(trials, {})
    assert table.values("subject") == ("b", "c", "a") * 2
    assert set(table.values("rank")) == {None}
    assert shown(table)[:4] == ["subject", "connections", "requestsPerSec", "slowest5"]
    (why,) = [note.text for note in table.notes if note.text.startswith("no server is ranked")]
    assert "still open at the end" in why


def test_points_that_differ_in_their_cpus_have_a_column_of_them() -> None:
    experiment = Service(connections="20", server_cpus="1,3")
    both = [
        replace(made.having(condition[ServicePoint]), condition=condition.name)
        for condition in experiment.conditions()
        for made in [trial("quick", 20, 5)]
    ]
    table = service_table(both)
    assert "cpus" in shown(table)
    assert table.values("cpus") == (1, 3)
    assert {series.panel for chart in service_charts(both, {"quick": "Quick"}) for series in chart.series} == {
        "closed loop, 1 CPU",
        "closed loop, 3 CPUs",
    }


PUBLISHED = find_preset("published", "service")


def in_form(trials: list[Trial]) -> Table:
    return published_form(manifest_of(trials, experiment="service"), trials, PUBLISHED)


def test_the_preset_is_the_published_measurement() -> None:
    assert PUBLISHED.subjects == ("flask-gunicorn", "rust-axum", "rust-tide", "go-net-http-server")
    assert [one["subject"] for one in PUBLISHED.unpublished] == ["rust-actix-web", "rust-warp"]
    asked = make_service(ServiceOptions(preset="published"), None, cpus=None, available=2)
    assert (asked.connections, asked.threads) == ("20,100,250", "1")
    assert (asked.threads_by_server, asked.send_s) == ({"flask-gunicorn": 10}, 30)
    figures = {(row["subject"], row["connections"]): (row["slowest5"], row["requestsPerSec"]) for row in PUBLISHED.rows}
    assert figures["go-net-http-server", 250] == (2058.82, 116.67)
    assert figures["flask-gunicorn", 250] == (None, None)


def test_the_published_form_has_both_lines_side_by_side() -> None:
    trials = [trial("rust-axum", 20, 3.5), trial("rust-axum", 100, 9), trial("rust-warp", 20, 2.25)]
    table = in_form(trials)
    assert shown(table) == ["framework", "lang", "figures", "20 conns (95%, req/s)", "100 conns (95%, req/s)"]
    assert [row for row in table.rows if row[-1] in {"rust-axum", "rust-warp"}] == [
        ("axum", "rust", "measured", "2003.50ms, 10.00", "2009.00ms, 50.00", "rust-axum"),
        ("axum", "rust", "published", "2002.24ms, 9.33", "2029.32ms, 46.67", "rust-axum"),
        ("rust-warp", "rust", "measured", "2002.25ms, 10.00", "---", "rust-warp"),
    ]


def test_the_published_form_marks_a_lower_bound() -> None:
    table = in_form([trial("flask-gunicorn", 100, 4990)])
    assert table.rows[0][3] == "≥ 6990.00ms, 50.00"
    assert table.notes[0].text.startswith("≥: requests that were still open")


def test_the_published_form_has_the_reason_for_missing_figures() -> None:
    failed = replace(trial("flask-gunicorn", 20, 1), outcome=Outcome.DIED, reason="killed by SIGKILL")
    failed = replace(failed, figures=figures_of(failed[ServicePoint]))
    table = in_form([failed])
    assert table.rows[0] == ("Flask & Gunicorn", "python", "measured", "---", "flask-gunicorn")
    assert table.notes[0] == Note("died: killed by SIGKILL", 0)


def test_charts_have_a_line_for_each_server_and_the_limit() -> None:
    names = {"quick": "Quick", "slow": "Slow"}
    charts = {chart.name: chart for chart in service_charts(GRID, names)}
    assert set(charts) == {"overhead-p99", "overhead-p50", "cpu-per-request", "memory-per-open-request"}
    overhead = charts["overhead-p99"]
    assert [series.name for series in overhead.series] == ["Quick", "Slow"]
    assert overhead.series[0].x == (20.0, 100.0)
    assert overhead.series[0].y == pytest.approx((4.1, 20.5))
    assert round(overhead.reference or 0) == 200
    assert charts["memory-per-open-request"].series[0].y == (2.0, 2.0)
    assert list(service_charts([], names)) == []
