"""Tables of a load: a row a trial for programs, figures, times and outcomes for people."""

import json
from dataclasses import replace
from pathlib import Path

from httpdyno.experiments.load.definition import DEFINITION
from httpdyno.experiments.load.judge import LoadSummary
from httpdyno.experiments.load.present import load_table, load_views, load_words
from httpdyno.experiments.load.records import load_trial
from httpdyno.model import Outcome, Trial

REPORTS = Path(__file__).parents[3] / "fixtures" / "load-reports"


def loaded(name: str, number: int = 0) -> Trial:
    report = json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8"))
    return load_trial(number, report, target="http://a.example/")


def test_a_row_of_the_machine_readable_table_has_all_figures() -> None:
    table = load_table([loaded("open"), loaded("closed", 1)])
    names = [column.name for column in table.columns]
    assert {"requests", "rps", "cpu_s", "p99", "service_p99", "send_lag_p99", "censored", "verdict"} <= set(names)
    assert table.values("trial") == (0, 1)
    assert table.values("loop") == ("open", "closed")
    assert table.values("requests") == (874, 2000)
    assert table.values("unsent") == (26, None)
    assert table.values("statuses") == ("200: 874", "200: 1000, 404: 1000")
    assert [note.row for note in table.notes] == [0, 1]


def labelled(count: int, grouped: int | None = None) -> Trial:
    """Return a load with labels whose counts increase; the first has no good answer."""
    report = json.loads((REPORTS / "closed.json").read_text(encoding="utf-8"))
    base = {"errors_total": 1, "errors": {"Timeout": 1}, "failed_answers": 0, "grouped": None}
    report["labels"] = [
        {
            **base,
            "label": f"/{number}",
            "requests": 10 + number,
            "statuses": {"200": 10 + number} if number else {"404": 10},
            "response_time": report["response_time"] if number else None,
        }
        for number in range(count)
    ]
    report["labels"][-1]["grouped"] = grouped
    return load_trial(0, report, target="http://a.example/")


def addressed(count: int) -> Trial:
    """Return a load with connections to several addresses; the last is dead."""
    report = json.loads((REPORTS / "closed.json").read_text(encoding="utf-8"))
    alive = {"grouped": None, "opened": 2, "failed": 0, "requests": 900, "failed_answers": 1, "errors": 3}
    alive |= {"response_p50_ns": 1_000_000, "response_p99_ns": 2_000_000}
    dead = alive | {"opened": 0, "failed": 5, "requests": 0, "failed_answers": 0, "errors": 0}
    dead |= {"response_p50_ns": None, "response_p99_ns": None}
    report["addresses"] = [
        {"address": f"192.0.2.{number}:80", **(dead if number == count - 1 else alive)} for number in range(count)
    ]
    return load_trial(0, report, target="http://a.example/")


def test_several_addresses_have_a_table() -> None:
    trial = addressed(2)
    *_, addresses, _ = load_views([trial, replace(trial, trial=1)])
    assert addresses.rows == (
        ("192.0.2.0:80", 4, 0, 1800, 8, 1.0, 2.0),
        ("192.0.2.1:80", 0, 10, 0, 0, None, None),
    )
    assert len(load_views([addressed(1)])) == len(load_views([loaded("closed")]))
    *_, addresses, _ = load_views([addressed(25)])
    assert len(addresses.rows) == 20
    assert [note.text for note in addresses.notes] == ["5 more addresses: --report FILE"]


def test_labels_have_a_table_and_columns() -> None:
    trial = labelled(2)
    _, times, labels, _ = load_views([trial, replace(trial, trial=1)])
    p50, p99 = (times.rows[0][[column.name for column in times.columns].index(name)] for name in ("p50", "p99"))
    assert labels.rows == (
        ("/1", 22, 2, p50, p99, "200: 22, Timeout: 2"),
        ("/0", 20, 2, None, None, "404: 20, Timeout: 2"),
    )
    table = load_table([trial])
    assert table.values("/0.not_2xx") == (10,)
    assert table.values("/0.p99") == (None,)
    assert table.values("/1.statuses") == ("200: 11",)


def test_the_table_shows_the_most_frequent_of_many_labels() -> None:
    _, _, labels, _ = load_views([labelled(25, grouped=1234)])
    assert len(labels.rows) == 20
    assert [note.text for note in labels.notes] == [
        "5 more labels: --format json",
        "(other): 1,234 labels beyond the first 999",
    ]


def test_the_views_show_figures_times_and_outcomes() -> None:
    figures, times, outcomes = load_views([loaded("closed")])
    assert figures.title == "http://a.example/: HTTP/1.1, 4 at a time, closed loop, 1.43 s"
    assert figures.values("verdict") == ("INCORRECT",)
    assert times.values("time") == ("response time", "service time", "connect", "first byte", "content")
    assert ("status 404", 1000, 50.0) in outcomes.rows
    assert ("check failed: status", 1000, None) in outcomes.rows


def test_an_open_loop_has_send_lag_and_unsent_requests() -> None:
    _, times, outcomes = load_views([loaded("open")])
    assert times.values("time")[2] == "send lag"
    assert ("due, but never sent: no connection was free", 26, None) in outcomes.rows


