import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from httpdyno.stats.scalability import NotEnoughPoints, ScalabilityLaw, fit_scalability

LOADS = (1, 4, 16, 64, 128, 256, 512)


def throughput(rate: float, sigma: float, kappa: float) -> list[float]:
    return [rate * n / (1 + sigma * (n - 1) + kappa * n * (n - 1)) for n in LOADS]


@pytest.mark.parametrize(
    ("sigma", "kappa"), [(0.02, 1e-4), (0.02, 0.0), (0.0, 1e-4), (0.0, 0.0), (0.3, 1e-3), (0.0005, 1e-6), (1.0, 0.0)]
)
def test_an_exact_law_is_found_again(sigma: float, kappa: float) -> None:
    law = fit_scalability(LOADS, throughput(100, sigma, kappa))

    assert isinstance(law, ScalabilityLaw)
    assert law.rate == pytest.approx(100, rel=1e-4)
    assert law.contention == pytest.approx(sigma, rel=1e-3, abs=1e-9)
    assert law.coherency == pytest.approx(kappa, rel=1e-3, abs=1e-12)
    assert law.residual < 1e-4


@pytest.mark.parametrize(
    ("sigma", "kappa", "peak"), [(0.02, 1e-4, math.sqrt(9800)), (0.0, 1e-4, 100), (0.02, 0.0, None)]
)
def test_the_peak_is_where_gunther_has_it(sigma: float, kappa: float, peak: float | None) -> None:
    law = ScalabilityLaw(100, sigma, kappa, 0.0)

    assert law.peak == (None if peak is None else pytest.approx(peak))
    if peak is not None:
        assert law.throughput(peak) > max(law.throughput(peak * 0.9), law.throughput(peak * 1.1))


@pytest.mark.parametrize(("sigma", "kappa"), [(0.02, 0.0), (0.02, 1e-4), (0.0, 1e-4), (0.001, 1e-6)])
def test_half_of_the_gain_is_left_at_half_gain(sigma: float, kappa: float) -> None:
    law = ScalabilityLaw(100, sigma, kappa, 0.0)
    n = law.half_gain
    assert n is not None

    slope = (law.throughput(n + 1e-4) - law.throughput(n - 1e-4)) / 2e-4

    assert slope == pytest.approx(50, rel=1e-3)


def test_a_law_without_losses_has_neither() -> None:
    law = ScalabilityLaw(100, 0.0, 0.0, 0.0)

    assert (law.peak, law.half_gain) == (None, None)
    assert law.throughput(7) == 700


def test_a_law_of_nothing_but_waiting_loses_half_at_once() -> None:
    assert ScalabilityLaw(100, 1.0, 0.0, 0.0).half_gain == 1.0
    assert ScalabilityLaw(100, 1.0, 0.5, 0.0).peak == 1.0


@pytest.mark.parametrize(
    ("loads", "values", "points"),
    [
        ([], [], 0),
        ([1, 2, 3], [1.0, 2.0, 3.0], 3),
        ([1, 1, 1, 1], [1.0] * 4, 1),
        ([1, 2, 3, 4], [1.0, 2.0, 0.0, 3.0], 3),
    ],
)
def test_too_few_points_give_no_law(loads: list[int], values: list[float], points: int) -> None:
    law = fit_scalability(loads, values)

    assert law == NotEnoughPoints(points)
    assert str(law) == f"not enough points for a law: {points} different concurrencies instead of 4"


@pytest.mark.slow
@given(st.floats(1, 1e5), st.floats(0, 0.5), st.floats(0, 1e-3), st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_a_noisy_law_is_nearer_to_the_values_than_the_true_one(
    rate: float, sigma: float, kappa: float, seed: int
) -> None:
    truth = np.array(throughput(rate, sigma, kappa))
    noise = np.random.default_rng(seed).normal(0, 0.05, len(truth))

    law = fit_scalability(LOADS, list(truth * np.exp(noise)))

    assert isinstance(law, ScalabilityLaw)
    assert law.residual <= math.sqrt(float(np.mean(noise**2))) * 1.001
    assert 0 <= law.contention <= 1
    assert law.coherency >= 0
