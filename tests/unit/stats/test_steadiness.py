"""The end of a warm-up, and the drift after it."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.stats import FloatArray
from httpdyno.stats.steadiness import FEWEST_VALUES, drift_interval, warm_up_length

Shape = Callable[[FloatArray], FloatArray]


@pytest.mark.parametrize(
    ("values", "length"),
    [
        ([], 0),
        ([0.0] * 5 + [9.0] * 14, 0),  # fewer than 20: no value can be dropped
        ([3.0] * 100, 0),
        ([0.0] * 5 + [9.0] * 35, 5),
        ([1.0, 3.0, 5.0, 7.0, 8.5] + [9.0] * 35, 5),
        ([20.0] * 10 + [9.0, 8.0] * 40, 10),
        # A step in the second half is not a warm-up; at most a quarter is dropped.
        ([9.0] * 60 + [1.0] * 40, 0),
        ([1.0] * 40 + [9.0] * 60, 25),
    ],
)
def test_the_end_of_a_warm_up(values: list[float], length: int) -> None:
    assert warm_up_length(np.array(values)) == length


def test_the_number_to_drop_makes_the_squared_standard_error_of_the_rest_smallest() -> None:
    rng = np.random.default_rng(5)
    values = np.concatenate([rng.normal(5, 1, 12), rng.normal(10, 1, 88)])
    means = values.reshape(20, 5).mean(axis=1)
    # White's statistic in its original form.
    statistic = [((means[drop:] - means[drop:].mean()) ** 2).sum() / (20 - drop) ** 2 for drop in range(6)]
    assert warm_up_length(values) == 5 * statistic.index(min(statistic)) == 15


@given(st.lists(st.floats(0, 1e6), max_size=200))
def test_a_warm_up_is_a_multiple_of_five_and_at_most_a_quarter(values: list[float]) -> None:
    length = warm_up_length(np.array(values, dtype=np.float64))
    assert length % 5 == 0
    assert 0 <= length <= len(values) / 4


def test_too_few_values_have_no_drift() -> None:
    assert drift_interval(np.full(FEWEST_VALUES - 1, 3.0)) is None
    assert drift_interval(np.zeros(50)) is None
    assert drift_interval(np.full(FEWEST_VALUES, 3.0)) is not None


@pytest.mark.parametrize("count", [30, 59, 60, 100, 400])
def test_a_straight_line_moves_by_two_thirds_between_the_outer_thirds(count: int) -> None:
    interval = drift_interval(np.linspace(15, 5, count))
    assert interval is not None
    assert interval.estimate == pytest.approx(-2 / 3, rel=0.05)
    assert interval.low == pytest.approx(interval.high)


@pytest.mark.parametrize("place", [0.4, 0.5, 0.6])
def test_a_step_is_found_exactly_wherever_it_is_in_the_middle(place: float) -> None:
    values = np.full(300, 20.0)
    values[int(300 * place) :] = 10
    interval = drift_interval(values)
    assert interval is not None
    assert interval.estimate == pytest.approx(-10 / values.mean())
    assert interval.low == pytest.approx(interval.high)


def test_the_doubt_is_students_between_independent_values() -> None:
    rng = np.random.default_rng(3)
    first, middle, last = rng.normal(100, 10, (3, 10))
    values = np.concatenate([first, middle, last])
    rest = [part - np.polyval(np.polyfit(np.arange(10), part, 1), np.arange(10)) for part in (first, last)]
    squares = sum(part @ part for part in rest)
    assert sum(part[1:] @ part[:-1] for part in rest) < -0.2 * squares  # without correlation
    interval = drift_interval(values)
    assert interval is not None
    error = np.sqrt(2 * squares / 16 / 10)
    assert interval.high - interval.estimate == pytest.approx(2.9208 * error / values.mean(), rel=1e-4)  # t(0.995; 16)
    assert interval.estimate == pytest.approx((last.mean() - first.mean()) / values.mean())


def test_values_that_depend_on_each_other_say_less() -> None:
    rng = np.random.default_rng(4)
    independent, dependent = rng.normal(100, 10, 50), np.repeat(rng.normal(100, 10, 13), 4)[:50]
    narrow, wide = drift_interval(independent), drift_interval(dependent)
    assert narrow is not None
    assert wide is not None
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_nothing_moves_in_what_never_changes() -> None:
    interval = drift_interval(np.full(60, 7.0))
    assert interval is not None
    assert (interval.low, interval.estimate, interval.high, interval.level) == (0, 0, 0, 0.99)


def test_one_hole_is_no_drift() -> None:
    values = np.full(100, 50.0) + np.tile([1.0, -1.0], 50)
    values[90:95] = 0
    interval = drift_interval(values)
    assert interval is not None
    assert interval.low < 0 < interval.high


@given(st.lists(st.integers(0, 100), min_size=30, max_size=120), st.floats(0.01, 1e4))
def test_scale_does_not_matter_and_time_turned_round_turns_the_sign(counts: list[int], scale: float) -> None:
    values = np.array(counts, dtype=np.float64)
    interval, scaled = drift_interval(values), drift_interval(values * scale)
    if interval is None or scaled is None:
        assert interval is scaled
        return
    assert (scaled.low, scaled.high) == pytest.approx((interval.low, interval.high), rel=1e-6, abs=1e-9)
    if len(counts) < 60:  # beyond, the batches of one direction are not those of the other
        turned = drift_interval(values[::-1].copy())
        assert turned is not None
        assert turned.estimate == pytest.approx(-interval.estimate, rel=1e-6, abs=1e-9)
        assert (turned.low, turned.high) == pytest.approx((-interval.high, -interval.low), rel=1e-6, abs=1e-9)


def series(rng: np.random.Generator, shape: Shape, *, count: int, mean: float, dependence: float) -> FloatArray:
    """Counts around a shape over time (0 to 1), with noise of 10 % that depends on the value before."""
    noise = np.zeros(count)
    for place in range(1, count):
        noise[place] = dependence * noise[place - 1] + (1 - dependence**2) ** 0.5 * rng.normal()
    expected = mean * shape(np.arange(count) / count) * (1 + 0.1 * noise)
    return rng.poisson(np.maximum(expected, 0)).astype(np.float64)


def share_found(shape: Shape, *, count: int, mean: float, dependence: float, tries: int) -> float:
    """How often a drift is significant and more than 10 %."""
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(tries):
        values = series(rng, shape, count=count, mean=mean, dependence=dependence)
        interval = drift_interval(values[warm_up_length(values) :])
        assert interval is not None
        found += abs(interval.estimate) > 0.1 and not interval.low <= 0 <= interval.high
    return found / tries


@pytest.mark.parametrize("dependence", [0.0, 0.5])
@pytest.mark.parametrize(("count", "mean"), [(45, 20.0), (75, 60.0), (300, 200.0)])
def test_steady_series_are_called_drifting_about_as_rarely_as_promised(
    count: int, mean: float, dependence: float
) -> None:
    assert share_found(np.ones_like, count=count, mean=mean, dependence=dependence, tries=300) <= 0.03


@pytest.mark.parametrize(
    ("shape", "count", "mean"),
    [
        (lambda time: 1.4 - 0.8 * time, 75, 80.0),
        (lambda time: 0.75 + 0.5 * time, 300, 200.0),
        (lambda time: np.where(time < 0.5, 1.3, 0.7), 45, 40.0),
        (lambda time: np.where(time < 0.5, 1.15, 0.85), 150, 80.0),
        (lambda time: 1 - 1.2 * np.maximum(time - 0.5, 0), 75, 80.0),
    ],
    ids=["falls", "rises", "falls at once by half", "falls at once by a quarter", "falls in its second half"],
)
def test_large_drifts_are_found(shape: Shape, count: int, mean: float) -> None:
    assert share_found(shape, count=count, mean=mean, dependence=0.4, tries=100) >= 0.85
