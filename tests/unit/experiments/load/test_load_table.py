"""Tables of a load: a row a trial for programs, figures, times and outcomes for people."""

import json
from dataclasses import replace
from pathlib import Path

from doubles.loads import judge_load
from httpdyno.experiments.load.definition import DEFINITION
from httpdyno.experiments.load.judge import LoadSummary
from httpdyno.experiments.load.present import load_table, load_views, load_words
from httpdyno.model import Outcome, Trial

REPORTS = Path(__file__).parents[3] / "fixtures" / "load-reports"


def loaded(name: str, number: int = 0) -> Trial:
    report = json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8"))
    return judge_load(number, report, target="http://a.example/")


def test_a_row_has_the_figures_for_programs() -> None:
    table = load_table([loaded("open"), loaded("closed", 1)])
    names = [column.name for column in table.columns]
    assert {"requests", "rps", "cpu_s", "p99", "service_p99", "send_lag_p99", "censored", "verdict"} <= set(names)
    assert table.values("trial") == (0, 1)
    assert table.values("loop") == ("open", "closed")
    assert table.values("requests") == (874, 2000)
    assert table.values("unsent") == (26, None)
    assert table.values("statuses") == ("200: 874", "200: 1000, 404: 1000")
    assert [note.row for note in table.notes] == [0, 1]


def test_people_see_figures_times_and_outcomes() -> None:
    figures, times, outcomes = load_views([loaded("closed")])
    assert figures.title == "http://a.example/: HTTP/1.1, 4 at a time, closed loop, 1.43 s"
    assert figures.values("verdict") == ("INCORRECT",)
    assert times.values("time") == ("response time", "service time", "connect", "first byte", "content")
    assert ("status 404", 1000, 50.0) in outcomes.rows
    assert ("check failed: status", 1000, None) in outcomes.rows


def test_an_open_loop_has_a_lag_and_what_was_never_sent() -> None:
    _, times, outcomes = load_views([loaded("open")])
    assert times.values("time")[2] == "send lag"
    assert ("due, but never sent: no connection was free", 26, None) in outcomes.rows


def test_times_of_several_trials_are_medians() -> None:
    trials = [loaded("closed", number) for number in range(3)]
    for number, p99_ns in enumerate((5_000_000, 1_000_000, 3_000_000)):
        load = trials[number].get(LoadSummary)
        assert load is not None
        assert load.response is not None
        response = replace(load.response, p99_ns=p99_ns)
        trials[number] = trials[number].having(replace(load, response=response))
    figures, times, outcomes = load_views(trials)
    assert times.values("p99")[0] == 3.0
    assert times.values("count")[0] == 6000
    assert figures.values("trial") == (0, 1, 2)
    assert outcomes.values("count")[0] == 3000


def test_a_ramp_is_described_by_both_rates() -> None:
    trial = loaded("open")
    assert trial.get(LoadSummary) is not None
    ramp = replace(trial.having(replace(trial[LoadSummary], rate_per_s=100.0, rate_end_per_s=5000.0)), keepalive=False)
    assert load_words(ramp) == (
        "http://a.example/: HTTP/1.1, 8 at a time, a new connection each, open loop of 100 to 5,000 a second, 3 s"
    )


def test_one_that_was_stopped_is_shown_as_such() -> None:
    stopped = replace(loaded("closed"), outcome=Outcome.INTERRUPTED, validity=None, reason="stopped after 1.4 s")
    table = load_table([stopped])
    assert table.values("verdict") == ("interrupted",)
    assert table.notes[0].text == "interrupted: stopped after 1.4 s"


def test_without_a_trial_there_are_no_rows() -> None:
    assert load_table([]).rows == ()
    assert [table.rows for table in load_views([])] == [()]


def test_a_load_is_compared_by_throughput_and_by_times() -> None:
    assert [metric.name for metric in DEFINITION.presentation.compared_metrics] == ["rps", "p50", "p99"]
