"""Judged loads: the generator's report becomes a record with its validity."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from doubles.loads import judge_load
from httpdyno.errors import EngineFailed
from httpdyno.experiments.load.judge import LOAD_RULES, LoadSummary
from httpdyno.judge.validity import findings
from httpdyno.model import Outcome, Trial, Validity, flatten, restore

ROOT = Path(__file__).parents[4]
REPORTS = ROOT / "tests" / "fixtures" / "load-reports"
SCHEMA = ROOT / "docs" / "reference" / "load-report.schema.json"

Change = Callable[[dict[str, Any]], object]


def report(name: str, *changes: Change) -> dict[str, Any]:
    values: dict[str, Any] = deepcopy(json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8")))
    for change in changes:
        change(values)
    return values


def judged(name: str, *changes: Change) -> Trial:
    return judge_load(0, report(name, *changes), target="http://a.example/")


def quiet(values: dict[str, Any]) -> None:
    """Set the generator's lag to zero."""
    values["send_lag"]["p99_ns"] = 20_000


@pytest.mark.parametrize("name", ["closed", "open", "refused"])
def test_the_report_matches_its_schema(name: str) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(report(name))
    assert not Draft202012Validator(schema).is_valid(report(name) | {"requests": "many"})


def test_the_figures_are_those_of_the_report() -> None:
    values, trial = report("open"), judged("open")
    load = trial.get(LoadSummary)
    assert load is not None
    assert load.response is not None
    assert load.send_lag is not None
    assert (load.requests, load.unsent, load.open_loop) == (values["requests"], values["unsent"], True)
    assert load.response.p99_ns == values["response_time"]["p99_ns"]
    assert load.send_lag.max_ns == values["send_lag"]["max_ns"]
    assert load.dns is None
    assert [second.requests for second in load.series] == [second["requests"] for second in values["series"]]
    assert (trial.concurrency, trial.method, trial.outcome) == (8, "http://a.example/", Outcome.OK)


def test_requests_that_had_not_ended_count_as_long_as_they_had_waited() -> None:
    ended = report("open")["response_time"]
    waited = {**ended, "count": ended["count"] + 7, "p50_ns": ended["p50_ns"] - 1, "p99_ns": 9 * 10**9}

    def hung(values: dict[str, Any]) -> None:
        values["response_time_at_least"] = waited

    load = judged("open", hung).get(LoadSummary)
    assert load is not None
    assert load.response is not None
    # Ages of a few young requests do not shorten the percentiles.
    assert (load.response.p50_ns, load.response.p99_ns) == (ended["p50_ns"], 9 * 10**9)
    assert load.response.count == ended["count"]


@pytest.mark.parametrize("name", ["closed", "open"])
def test_a_record_survives_being_stored(name: str) -> None:
    trial = judged(name)
    assert restore(Trial, {**flatten(trial), "figures": trial.figures}) == trial


@pytest.mark.parametrize("lost", ["requests", "plan", "response_time", "phases", "series", "censored", "statuses"])
def test_a_report_that_lacks_something_is_refused(lost: str) -> None:
    values = report("open")
    del values[lost]
    with pytest.raises(EngineFailed, match=f"cannot be read: it lacks '{lost}'; renew the engine with"):
        judge_load(0, values, target="x")


def test_a_stopped_load_is_interrupted() -> None:
    trial = judged("open", lambda values: values.update(interrupted=True, elapsed_s=1.25))
    assert (trial.outcome, trial.reason, trial.validity) == (Outcome.INTERRUPTED, "stopped after 1.2 s", None)


@pytest.mark.parametrize(
    ("lag_ns", "median_ns", "validity"),
    [
        (20_000, 50_000, Validity.VALID),
        (100_000, 1_000, Validity.VALID),
        (199_000, 1_000_000, Validity.VALID),
        (201_000, 1_000_000, Validity.GENERATOR_LIMITED),
        (2_000_000, 1_000_000, Validity.GENERATOR_LIMITED),
        (2_000_000, 50_000_000, Validity.VALID),
    ],
)
def test_the_lag_is_judged_relative_to_the_response_time(lag_ns: int, median_ns: int, validity: Validity) -> None:
    def change(values: dict[str, Any]) -> None:
        values["send_lag"]["p99_ns"] = lag_ns
        values["response_time"]["p50_ns"] = median_ns

    trial = judged("open", change)
    assert trial.validity is validity, trial.validity_reason


@pytest.mark.parametrize(
    ("name", "busy", "rule"),
    [
        ("open", 0.84, None),
        ("open", 0.86, "generator_busy"),
        ("closed", 0.86, None),
        ("closed", 0.94, None),
        ("closed", 0.99, "generator_saturated"),
    ],
)
def test_a_busy_thread_limits_a_schedule_sooner_than_a_closed_loop(name: str, busy: float, rule: str | None) -> None:
    def change(values: dict[str, Any]) -> None:
        values["threads"] = [{"cpu": 0, "cpu_s": 1.0, "busy_share": 0.1}, {"cpu": 1, "cpu_s": 1.0, "busy_share": busy}]
        values["checks"] = None
        if values["send_lag"]:
            quiet(values)

    trial = judged(name, change)
    failed = [finding.rule.name for finding in findings(trial, LOAD_RULES) if finding.passed is False]
    assert failed == ([rule] if rule else [])
    assert trial.validity is (Validity.GENERATOR_LIMITED if rule else Validity.VALID)


@pytest.mark.parametrize("name", ["open", "closed"])
@pytest.mark.parametrize(("waiting", "rules"), [(None, []), (0.09, []), (0.11, ["generator_waiting"])])
def test_a_thread_whose_cpu_others_have_is_the_limit(name: str, waiting: float | None, rules: list[str]) -> None:
    def change(values: dict[str, Any]) -> None:
        thread = {"cpu": 0, "cpu_s": 1.0, "busy_share": 0.1}
        values["threads"] = [thread | {"waiting_share": 0.01}, thread | {"waiting_share": waiting}]
        values["checks"] = None
        if values["send_lag"]:
            quiet(values)

    trial = judged(name, change)
    assert [finding.rule.name for finding in findings(trial, LOAD_RULES) if finding.passed is False] == rules
    assert trial.validity is (Validity.GENERATOR_LIMITED if rules else Validity.VALID)


def test_answers_that_meet_no_check_make_it_incorrect() -> None:
    trial = judged("closed")
    assert trial.validity is Validity.INCORRECT
    assert trial.validity_reason == "50 % of the answers are wrong (1000 of 2000; at most 0.5 %)"


def test_a_closed_loop_that_slows_down_is_unsteady() -> None:
    def slow(values: dict[str, Any]) -> None:
        values.update(elapsed_s=90.0, checks=None)
        template = values["series"][0]
        values["series"] = [
            template | {"at_s": second, "requests": (1000 if second < 45 else 500) + second % 7} for second in range(90)
        ]

    trial = judged("closed", slow)
    assert trial.validity is Validity.UNSTEADY
    assert "drift" in {finding.rule.name for finding in findings(trial, LOAD_RULES) if finding.passed is False}


def test_a_ramp_does_not_drift() -> None:
    def ramp(values: dict[str, Any]) -> None:
        quiet(values)
        values.update(elapsed_s=90.0)
        values["plan"]["rate_end_per_s"] = 3000.0
        values["series"] = [values["series"][0] | {"at_s": second, "requests": 10 * second} for second in range(90)]

    assert judged("open", ramp).validity is Validity.VALID
