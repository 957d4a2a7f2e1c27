"""Judged loads: the generator's report becomes a record with its validity."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from httpdyno.errors import EngineFailed
from httpdyno.experiments.load.judge import LOAD_RULES, LoadSummary, rules_of_reports
from httpdyno.experiments.load.records import load_trial
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
    return load_trial(0, report(name, *changes), target="http://a.example/")


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


def test_open_requests_count_with_the_time_that_they_waited() -> None:
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
def test_a_report_without_a_required_key_is_refused(lost: str) -> None:
    values = report("open")
    del values[lost]
    with pytest.raises(EngineFailed, match=f"cannot be read: it lacks '{lost}'; renew the engine with"):
        load_trial(0, values, target="x")


def test_a_stopped_load_is_interrupted() -> None:
    trial = judged("open", lambda values: values.update(interrupted=True, elapsed_s=1.25, validity=None))
    assert (trial.outcome, trial.reason, trial.validity) == (Outcome.INTERRUPTED, "stopped after 1.2 s", None)


def test_the_rules_have_the_findings_and_the_sentences_of_the_engine() -> None:
    values, trial = report("open"), judged("open")
    found = {one.rule.name: one for one in findings(trial, rules_of_reports({0: values}))}
    assert list(found) == [one["rule"] for one in values["validity"]["rules"]]
    for one in values["validity"]["rules"]:
        mine = found[one["rule"]]
        assert (mine.number, mine.passed, mine.threshold) == (one["number"], one["passed"], one["threshold"])
        assert mine.rule.verdict == one["verdict"]
        assert (one["sentence"] or one["detail"]) in mine.text


def test_without_findings_of_the_engine_no_rule_is_judged() -> None:
    for rules in (LOAD_RULES[:4], rules_of_reports({}), rules_of_reports({0: report("refused")})):
        assert {(one.passed, one.text) for one in findings(judged("open"), rules)} == {
            (None, "not judged: the engine left no reading of this rule")
        }


def test_wrong_answers_make_a_load_incorrect() -> None:
    trial = judged("closed")
    assert trial.validity is Validity.INCORRECT
    assert trial.validity_reason == "50 % of the answers are wrong (1000 of 2000; at most 0.5 %)"


def test_the_record_of_a_load_names_the_rules_that_its_report_has_broken() -> None:
    rules = [{"rule": "generator_lag", "passed": False}, {"rule": "generator_busy", "passed": None}]
    judged = report("open") | {"validity": {"verdict": "GENERATOR_LIMITED", "reason": "late", "rules": rules}}
    assert load_trial(0, judged, target="x").broken_rules == ("generator_lag",)
    # An older engine left no findings.
    valid = report("open") | {"validity": {"verdict": "VALID", "reason": None}}
    assert load_trial(0, valid, target="x").broken_rules == ()
    assert load_trial(0, report("open") | {"validity": None}, target="x").broken_rules is None
