"""The page of a bench: tables and charts have the same figures, from the same trials, whatever disturbed the others."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.disturbed_bench import (
    BUSY_ORIGIN,
    DISTURBED,
    JAVA,
    NODE,
    REQWEST,
    crawl_of,
    disturbed_bench,
)
from doubles.runs import make_run
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.experiments.crawl.present import answer
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import find_metric, rank
from httpdyno.model import Chart, Series, Table, Trial
from httpdyno.report.sections.charts import ConditionTrials, cost_chart, ranking_chart
from httpdyno.report.sections.headline import placing_medians
from httpdyno.report.sections.tables import subject_names
from httpdyno.runs.showing import build_report, shown_tables
from httpdyno.store import open_run

BENCH = definition_of("bench")
COST, RATE, CPU = (find_metric(CRAWL_METRICS, name) for name in ("right_per_core_s", "right_per_s", "cpu_per_right_ms"))


@st.composite
def benches(draw: st.DrawFn) -> list[Trial]:
    """Generate a run with trials disturbed or limited, missing, and repeated in their own or the same blocks."""
    drawn = draw(st.randoms(use_true_random=False))
    spoiled = draw(st.floats(0, 0.7))
    trials: list[Trial] = []
    for subject in range(draw(st.integers(2, 6))):
        of = partial(crawl_of, f"s{subject}", language="C", method=f"m{subject}")
        for block in range(draw(st.integers(1, 5))):
            for _ in range(drawn.choice((1, 1, 1, 2))):
                rate, cpu_ms = 100 * (1 + drawn.random()), 2 + drawn.random()
                changes = drawn.choice((DISTURBED, BUSY_ORIGIN)) if drawn.random() < spoiled else {}
                trials.append(replace(of(block, rate, cpu_ms, **changes), trial=len(trials)))
    return trials


def large(chart: Chart | None) -> dict[str, Series]:
    """Return the large dots of a chart, by the name of their subject."""
    return {series.name: series for series in chart.series if not series.faint} if chart else {}


def figures_of(table: Table, figure: str) -> dict[str, float]:
    pairs = zip(table.values("subject"), table.values(figure), strict=True)
    return {str(subject): float(value) for subject, value in pairs if isinstance(value, int | float)}


@pytest.mark.slow
@given(benches(), st.sampled_from(["right_per_core_s", "right_per_s"]))
def test_charts_and_table_have_the_same_medians(trials: list[Trial], ranked_by: str) -> None:
    table = BENCH.presentation.for_run({"rank_by": ranked_by}).table(trials)
    names = subject_names(trials, ())
    of = ConditionTrials(trials, names)
    for metric in (COST, RATE):
        ranking = rank(trials, metric, disturbed=True)
        drawn = large(ranking_chart(of, ranking, metric))
        shown = figures_of(table, metric.name)
        medians = placing_medians(metric, trials, [standing.subject for standing in ranking.standings])
        assert set(drawn) == {names[standing.subject] for standing in ranking.standings}
        for subject, median in medians.items():
            assert drawn[names[subject]].y == (pytest.approx(median),)
            assert shown[subject] == metric.rounded(median)
    across, up = figures_of(table, RATE.name), figures_of(table, CPU.name)
    dots = large(cost_chart(of, RATE, CPU))
    assert set(dots) == {names[subject] for subject in across.keys() & up.keys()}
    for subject in across.keys() & up.keys():
        dot = dots[names[subject]]
        assert (RATE.rounded(dot.x[0]), CPU.rounded(dot.y[0])) == (across[subject], up[subject])  # type: ignore[arg-type]


def test_the_page_of_a_run_has_the_figures_of_its_table(tmp_path: Path) -> None:
    run = open_run(make_run(tmp_path, disturbed_bench()))
    report = build_report(run, BENCH)
    charts = {chart.name: chart for chart in report.charts}
    names = dict(report.subjects)
    for chart, figure in (("ranking", COST), ("ranking-other", RATE)):
        drawn = large(charts[chart])
        for subject, value in figures_of(report.table, figure.name).items():
            assert figure.rounded(drawn[names[subject]].y[0]) == value, (chart, subject)
    for subject, value in figures_of(report.table, CPU.name).items():
        assert CPU.rounded(large(charts["cpu"])[names[subject]].y[0]) == value


def test_a_disturbed_bench_has_the_order_of_its_medians_and_marks_what_lacks_blocks() -> None:
    trials = disturbed_bench()
    for metric in (COST, RATE):
        standings = rank(trials, metric, disturbed=True).standings
        medians = placing_medians(metric, trials, [one.subject for one in standings])
        order = [medians[one.subject] for one in standings]
        assert order == sorted(order, reverse=True)
        assert (standings[0].subject, standings[-1].subject) == (REQWEST, JAVA)
        marked = {one.subject for one in standings if one.provisional}
        # Two of three trials of Java were repeated in blocks of their own, one of Node.js: few blocks are shared.
        assert marked == {JAVA, NODE}
        assert [one.rank for one in standings] == list(range(1, len(standings) + 1))


def test_a_disturbed_bench_answers_all_the_same(tmp_path: Path) -> None:
    trials = disturbed_bench()
    names = subject_names(trials, ())
    cheapest, fastest = answer(trials, names, COST.name)
    assert cheapest.startswith("Cheapest: Rust reqwest, ")
    assert fastest.startswith("Fastest here: Rust reqwest, ")
    # Node.js is second by cost: with it two blocks are shared. The second by rate was never disturbed.
    assert cheapest.endswith(": provisional (2 common blocks)")
    assert fastest.endswith(": certain")
    (table,) = shown_tables(open_run(make_run(tmp_path, trials)), "table")
    assert table.values("client")[0] == "Rust reqwest"
    assert table.values("client")[-2:] == ("Java HttpClient", ".NET HttpClient")
    ranks = dict(zip(table.values("client"), table.values("rank"), strict=True))
    assert (ranks["Rust reqwest"], ranks["Node.js reqwest (Rust)"], ranks["Java HttpClient"]) == ("1", "2~", "7~")
    assert ranks[".NET HttpClient"] is None
    (note,) = (note.text for note in table.notes if note.text.startswith("~"))
    assert note == (
        "~ provisional: bash disturbed 2 of 5 trials of Java HttpClient and 1 of 4 of Node.js reqwest (Rust)"
    )
