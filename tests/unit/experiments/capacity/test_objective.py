"""The objective of a point: its syntax, and its evaluation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.figures import DEFAULT_OBJECTIVE, FIGURES, CapacityPoint, parse_objective
from httpdyno.model import Loop

MS = 10**6
POINT = CapacityPoint(0, 20 * MS, 40 * MS, None, None, 200, Loop.OPEN, 2000.0)
GOOD: dict[str, float | None] = dict.fromkeys(FIGURES, 1.0 * MS) | {"errors": 0.0}


@pytest.mark.parametrize(
    ("bound", "expected_ms"),
    [
        ("500ms", 500),
        ("rtt + delay + 500ms", 560),
        ("rtt+delay+500ms", 560),
        ("2*rtt + 0.5 delay", 90),
        ("2 rtt", 80),
        ("1s - rtt", 960),
        ("- rtt + 1s", 960),
        ("100ms + 100ms + rtt + rtt", 280),
    ],
)
def test_a_bound_adds_durations_and_those_of_the_point(bound: str, expected_ms: float) -> None:
    (clause,) = parse_objective(f"p99 < {bound}").clauses
    assert clause.bound(POINT) == expected_ms * MS


@given(st.integers(0, 10**10), st.integers(0, 10**10), st.integers(1, 10**6))
def test_the_usual_objective_follows_the_point(delay_ns: int, round_trip_ns: int, margin_ms: int) -> None:
    point = CapacityPoint(0, delay_ns, round_trip_ns, None, None, 1, Loop.OPEN, 1.0)
    clause = parse_objective(DEFAULT_OBJECTIVE.replace("500ms", f"{margin_ms}ms")).clauses[0]
    assert clause.bound(point) == pytest.approx(delay_ns + round_trip_ns + margin_ms * MS)


@pytest.mark.parametrize(
    ("text", "figures", "held", "why"),
    [
        ("", {}, True, None),
        (DEFAULT_OBJECTIVE, {}, True, None),
        ("p99 < 500ms", {"p99": 499.9 * MS}, True, None),
        ("p99 < 500ms", {"p99": 500.0 * MS}, False, "p99 was 500 ms, not below 500 ms"),
        ("p99 < rtt + 10ms", {"p99": 812.0 * MS}, False, "p99 was 812 ms, not below 50 ms (rtt + 10ms)"),
        ("errors < 0.1%", {"errors": 0.021}, False, "2.1 % errors, not below 0.1%"),
        ("p50 < 1ms, max < 2s", {"p50": 2.0 * MS, "max": 3e9}, False, "p50 was 2 ms, not below 1 ms"),
        ("p99.9 < 1s", {"p99.9": None}, None, "p99.9 is not known"),
        ("p99_9 < 1s", {"p99.9": 2e9}, False, "p99.9 was 2 s, not below 1 s"),
        ("p99.9 < 1s, p50 < 1us", {"p99.9": None}, False, "p50 was 1 ms, not below 1 us"),
    ],
)
def test_a_broken_clause_is_described_with_its_figure(
    text: str, figures: dict[str, float | None], held: bool | None, why: str | None
) -> None:
    assert parse_objective(text).judge(POINT, GOOD | figures) == (held, why)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p99", "is not understood; write it like"),
        ("p99 > 5ms", "is not understood"),
        ("p99 < ", "is not understood"),
        ("p98 < 5ms", "unknown figure 'p98'; supported: p50, p90, p99, p99.9, mean, max, errors"),
        ("p99 < 500", "500 needs a unit, like 500ms"),
        ("p99 < 0.5", "0.5 needs a unit, like 0.5ms"),
        ("p99 < 1.2.3", "'1.2.3' is not understood; write it like 40ms"),
        ("p99 < ..", "'..' is not understood; write it like 40ms"),
        ("p99 < .", "'.' is not understood; write it like 40ms"),
        ("p99 < rtt + 5.", "'5.' is not understood; write it like 40ms"),
        (f"p99 < {'9' * 400}", "is not understood; write it like 40ms"),
        ("p99 < rtt * rtt", "is not understood"),
        ("p99 < rtt + size", "is not understood"),
        ("p99 < rtt + + 5ms", "is not understood"),
        ("p99 < 0ms", "no answer can be faster than '0ms'"),
        ("p99 < 0ms - rtt", "no answer can be faster than"),
        ("errors < 5", "by a share above 0 % and up to 100 %, not by '5'; write it like 'errors < 0.1%'"),
        ("errors < 0%", "by a share above 0 % and up to 100 %, not by '0%'"),
        ("errors < -1%", "by a share above 0 % and up to 100 %, not by '-1%'"),
        ("errors < 101%", "by a share above 0 % and up to 100 %, not by '101%'"),
        ("p99 < 5ms, p99 < 6ms", "p99 is bounded twice"),
        ("p99 < 5ms,", "is not understood"),
    ],
)
def test_a_bad_objective_gets_one_clear_line(text: str, said: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        parse_objective(text)
    assert said in str(refused.value)
    assert str(refused.value).startswith("--slo: ")
    assert "\n" not in str(refused.value)


@given(st.text(alphabet="0123456789.+-*% msrtdelay", max_size=20))
def test_any_bound_is_read_or_refused(bound: str) -> None:
    for figure in ("p99", "errors"):
        try:
            objective = parse_objective(f"{figure} < {bound}")
        except InvalidValue:
            continue
        assert len(objective.clauses) == 1
