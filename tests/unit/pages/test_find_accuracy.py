"""The table of searches for the highest rate: truths, coverage and disturbed searches."""

import json
from pathlib import Path

import pytest

from httpdyno.errors import UnreadableReport
from httpdyno.judge.generator import Distribution, ServerRecord
from pages.find_accuracy import CASES, Found, found_table, read_found, why_disturbed

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "accuracy.md"
TRUTHS = {
    "queue": 4907.9,
    "median": 4653.4,
    "constant": 4541.8,
    "workers": 4753.0,
    "limiter": 4819.0,
    "degrade": 3860.4,
}


def found(
    case: str,
    seed: int,
    per_s: float | None,
    low: float | None = None,
    high: float | None = None,
    disturbed: str | None = None,
) -> Found:
    return Found(case, seed, "e", "60s", per_s, low, high, "FOUND", 58.5 + seed, disturbed)


def record(waiting_ns: int) -> ServerRecord:
    return ServerRecord(1, 1, 1, 1, 0, Distribution((), (), 0.0), 0, 0, 0, waiting_ns)


def test_the_truths_are_those_of_the_page() -> None:
    truths = {case.name: case.truth() for case in CASES}
    assert truths == pytest.approx(TRUTHS, rel=1e-4)
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name, truth in truths.items() if f" {truth:,.0f} " not in page] == []


def test_a_row_has_medians_and_the_number_of_intervals_with_the_truth() -> None:
    results = [
        found("queue", 1, 4900, 4850, 4950),
        found("queue", 2, 4880, 4870, 4890),
        found("queue", 3, 4910, 4900, 4920),
        found("queue", 4, None),
        found("queue", 5, 9999, 9998, 9999, disturbed="a CPU was busy"),
        found("limiter", 1, 4819, 4800, None),
    ]
    table = found_table(results, "60s")
    assert table.rows == (
        ("queue --exponential 200us", "p99 < 50ms", 4908.0, 4900.0, -0.16, 0.2, "2 of 4", 61.0),
        ("limiter --per-second 5000 --burst 50", "errors < 0.1%", 4819.0, 4819.0, 0.0, None, "0 of 1", 60.0),
    )
    assert [note.text for note in table.notes[1:]] == [
        "searches without a rate: 1",
        "searches left out because other programs had a CPU: 1",
    ]


def test_no_results_are_an_empty_table() -> None:
    assert found_table([], "60s").rows == ()


def test_a_result_survives_its_line() -> None:
    whole = found("queue", 1, 4900, 4850, 4950)
    assert Found(**json.loads(whole.line())) == whole


def test_a_report_is_read() -> None:
    row = {"found_per_s": 10, "found_low_per_s": 9.5, "found_high_per_s": None, "rps": 3}
    expected = {"per_s": 10, "low_per_s": 9.5, "high_per_s": None}
    assert read_found(json.dumps([row])) == {**expected, "verdict": None}
    assert read_found(json.dumps({**row, "find": {"verdict": "FOUND"}})) == {**expected, "verdict": "FOUND"}


@pytest.mark.parametrize("text", ["", "[]", "{}", "[3]"])
def test_another_report_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UnreadableReport, match="its report cannot be read"):
        read_found(text)


def test_a_search_without_its_cpus_does_not_count() -> None:
    assert why_disturbed(record(1_000_000_000), 60.0, 0.01) is None
    assert why_disturbed(record(3_000_000_000), 60.0, 0.01) == "the calibrator lacked its CPU for 5.0% of the time"
    assert "generator's CPU for 20.0%" in str(why_disturbed(record(0), 60.0, 0.2))
