"""Comparison of two runs, and of the subjects of one: the rows, the verdicts, refusals."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from doubles.runs import MACHINE, NOON, make_run
from doubles.trials import trial, trials_of
from httpdyno.errors import UnknownName, UsageError
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.judge import find_metric
from httpdyno.judge.comparison import parse_threshold
from httpdyno.model import Cell, ColumnKind, LinesSummary, Outcome, Trial, Validity
from httpdyno.runs.comparison import compare_two_runs, compare_within_run
from httpdyno.runs.comparison_table import Compared
from httpdyno.runs.showing import shown_tables
from httpdyno.store import Run, open_run

RIGHT = find_metric(CRAWL_METRICS, "right_per_s")
P99 = find_metric(CRAWL_METRICS, "p99_ms")
BEFORE = [100.0, 102, 99, 101, 100]
AFTER = [90.0, 91, 89, 92, 90]
MEAN_BEFORE, MEAN_AFTER = 100.395, 90.3943
"""Their geometric means."""
CRASH: dict[str, Any] = {"outcome": Outcome.CRASHED, "validity": None, "reason": "it dumped core", "summary": None}


def two(tmp_path: Path, before: Sequence[Trial], after: Sequence[Trial], **changes: Any) -> tuple[Run, Run]:
    later = NOON + timedelta(hours=1)
    return open_run(make_run(tmp_path, before)), open_run(make_run(tmp_path, after, started_at=later, **changes))


def against(runs: tuple[Run, Run], *thresholds: str, anyway: bool = False) -> Compared:
    return compare_two_runs(
        *runs, [RIGHT], [parse_threshold(text, CRAWL_METRICS) for text in thresholds], anyway=anyway
    )


def rows_of(compared: Compared, *columns: str) -> list[tuple[Cell, ...]]:
    return list(zip(*(compared.table.values(column) for column in columns), strict=True))


def notes_of(compared: Compared) -> list[str]:
    return [note.text for note in compared.table.notes]


def test_each_subject_of_two_runs_is_a_row_with_its_versions(tmp_path: Path) -> None:
    runs = two(
        tmp_path,
        trials_of("go", BEFORE, version="1.25") + trials_of("rust", BEFORE),
        trials_of("rust", BEFORE) + trials_of("go", AFTER, version="1.26"),
    )
    compared = against(runs)
    columns = ("subject", "version_a", "version_b", "metric", "value_a", "value_b", "verdict")
    assert rows_of(compared, *columns) == [
        ("rust", "1", "1", "right_per_s", MEAN_BEFORE, MEAN_BEFORE, "no difference shown"),
        ("go", "1.25", "1.26", "right_per_s", MEAN_BEFORE, MEAN_AFTER, "slower"),
    ]
    assert compared.table.values("change")[1] == "-10.0 % (-11.5 % to -8.4 %)"
    assert compared.table.values("change_percent")[1] == pytest.approx(-9.96, abs=0.01)
    assert compared.table.values("difference") == ("undecided", "worse")
    assert compared.table.values("level") == (0.95, 0.95)
    assert notes_of(compared)[0].startswith("A: 20261121T120000Z-bench, 2026-11-21 12:00 UTC")
    assert notes_of(compared)[1].startswith("B: 20261121T130000Z-bench, 2026-11-21 13:00 UTC")
    assert "95 % interval" in notes_of(compared)[2]
    shown = {column.name for column in compared.table.columns if column.shown}
    assert {"subject", "value_a", "unit", "change"} <= shown
    assert not {"condition", "p", "broken"} & shown
    # The printed rows are the same with fewer digits, under the verdict.
    (view,) = compared.views
    assert view.title == compared.verdict
    assert view.values("value_b") == (100.4, 90.39)
    assert (view.columns, view.notes) == (compared.table.columns, compared.table.notes)


def test_a_broken_threshold_is_a_failure_with_the_change(tmp_path: Path) -> None:
    compared = against(two(tmp_path, trials_of("go", BEFORE), trials_of("go", AFTER)), "right_per_s < -5%")
    assert compared.failures == (
        "go in B is slower than in A: right_per_s -10.0 % (95 %: -11.5 to -8.4 %), beyond 'right_per_s < -5%'",
    )
    assert compared.table.values("broken") == ("right_per_s < -5%",)
    assert "FAILED right_per_s < -5%" in notes_of(compared)
    assert compared.judged == {"right_per_s"}


@pytest.mark.parametrize("threshold", ["right_per_s < -10%", "right_per_s > +5%"])
def test_a_threshold_that_is_not_broken_for_sure_is_no_failure(tmp_path: Path, threshold: str) -> None:
    compared = against(two(tmp_path, trials_of("go", BEFORE), trials_of("go", AFTER)), threshold)
    assert (compared.failures, compared.table.values("broken")) == ((), (None,))


def test_several_metrics_are_rows_of_their_own_with_their_units(tmp_path: Path) -> None:
    def times(values: Sequence[float], p99_ns: float) -> list[Trial]:
        return [
            trial("go", block, summary=LinesSummary(urls=9, right_per_s=value, p99_ns=p99_ns * value))
            for block, value in enumerate(values)
        ]

    runs = two(tmp_path, times(BEFORE, 1e6), times(BEFORE, 2e6))
    compared = compare_two_runs(*runs, [RIGHT, P99], [parse_threshold("p99 > 10%", CRAWL_METRICS)], anyway=False)
    assert rows_of(compared, "metric", "unit", "value_a", "value_b", "verdict", "broken") == [
        ("right_per_s", "1/s", MEAN_BEFORE, MEAN_BEFORE, "no difference shown", None),
        ("p99_ms", "ms", 100.395, 200.79, "longer", "p99_ms > +10%"),
    ]
    # The output has a table for each, and all notes below the last.
    assert [view.values("metric") for view in compared.views] == [("right_per_s",), ("p99_ms",)]
    assert [len(view.notes) for view in compared.views] == [0, len(compared.table.notes)]


def test_each_metric_is_shown_to_people_in_its_own_unit(tmp_path: Path) -> None:
    runs = two(tmp_path, trials_of("go", BEFORE), trials_of("go", AFTER))
    metrics = [RIGHT, find_metric(CRAWL_METRICS, "peak_memory_bytes")]
    sizes = [
        (column.kind, next(one.shown for one in view.columns if one.name == "unit"))
        for view in compare_two_runs(*runs, metrics, [], anyway=False).views
        for column in view.columns
        if column.name == "value_b"
    ]
    assert sizes == [(ColumnKind.NUMBER, True), (ColumnKind.SIZE, False)]


def test_subjects_of_one_run_only_are_listed(tmp_path: Path) -> None:
    runs = two(
        tmp_path,
        trials_of("gone", BEFORE) + trials_of("go", BEFORE),
        trials_of("new", AFTER) + trials_of("go", BEFORE),
    )
    assert rows_of(against(runs), "subject", "value_a", "value_b", "verdict") == [
        ("go", MEAN_BEFORE, MEAN_BEFORE, "no difference shown"),
        ("new", None, 90.0, "only in B"),
        ("gone", 100.0, None, "only in A"),
    ]


def test_each_condition_is_a_row(tmp_path: Path) -> None:
    both = [trials_of("go", BEFORE, condition=name) for name in ("near", "far")]
    runs = two(tmp_path, both[0] + both[1], trials_of("go", AFTER, condition="near") + both[1])
    compared = against(runs, "right_per_s < -5%")
    assert rows_of(compared, "condition", "verdict") == [("near", "slower"), ("far", "no difference shown")]
    assert next(column for column in compared.table.columns if column.name == "condition").shown
    assert compared.failures[0].startswith("go (near) in B is slower than in A: right_per_s -10.0 %")


def test_what_cannot_be_believed_is_shown_and_not_judged(tmp_path: Path) -> None:
    spoiled = [*trials_of("go", AFTER[:4]), trial("go", 4, **CRASH)]
    lying = trials_of("rust", AFTER, validity=Validity.INCORRECT, validity_reason="9 % wrong")
    runs = two(tmp_path, trials_of("go", BEFORE) + trials_of("rust", BEFORE), spoiled + lying)
    compared = against(runs, "right_per_s < -5%")
    assert rows_of(compared, "subject", "value_b", "verdict") == [
        ("go", 90.5, "not judged, B: crashed"),
        ("rust", 90.0, "not judged, B: INCORRECT"),
    ]
    assert (compared.failures, compared.judged) == ((), frozenset())
    assert "B: crashed: it dumped core (1 of 5 trials)" in notes_of(compared)
    assert "B: INCORRECT: 9 % wrong (5 of 5 trials)" in notes_of(compared)


def test_what_is_to_be_said_of_both_is_said_once(tmp_path: Path) -> None:
    unavailable = [trial("go", 0, outcome=Outcome.UNAVAILABLE, reason="needs go", validity=None, summary=None)]
    compared = against(two(tmp_path, unavailable, unavailable))
    assert rows_of(compared, "verdict", "value_a") == [("not judged, A: unavailable, B: unavailable", None)]
    assert [text for text in notes_of(compared) if "needs go" in text] == ["A and B: unavailable: needs go"]


def test_too_few_trials_are_said(tmp_path: Path) -> None:
    compared = against(two(tmp_path, trials_of("go", BEFORE), trials_of("go", AFTER[:2])))
    assert rows_of(compared, "value_b", "change", "verdict") == [(90.5, None, "not judged, 2 trials of 3 or more")]
    compared = against(two(tmp_path, trials_of("go", [0.0, *BEFORE]), trials_of("go", BEFORE)))
    assert compared.table.values("verdict") == ("not judged, a value of 0 has no ratio",)


def test_to_sink_to_nothing_passes_a_threshold(tmp_path: Path) -> None:
    compared = against(two(tmp_path, trials_of("go", BEFORE), trials_of("go", [0.0] * 5)), "right_per_s < -50%")
    assert rows_of(compared, "change", "verdict") == [(None, "slower")]
    assert compared.failures == ("go in B is slower than in A: right_per_s, beyond 'right_per_s < -50%'",)


def test_runs_that_are_not_alike_are_refused_and_compared_anyway(tmp_path: Path) -> None:
    runs = two(
        tmp_path,
        trials_of("go", BEFORE),
        trials_of("go", AFTER, concurrency=20),
        machine=replace(MACHINE, kernel="6.12"),
    )
    with pytest.raises(UsageError) as error:
        against(runs)
    assert error.value.line == (
        "runs A and B are not comparable: kernel: 6.1 in A, 6.12 in B; concurrency: 10 in A, 20 in B; "
        "compare them anyway with --anyway"
    )
    compared = against(runs, anyway=True)
    assert compared.table.values("verdict") == ("slower",)
    differing = [text for text in notes_of(compared) if text.startswith("A and B differ in more than the subjects")]
    assert [text.partition("change: ")[2] for text in differing] == [
        "kernel: 6.1 in A, 6.12 in B",
        "concurrency: 10 in A, 20 in B",
    ]


def test_another_instrument_is_said_and_no_reason_to_refuse(tmp_path: Path) -> None:
    runs = two(tmp_path, trials_of("go", BEFORE), trials_of("go", BEFORE), version="0.2.0")
    assert "the instrument changed: httpdyno: 0.1.0 in A, 0.2.0 in B" in notes_of(against(runs))


def test_reservations_are_said_of_the_run_that_has_them(tmp_path: Path) -> None:
    runs = two(tmp_path, trials_of("go", BEFORE), trials_of("go", AFTER), trials_planned=9)
    (of_b,) = [text for text in notes_of(against(runs)) if text.startswith("B: ")]
    assert of_b.endswith("not whole: 5 of 9 trials")


def test_one_run_twice_and_runs_of_two_experiments_are_refused(tmp_path: Path) -> None:
    a, b = two(tmp_path, trials_of("go", BEFORE), trials_of("go", AFTER), experiment="cost")
    with pytest.raises(UsageError, match="are one run; compare one run with httpdyno compare 20261121T120000Z-bench"):
        against((a, replace(a, folder=a.folder / ".." / a.folder.name)))
    with pytest.raises(UsageError, match="A is a run of bench, B one of cost; name two runs of one experiment"):
        against((a, b), anyway=True)


def within(tmp_path: Path, trials: Sequence[Trial], *thresholds: str, baseline: str | None = None) -> Compared:
    run = open_run(make_run(tmp_path, trials))
    parsed = [parse_threshold(text, CRAWL_METRICS) for text in thresholds]
    return compare_within_run(run, [RIGHT], parsed, baseline=baseline)


def test_each_pair_of_one_run_is_a_row_the_better_first(tmp_path: Path) -> None:
    trials = trials_of("slow", AFTER) + trials_of("fast", BEFORE) + trials_of("same", BEFORE)
    compared = within(tmp_path, trials)
    assert rows_of(compared, "subject", "baseline", "baseline_value", "value", "verdict") == [
        ("fast", "same", MEAN_BEFORE, MEAN_BEFORE, "no difference shown"),
        ("fast", "slow", MEAN_AFTER, MEAN_BEFORE, "faster"),
        ("same", "slow", MEAN_AFTER, MEAN_BEFORE, "faster"),
    ]
    assert notes_of(compared)[0] == "run: 20261121T120000Z-bench, 2026-11-21 12:00 UTC; its trials are paired by block"


def test_all_others_are_compared_with_a_baseline(tmp_path: Path) -> None:
    trials = trials_of("slow", AFTER) + trials_of("base", BEFORE) + trials_of("same", BEFORE)
    compared = within(tmp_path, trials, "right_per_s < -5%", baseline="base")
    assert rows_of(compared, "subject", "baseline", "verdict", "broken") == [
        ("slow", "base", "slower", "right_per_s < -5%"),
        ("same", "base", "no difference shown", None),
    ]
    assert compared.failures[0].startswith("slow is slower than base: right_per_s -10.0 % (95 %: -10.8 to -9.1 %)")


def test_who_is_in_no_pair_is_listed(tmp_path: Path) -> None:
    trials = [*trials_of("good", BEFORE), trial("bad", 0, **CRASH)]
    compared = within(tmp_path, trials)
    assert rows_of(compared, "subject", "baseline", "value", "verdict") == [
        ("good", None, 100.0, "nothing to compare with"),
        ("bad", None, None, "not judged, crashed"),
    ]
    assert "crashed: it dumped core" in notes_of(compared)
    compared = within(tmp_path, trials, baseline="bad")
    assert rows_of(compared, "subject", "verdict") == [("good", "not judged, bad: crashed")]
    assert "bad: crashed: it dumped core" in notes_of(compared)


def test_a_baseline_that_is_missing_under_one_condition_is_said(tmp_path: Path) -> None:
    trials = trials_of("base", BEFORE, condition="near") + trials_of("go", BEFORE, condition="far")
    compared = within(tmp_path, trials, baseline="base")
    assert rows_of(compared, "subject", "condition", "verdict") == [("go", "far", "not judged, base: not measured")]


def test_a_threshold_inside_one_run_needs_a_baseline(tmp_path: Path) -> None:
    trials = trials_of("a", BEFORE) + trials_of("b", BEFORE)
    with pytest.raises(UsageError, match="--fail-if inside one run needs --baseline, one of its subjects: a, b"):
        within(tmp_path, trials, "right_per_s < -5%")
    with pytest.raises(UnknownName, match="there is no subject 'c' in this run; it has: a, b"):
        within(tmp_path, trials, baseline="c")


def test_no_subject_is_first_if_the_origin_limited_a_better_one(tmp_path: Path) -> None:
    limited = trials_of("fast", [1806.0] * 5, validity=Validity.ORIGIN_LIMITED, validity_reason="busy")
    trials = [*trials_of("go", BEFORE), *trials_of("rust", AFTER), *limited]
    run = open_run(make_run(tmp_path, trials, settings={"rank_by": "right_per_s"}))
    why = "because the origin limited it; no client with a lower figure can be called first"
    said = f"at least 1,806 right answers a second, {why}"
    assert f"fast: {said}" in notes_of(compare_within_run(run, [RIGHT], [], baseline=None))
    (table,) = shown_tables(run, "table", verbose=True)
    assert f"C fast: {said}" in [note.text for note in table.notes]
    fastest, _ = table.title.splitlines()
    assert fastest.startswith("Fastest here: no clear winner: the origin limited C fast at 1,806 right/s")
    assert any(str(row[4]).startswith("\u22651806") for row in table.rows)
    # A time has no known bound.
    assert not any("at least" in note for note in notes_of(compare_within_run(run, [P99], [], baseline=None)))