def test_a_stage_is_a_row() -> None:
    report = json.loads((REPORTS / "open.json").read_text(encoding="utf-8"))
    up = {"stage": "0..600/1s", "at_s": 0.0, "duration_s": 1.0, "from_per_s": 0.0, "to_per_s": 600.0}
    counts = {"planned_per_s": 300.0, "sent": 300, "requests": 290, "rps": 290.04, "errors": 10}
    first = {**up, **counts, "response_p50_ns": 1_500_000, "response_p99_ns": 2_000_000}
    none = {"sent": 0, "requests": 0, "rps": None, "errors": 0, "response_p50_ns": None, "response_p99_ns": None}
    report["stages"] = [first, {**first, **none, "stage": "600/2s", "planned_per_s": 600.0}]
    trials = [load_trial(number, report, target="http://a.example/") for number in range(2)]
    figures, _, stages, _ = load_views(trials)
    assert "open loop of 2 stages" in figures.title
    assert stages.rows == (
        ("0..600/1s", 300.0, 600, 290.0, 1.5, 2.0, 20),
        ("600/2s", 600.0, 0, None, None, None, 0),
    )
    for text in load_table(trials).values("stages"):
        assert json.loads(str(text)) == report["stages"]
    assert load_table([loaded("open")]).values("stages") == (None,)


def test_a_replay_has_a_title_a_note_and_a_column() -> None:
    report = json.loads((REPORTS / "open.json").read_text(encoding="utf-8"))
    report["replay"] = {"speed_percent": 200.0, "summary": "HAR: 2 entries, 2 requests", "late": 1, "late_share": 0.5}
    trial = load_trial(0, report, target="replay of a.har")
    assert "open loop at 200 % of the recorded speed" in load_words(trial)
    table = load_table([trial])
    assert table.notes[-1].text == "HAR: 2 entries, 2 requests; 50 % of the requests were sent more than 1 ms late"
    assert json.loads(str(table.values("replay")[0])) == report["replay"]
    assert load_table([loaded("open")]).values("replay") == (None,)


def test_a_warm_up_is_a_note() -> None:
    report = json.loads((REPORTS / "open.json").read_text(encoding="utf-8"))
    report["warm_up"] = {"duration_s": 10.0, "requests": 20_000, "failures": {}}
    trials = [load_trial(0, report, target="x")]
    assert load_table(trials).notes[-1].text == "warm-up: 10 s, 20,000 requests, left out"
    report["warm_up"]["failures"] = {"ConnectionRefused": 12, "status 503": 1300}
    trials.append(load_trial(1, report, target="x"))
    assert load_views(trials)[0].notes[-1].text == (
        "warm-up: 10 s, 20,000 requests, left out, or similar (2 of 2 trials)"
    )
    assert load_table(trials[1:]).notes[-1].text == (
        "warm-up: 10 s, 20,000 requests, left out; 1,312 of them failed: 1,300 x status 503, 12 x ConnectionRefused"
    )


def test_odd_answers_that_were_accepted_are_a_note() -> None:
    report = json.loads((REPORTS / "closed.json").read_text(encoding="utf-8"))
    report["tolerated"] = {"folded_field": 2, "line_feed_alone": 3000}
    (note,) = (note.text for note in load_table([load_trial(0, report, target="x")]).notes if " had " in note.text)
    assert note == "3,000 answers had LF line ends, 2 folded fields"
    report["tolerated"] = {"chunk_extension": 1}
    (note,) = (note.text for note in load_table([load_trial(0, report, target="x")]).notes if " had " in note.text)
    assert note == "1 answer had malformed chunk extensions"


def test_the_first_wrong_answers_are_notes() -> None:
    report = json.loads((REPORTS / "closed.json").read_text(encoding="utf-8"))
    status, text = "wrong by status=200: got 500, 0 bytes", 'wrong by contains="ok": got 200, 2 bytes: no'
    examples = [{"check": "status=200", "got": "500, 0 bytes"}, {"check": 'contains="ok"', "got": "200, 2 bytes: no"}]
    other = [{"check": "status=200", "got": "404, 0 bytes"}]
    counts = {**report["checks"], "wrong_contains": 7}
    trials = [
        load_trial(number, {**report, "checks": {**counts, "examples": some}}, target="x")
        for number, some in enumerate((examples, other))
    ]
    load = trials[0].get(LoadSummary)
    assert load is not None
    assert load.checks is not None
    assert load.checks.wrong == report["checks"]["wrong_status"] + 7
    assert [note.text for note in load_table(trials[:1]).notes[-2:]] == [status, text]
    assert [note.text for note in load_views(trials)[0].notes[-2:]] == [
        f"{status}, or similar (2 of 2 trials)",
        f"{text} (1 of 2 trials)",
    ]


def test_the_end_by_until_is_a_note() -> None:
    report = json.loads((REPORTS / "open.json").read_text(encoding="utf-8"))
    interval = {"estimate_ns": 3.1e6, "low_ns": 2.96e6, "high_ns": 3.24e6, "half_width_share": 0.0452, "batches": 40}
    report["until"] = {"condition": "ci(p99) < 5%", "is_met": True, **interval}
    assert load_table([load_trial(0, report, target="x")]).notes[-1].text == (
        "ended by ci(p99) < 5%: 3.1 ms, 95 % interval 2.96 ms to 3.24 ms, 4.5 % to each side"
    )
    report["until"] |= {"is_met": False, **dict.fromkeys(interval)}
    assert load_table([load_trial(0, report, target="x")]).notes[-1].text == (
        "ended without ci(p99) < 5%: there is no interval: too few answers, or they depend on each other too much"
    )


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


def test_a_stopped_load_is_marked_as_interrupted() -> None:
    stopped = replace(loaded("closed"), outcome=Outcome.INTERRUPTED, validity=None, reason="stopped after 1.4 s")
    table = load_table([stopped])
    assert table.values("verdict") == ("interrupted",)
    assert table.notes[0].text == "interrupted: stopped after 1.4 s"


def test_without_a_trial_there_are_no_rows() -> None:
    assert load_table([]).rows == ()
    assert [table.rows for table in load_views([])] == [()]


def test_a_load_is_compared_by_throughput_and_by_times() -> None:
    assert [metric.name for metric in DEFINITION.presentation.compared_metrics] == ["rps", "p50", "p99"]
