"""Power and the smallest difference, against each other and against what is known."""

import math

import numpy as np
import pytest

from httpdyno.stats.ratio import LogRatio
from pages.power import relative_power, smallest_difference


def test_equal_clients_are_separated_as_often_as_promised() -> None:
    assert relative_power(1, 0.02, 5) == pytest.approx(0.05, abs=1e-5)
    assert relative_power(1, 0.02, 7, comparisons=10) == pytest.approx(0.005, abs=1e-5)


def test_a_value_of_the_literature() -> None:
    # Cohen, Statistical Power Analysis (1988), and R: power.t.test(n = 10, delta = 1, sd = 1, type = "paired").
    assert relative_power(math.e, 1, 10) == pytest.approx(0.8031, abs=1e-4)


@pytest.mark.parametrize(("ratio", "spread", "blocks"), [(1.03, 0.02, 5), (1.05, 0.05, 7), (0.9, 0.1, 5)])
def test_simulated_runs_find_it_as_often(ratio: float, spread: float, blocks: int) -> None:
    logs = np.random.default_rng(7).normal(math.log(ratio), spread, (20_000, blocks))
    found = float((LogRatio.paired(logs).p() <= 0.05).mean())
    assert found == pytest.approx(relative_power(ratio, spread, blocks), abs=0.015)


def test_better_and_worse_are_found_alike_and_more_blocks_find_more() -> None:
    assert relative_power(1.05, 0.03, 5) == pytest.approx(relative_power(1 / 1.05, 0.03, 5))
    by_blocks = [relative_power(1.05, 0.05, blocks) for blocks in range(2, 12)]
    assert by_blocks == sorted(by_blocks)
    assert relative_power(1.05, 0.03, 5) > relative_power(1.05, 0.03, 5, comparisons=6)
    assert relative_power(1e9, 0.01, 3, comparisons=55) == pytest.approx(1)


def test_the_smallest_difference_has_the_power_asked_for() -> None:
    smallest = smallest_difference(0.02, 5, comparisons=6, power=0.9)
    assert relative_power(1 + smallest, 0.02, 5, comparisons=6) == pytest.approx(0.9)
