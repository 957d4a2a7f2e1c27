"""A report has the data of its run: of any run, and no other data."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from doubles.runs import NOON, manifest_of
from doubles.trials import changed, summary_of, trial, trials_of
from httpdyno.errors import UnreadableRun
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.registry import definition_of
from httpdyno.model import (
    Chart,
    Counters,
    CpuTime,
    LinesSummary,
    MemoryPoint,
    Outcome,
    Report,
    Sample,
    Tally,
    ThroughputPoint,
    Trial,
    Validity,
)
from httpdyno.runs.showing import build_report
from httpdyno.store import RunWriter, open_run, polars_schema

BENCH: Definition = definition_of("bench")
SECOND = 10**9
COUNTERS = Counters(
    wall_ns=2 * SECOND,
    cpu_user_ns=15_000_000,
    cpu_system_ns=5_000_000,
    throughput=tuple(ThroughputPoint(200_000_000 * end, 20) for end in range(1, 6)),
    memory=tuple(MemoryPoint(100_000_000 * place, 2**20 * (place + 1)) for place in range(10)),
    cpus=(CpuTime(0, "engine", 1, 0, 2), CpuTime(1, "subject", 1, 0, 2)),
)


def measured(subject: str, values: list[float], **changes: Any) -> list[Trial]:
    """Make trials with everything that a trial can have, of clients that keep one core busy."""
    made = trials_of(subject, values, counters=COUNTERS)
    return [
        changed(one, **({"summary": summary_of(value, status_2xx=10)} | changes))
        for one, value in zip(made, values, strict=True)
    ]


def samples_of(number: int, durations_ms: list[float], *, error: str | None = None) -> pl.DataFrame:
    count = len(durations_ms)
    values: dict[str, Any] = {
        "trial": [number] * count,
        "line": range(1, count + 1),
        "url": ["http://a.example/"] * count,
        "code": [error or "200"] * count,
        "status": [None if error else 200] * count,
        "error": [error] * count,
        "duration_ns": [round(duration * 1e6) for duration in durations_ms],
        "cause": ["stall_tls" if error else None] * count,
        "verdict": ["false_error" if error else "right"] * count,
        "explained": [False] * count,
    }
    return pl.DataFrame(
        {name: values.get(name, [None] * count) for name in polars_schema(Sample)}, schema=polars_schema(Sample)
    )


def report_of(
    root: Path, trials: list[Trial], samples: dict[int, pl.DataFrame] | None = None, **manifest: Any
) -> Report:
    """Write a run and report it; samples by the number of their trial."""
    described = manifest_of(trials, **manifest)
    writer = RunWriter.create(root, described)
    for number, one in enumerate(trials):
        writer.add(replace(one, trial=number), (samples or {}).get(number))
    writer.close(complete=len(trials) >= described.trials_planned, ended_at=NOON)
    return build_report(open_run(writer.folder), BENCH)


def chart(report: Report, name: str) -> Chart:
    return next(chart for chart in report.charts if chart.name == name)


FAST = [200.0, 204, 196, 202, 198]
SLOW = [100.0, 103, 98, 100, 99]


def test_a_run_has_every_chart_in_the_order_in_which_it_is_read(tmp_path: Path) -> None:
    trials = measured("fast", FAST) + measured("slow", SLOW)
    samples = {number: samples_of(number, [1.0, 2.0, 3.0]) for number in range(len(trials))}
    report = report_of(tmp_path, trials, samples)
    assert [chart.name for chart in report.charts] == [
        "ranking",
        "ranking-other",
        "ratios",
        "throughput",
        "memory",
        "percentiles",
        "distribution",
        "verdicts",
        "statuses",
        "cpu",
    ]
    cheapest, fastest = report.headline.splitlines()
    assert cheapest.startswith("Cheapest: C fast, 200 right answers per core-second, 2.0")
    assert fastest.startswith("Fastest here: C fast, 200 right answers/s, 2.0")
    assert {chart.colours for chart in report.charts} <= {("C fast", "C slow"), ()}


def test_subjects_are_in_the_order_of_their_rank_everywhere(tmp_path: Path) -> None:
    report = report_of(tmp_path, measured("a-slow", SLOW) + measured("z-fast", FAST))
    assert report.subjects == (("z-fast", "C z-fast"), ("a-slow", "C a-slow"))
    assert report.table.values("subject") == ("z-fast", "a-slow")
    assert [series.name for series in chart(report, "throughput").series if not series.faint] == [
        "C z-fast",
        "C a-slow",
    ]


def test_what_ranks_stands_right_behind_the_names(tmp_path: Path) -> None:
    names = [column.name for column in report_of(tmp_path, measured("a", FAST)).table.columns]
    assert names[:10] == [
        "subject",
        "language",
        "method",
        "rank",
        "rank_note",
        "right_per_core_s",
        "right_per_core_s_low",
        "right_per_core_s_high",
        "wrong",
        "verdict",
    ]
    assert sorted(names) == sorted(column.name for column in BENCH.presentation.table([]).columns)


def test_the_ranking_draws_each_trial_the_median_and_its_interval(tmp_path: Path) -> None:
    single, summed = chart(report_of(tmp_path, measured("fast", FAST)), "ranking").series
    assert (single.faint, single.y) == (True, pytest.approx(FAST))
    assert (*summed.y, *summed.low, *summed.high) == pytest.approx((200.0, 196.0, 204.0))


def test_ratios_are_those_of_the_others_to_the_first(tmp_path: Path) -> None:
    report = report_of(tmp_path, measured("fast", FAST) + measured("slow", SLOW))
    ratios = chart(report, "ratios")
    (series,) = ratios.series
    assert (series.name, ratios.reference) == ("C slow", 1.0)
    assert series.y[0] == pytest.approx(0.5, rel=0.01)
    low, high = series.low[0], series.high[0]
    assert low is not None
    assert high is not None
    assert low < 0.5 < high
    assert set(report.comparisons.values("result")) == {"faster"}
    assert report.comparisons.values("ratio") == pytest.approx([2.0] * len(report.comparisons.rows), rel=0.01)
    assert "condition" not in [column.name for column in report.comparisons.columns]


def test_throughput_is_answers_a_second_until_the_end_of_the_trial(tmp_path: Path) -> None:
    (series,) = chart(report_of(tmp_path, measured("a", [100.0])), "throughput").series
    # 20 answers in 200 ms are 100 a second; nothing came in the second half.
    assert series.y == (100.0,) * 5 + (0.0,) * 5
    assert series.x[0] == 0.1


def test_memory_is_the_highest_reading_and_stays_until_the_next(tmp_path: Path) -> None:
    (series,) = chart(report_of(tmp_path, measured("a", [100.0])), "memory").series
    assert series.y == (2.0, 4.0, 6.0, 8.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0)


def test_the_line_of_several_trials_is_their_median_as_far_as_most_last(tmp_path: Path) -> None:
    counted = [
        replace(COUNTERS, wall_ns=round(wall * SECOND), throughput=(ThroughputPoint(200_000_000, answers),))
        for wall, answers in ((0.6, 10), (0.6, 20), (1.0, 60))
    ]
    trials = [trial("a", block, 1.0, counters=counters) for block, counters in enumerate(counted)]
    *single, middle = chart(report_of(tmp_path, trials), "throughput").series
    assert [series.faint for series in single] == [True] * 3
    assert middle.y == (100.0, 0.0, 0.0, None, None)


def test_percentiles_come_from_all_samples_put_together(tmp_path: Path) -> None:
    trials = measured("a", [1.0, 1.0])
    # The medians of the two are 1 and 100 ms: their mean is not a percentile of anything.
    samples = {0: samples_of(0, [1.0] * 90), 1: samples_of(1, [100.0] * 10)}
    report = report_of(tmp_path, trials, samples)
    (series,) = chart(report, "percentiles").series
    printed = dict(zip(series.x, series.y, strict=True))
    assert printed[0.0] == pytest.approx(1.0, rel=0.001)
    assert printed[50.0] == pytest.approx(1.0, rel=0.001)
    assert printed[99.0] == pytest.approx(100.0, rel=0.001)
    (series,) = chart(report, "distribution").series
    assert series.y[-1] == 100.0
    assert max(y for x, y in zip(series.x, series.y, strict=True) if x < 2 and y is not None) == 90.0  # type: ignore[operator]
    assert "(100 each)" in chart(report, "percentiles").caption


def test_percentiles_end_at_the_one_of_a_single_sample(tmp_path: Path) -> None:
    report = report_of(tmp_path, measured("a", [1.0]), {0: samples_of(0, [5.0])})
    assert chart(report, "percentiles").series[0].x == (0.0,)


def test_samples_of_failed_trials_are_no_response_times(tmp_path: Path) -> None:
    trials = [*measured("a", [1.0]), trial("a", 1, outcome=Outcome.CRASHED, reason="SIGSEGV", validity=None)]
    report = report_of(tmp_path, trials, {0: samples_of(0, [1.0]), 1: samples_of(1, [999.0])})
    assert max(y for y in chart(report, "distribution").series[0].x) == pytest.approx(1.0, rel=0.001)


def test_a_negative_duration_is_no_reason_to_fail(tmp_path: Path) -> None:
    report = report_of(tmp_path, measured("a", [1.0]), {0: samples_of(0, [-5.0, 1.0])})
    assert "percentiles" in [chart.name for chart in report.charts]


def test_outcomes_are_counted_by_verdict_and_by_status(tmp_path: Path) -> None:
    summary = LinesSummary(urls=5, right_per_s=1.0, status_2xx=3, exceptions=2)
    trials = measured("a", [1.0], summary=summary)
    samples = pl.concat([samples_of(0, [1.0] * 3), samples_of(0, [1.0] * 2, error="TimedOut")])
    explained = pl.when(pl.col("line") == 2).then(pl.col("error").is_not_null()).otherwise(pl.lit(False))
    report = report_of(tmp_path, trials, {0: samples.with_columns(explained=explained)})
    assert {series.name: series.y for series in chart(report, "verdicts").series} == {
        "right": (3.0,),
        "false_error": (1.0,),
        "explained": (1.0,),
    }
    assert {series.name: series.y for series in chart(report, "statuses").series} == {
        "2xx": (3.0,),
        "exception": (2.0,),
    }
    assert report.errors.rows == (("C a", "TimedOut", "stall_tls", "false_error", 2),)


def test_ten_thousand_names_of_errors_do_not_fill_the_page(tmp_path: Path) -> None:
    samples = pl.concat([samples_of(0, [1.0], error=f"Error{number:05}") for number in range(1000)])
    report = report_of(tmp_path, measured("a", [1.0]), {0: samples})
    assert len(report.errors.rows) == 200
    assert [note.text for note in report.errors.notes] == ["800 more kinds of errors, 800 samples, are not shown"]


def test_cpu_time_is_that_of_one_right_answer_once_its_cost_has_settled(tmp_path: Path) -> None:
    # Not the 20 ms of the whole trial for 10 answers, start-up and all: what the table has.
    single, summed = chart(report_of(tmp_path, measured("a", [100.0])), "cpu").series
    assert single.faint
    assert (summed.x, summed.y) == ((100.0,), (10.0,))


def test_every_trial_is_listed_with_its_reason(tmp_path: Path) -> None:
    trials = [
        trial("a", 0, 1.0),
        trial("b", 0, 9.0, validity=Validity.INCORRECT, validity_reason="9 of 10 answers are wrong"),
        trial("c", 0, outcome=Outcome.CRASHED, reason="killed by SIGSEGV", validity=None, summary=None, tally=None),
    ]
    report = report_of(tmp_path, trials)
    assert report.validity.values("reason") == (None, "9 of 10 answers are wrong", "killed by SIGSEGV")
    assert report.headline.endswith(". Not ranked: C b (INCORRECT), C c (crashed)")
    assert report.table.values("rank") == (None, None, None)
    assert report.table.values("verdict") == ("VALID", "INCORRECT", "crashed")
    assert [series.name for series in chart(report, "ranking").series if not series.faint] == ["C a"]


def test_every_rule_is_listed_with_the_worst_finding(tmp_path: Path) -> None:
    trials = [
        trial("a", 0, 1.0, tally=Tally(right=1000)),
        trial("b", 0, 9.0, tally=Tally(right=960, late=40), validity=Validity.INCORRECT, validity_reason="4 %"),
        trial("c", 0, outcome=Outcome.CRASHED, reason="SIGSEGV", validity=None, summary=None, tally=None),
    ]
    report = report_of(tmp_path, trials)
    rules = dict(zip(report.rules.values("rule"), report.rules.rows, strict=True))
    columns = [column.name for column in report.rules.columns]
    wrong = dict(zip(columns, rules["wrong_answers"], strict=True))
    assert (wrong["at most"], wrong["worst"], wrong["trial"], wrong["failed"]) == (0.5, 4.0, 1, 1)
    assert wrong["validity"] == "INCORRECT"
    assert "4 % of the answers are wrong" in str(wrong["finding"])
    # The CPUs of these trials were not measured: the rule says so, and has no column among the trials.
    origin = dict(zip(columns, rules["origin_cpu"], strict=True))
    assert (origin["worst"], origin["trial"], origin["failed"]) == (None, None, 0)
    assert str(origin["finding"]).startswith("not judged: ")
    names = [column.name for column in report.validity.columns]
    assert "origin_cpu" not in names
    assert report.validity.values("wrong_answers") == (0.0, 4.0, None)
    assert report.validity.columns[names.index("wrong_answers")].limit == 0.5


def test_two_subjects_of_one_name_have_their_ids(tmp_path: Path) -> None:
    trials = measured("a", FAST, method="same") + measured("b", SLOW, method="same")
    assert report_of(tmp_path, trials).subjects == (("a", "C same (a)"), ("b", "C same (b)"))


def test_the_report_of_a_run_without_a_trial_states_that(tmp_path: Path) -> None:
    report = report_of(tmp_path, [], trials_planned=4)
    assert report.headline == "Nothing was measured: the run has no finished trial"
    assert report.reservations == ("not whole: 0 of 4 trials",)
    assert (report.charts, report.table.rows, report.validity.rows) == ((), (), ())


def test_a_subject_without_the_figure_that_ranks_is_named(tmp_path: Path) -> None:
    summary = LinesSummary(urls=10, time_ns=0, status_2xx=10)
    for settings, figure in (({}, "right_per_core_s"), ({"rank_by": "right_per_s"}, "right_per_s")):
        report = report_of(tmp_path / figure, measured("a", [1.0], summary=summary), settings=settings)
        assert report.headline == f"No subject is ranked: C a (no {figure})"


def test_the_report_of_a_run_in_which_all_failed_states_that(tmp_path: Path) -> None:
    failed = {"outcome": Outcome.UNAVAILABLE, "validity": None, "summary": None, "tally": None}
    report = report_of(
        tmp_path, [trial("a", 0, reason="needs go", **failed), trial("b", 0, reason="needs node", **failed)]
    )
    assert report.headline == "No subject is ranked: C a and C b (unavailable)"
    assert report.charts == ()
    assert report.validity.values("reason") == ("needs go", "needs node")


def test_a_partial_run_and_a_first_look_have_reservations(tmp_path: Path) -> None:
    report = report_of(tmp_path, measured("a", [1.0]), trials_planned=5, settings={"quick": True, "repeat": 1})
    assert any("first look" in text for text in report.reservations)
    assert "not whole: 1 of 5 trials" in report.reservations


def test_conditions_are_reported_one_by_one(tmp_path: Path) -> None:
    trials = [
        *measured("a", FAST, condition="rtt 0"),
        *measured("b", SLOW, condition="rtt 0"),
        *measured("a", SLOW, condition="rtt 40"),
        *measured("b", FAST, condition="rtt 40"),
    ]
    report = report_of(tmp_path, trials)
    near, far = report.headline.split(". rtt 40: ")
    assert near.startswith("rtt 0: Cheapest: C a, ")
    assert far.startswith("Cheapest: C b, ")
    assert [chart.name for chart in report.charts if chart.name.startswith("ranking")] == [
        "ranking-0",
        "ranking-other-0",
        "ranking-1",
        "ranking-other-1",
    ]
    assert set(report.comparisons.values("condition")) == {"rtt 0", "rtt 40"}
    assert len({chart.name for chart in report.charts}) == len(report.charts)


def test_the_command_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    report = report_of(tmp_path, measured("a", [1.0]), command=("httpdyno", "bench", "--user-agent", "a b; rm -rf /"))
    assert report.command == "httpdyno bench --user-agent 'a b; rm -rf /'"


def test_the_report_has_the_machine_the_web_and_the_versions(tmp_path: Path) -> None:
    facts = dict(report_of(tmp_path, measured("a", [1.0])).facts)
    assert facts["Machine"] == "A CPU, 2 CPUs, 8.0 GiB memory"
    assert facts["Web"] == "plain, seed 1, digest digest"
    assert facts["CPUs of the trial"] == "engine: 0; subject: 1"
    assert facts["C a"] == "1"
    assert facts["Trials"] == "1 of 1, in 1 random block"
    assert "Kernel settings" not in facts


@pytest.mark.parametrize(
    ("counters", "fact", "reservations"),
    [
        (Counters(), None, ()),
        (Counters(memory_limit_bytes=2**31, memory_limit_enforced_by="cgroup-v2"), "2.0 GiB by cgroup-v2", ()),
        (
            Counters(memory_limit_bytes=2**31, memory_limit_reason="no controller"),
            "memory was not limited to 2.0 GiB: no controller; see: httpdyno doctor",
            ("memory was not limited to 2.0 GiB: no controller; see: httpdyno doctor",),
        ),
    ],
)
def test_the_report_has_the_memory_limit(
    counters: Counters, fact: str | None, reservations: tuple[str, ...], tmp_path: Path
) -> None:
    report = report_of(tmp_path, measured("a", [1.0, 2.0], counters=counters))
    assert dict(report.facts).get("Memory limit") == fact
    assert report.reservations == reservations


def test_damaged_samples_are_one_clear_line(tmp_path: Path) -> None:
    trials = measured("a", [1.0])
    described = manifest_of(trials)
    writer = RunWriter.create(tmp_path, described)
    writer.add(trials[0], samples_of(0, [float(number) for number in range(5000)]))
    writer.close(complete=True, ended_at=NOON)
    path = writer.folder / "samples.parquet"
    content = bytearray(path.read_bytes())
    # The index at the end of the file is complete; the data is not.
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    path.write_bytes(content)
    with pytest.raises(UnreadableRun, match=r"samples\.parquet is damaged"):
        build_report(open_run(writer.folder), BENCH)
