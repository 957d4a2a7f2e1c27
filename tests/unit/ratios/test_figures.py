"""From rounds to ratios, and the verdict on a target."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ratios.figures import Spread, Target, find, spread, values_of

FASTER = Target("ours", "speed", "theirs", at_least=1.5)
POSITIVE = st.floats(min_value=1e-3, max_value=1e9)


def rounds(*pairs: tuple[float, float]) -> list[dict[str, dict[str, float]]]:
    return [{"ours": {"speed": ours}, "theirs": {"speed": theirs}} for ours, theirs in pairs]


def test_a_ratio_is_taken_within_each_round() -> None:
    # The second half of the run was twice as slow for both: ratios do not change.
    measured = rounds((30, 20), (32, 20), (15, 10), (14, 10), (16, 10))
    assert find(FASTER, measured).spread == Spread(1.5, 1.4, 1.6, 5)


@pytest.mark.parametrize(
    ("ratios", "met"),
    [
        ((1.5, 1.5, 1.5, 1.5, 1.5), True),
        ((1.4, 1.4, 1.5, 1.9, 1.9), True),
        ((1.4, 1.4, 1.4, 1.9, 1.9), False),
        ((9.0, 9.0, 9.0, 9.0), None),
        ((), None),
    ],
)
def test_the_median_of_at_least_five_is_held_against_the_bound(ratios: tuple[float, ...], met: bool | None) -> None:
    assert find(FASTER, rounds(*((ratio * 10, 10) for ratio in ratios))).met is met


def test_a_count_that_must_be_zero_must_be_so_in_every_round() -> None:
    target = Target("ours", "missing", at_most=0, every_round=True)
    measured = [{"ours": {"missing": float(count)}} for count in (0, 0, 0, 0, 1)]
    assert find(target, measured).met is False
    assert find(target, [*measured[:4], measured[0]]).met is True


def test_of_costs_the_other_side_stands_above() -> None:
    cost = Target("ours", "ns", "theirs", inverse=True)
    assert values_of(cost, [{"ours": {"ns": 50.0}, "theirs": {"ns": 75.0}}]) == [1.5]


def test_a_round_in_which_one_side_failed_has_no_ratio() -> None:
    measured = [*rounds((30, 20)), {"ours": {"speed": 1.0}}, {"theirs": {"speed": 1.0}}, {}]
    assert values_of(FASTER, measured) == [1.5]
    assert values_of(FASTER, rounds((1, 0))) == []


def test_without_a_bound_a_ratio_is_printed_and_not_judged() -> None:
    found = find(Target("ours", "speed", "theirs"), rounds(*[(3, 2)] * 5))
    assert (found.spread, found.met) == (Spread(1.5, 1.5, 1.5, 5), None)


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=9))
def test_swapping_the_sides_inverts_the_extremes(pairs: list[tuple[float, float]]) -> None:
    ours = spread(values_of(Target("ours", "speed", "theirs"), rounds(*pairs)))
    theirs = spread(values_of(Target("theirs", "speed", "ours"), rounds(*pairs)))
    assert ours
    assert theirs
    assert ours.low == pytest.approx(1 / theirs.high)
    assert ours.high == pytest.approx(1 / theirs.low)
    assert ours.low <= ours.median <= ours.high
