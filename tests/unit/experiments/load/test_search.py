"""The result of a search: its sentence, its table and its charts."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from httpdyno.experiments.load.judge import LoadSummary
from httpdyno.experiments.load.present import load_views
from httpdyno.experiments.load.records import load_trial
from httpdyno.experiments.load.search import search_charts, search_sentence
from httpdyno.model import Trial, flatten, restore

ROOT = Path(__file__).parents[4]
SCHEMA = ROOT / "docs" / "reference" / "load-report.schema.json"


def step(rate: float, p99_ns: int | None, **others: object) -> dict[str, Any]:
    return {
        "rate_per_s": rate,
        "achieved_per_s": rate,
        "duration_s": 4.0,
        "requests": round(4 * rate),
        "over": [3, 0],
        "p50_ns": None if p99_ns is None else p99_ns // 4,
        "p99_ns": p99_ns,
        "errors": 0,
        "send_lag_p99_ns": 20_000,
        "server_cpu": None,
        "connections": 64,
        "limited_by": None,
        **others,
    }


def found(**changes: object) -> dict[str, Any]:
    path = ROOT / "tests" / "fixtures" / "load-reports" / "open.json"
    report: dict[str, Any] = deepcopy(json.loads(path.read_text(encoding="utf-8")))
    find: dict[str, Any] = {
        "objective": "p99 < 50 ms, errors < 0.1 %",
        "verdict": "found",
        "first_broken": "p99",
        "duration_s": 61.5,
        "steps": [step(5000.0, 60_000_000, errors=5, server_cpu=0.98), step(4500.0, None)],
    }
    rates: dict[str, Any] = {"found_per_s": 4912.4, "found_low_per_s": 4850.0, "found_high_per_s": 4990.0}
    return (
        report
        | rates
        | {"find": find | {k: v for k, v in changes.items() if k in find}}
        | {k: v for k, v in changes.items() if k in rates}
    )


def judged(report: dict[str, Any]) -> Trial:
    return load_trial(0, report, target="http://a.example/")


def summary(report: dict[str, Any]) -> LoadSummary:
    load = judged(report).get(LoadSummary)
    assert load is not None
    return load


def test_a_search_matches_the_schema() -> None:
    Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(found())


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (
            found(),
            "holds 4,912 requests/s (95 % interval 4,850 to 4,990) with p99 < 50 ms, errors < 0.1 %; "
            "above it p99 breaks first",
        ),
        (
            found(verdict="generator_limited", found_high_per_s=None),
            "holds at least 4,912 requests/s with p99 < 50 ms, errors < 0.1 %; "
            "the generator was the limit: it could not send faster",
        ),
        (
            found(verdict="never_held", found_per_s=None),
            "does not hold 4,500 requests/s, the lowest rate tried, with p99 < 50 ms, errors < 0.1 %: p99 breaks it",
        ),
        (
            found(verdict="not_broken"),
            "holds at least 4,912 requests/s with p99 < 50 ms, errors < 0.1 %; "
            "no higher rate was tried in 61.5 s: give it more time (--find-for)",
        ),
        (
            found(verdict="two_states"),
            "holds about 4,912 requests/s (95 % interval 4,850 to 4,990) with p99 < 50 ms, errors < 0.1 %: "
            "the server has two states; above this it may become slow for good and then miss p99, "
            "although higher rates held before",
        ),
    ],
)
def test_the_result_is_a_sentence(report: dict[str, Any], expected: str) -> None:
    assert search_sentence(summary(report)) == expected


def test_steps_have_a_table_and_charts() -> None:
    trial = judged(found())
    table = load_views([trial])[0]
    assert table.title.startswith("holds 4,912 requests/s")
    assert table.rows[0] == (5000.0, 5000.0, 4.0, 15.0, 60.0, 5, 0.02, 0.98)
    assert table.rows[1][3:5] == (None, None)
    charts = list(search_charts([summary(found())]))
    assert [chart.name for chart in charts] == ["search-times", "search-errors", "search-cpu"]
    assert charts[0].series[0].x == (4500.0, 5000.0)


def test_a_search_is_kept_in_the_record() -> None:
    trial = judged(found())
    assert restore(Trial, {**flatten(trial), "figures": trial.figures}) == trial
