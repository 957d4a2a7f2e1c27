"""The default number of blocks of a crawl."""

from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.experiments.crawl.options import BUDGET_S, TRIAL_URLS, block_count
from httpdyno.judge.validity.stretch import LEAST_TURNS


@pytest.mark.parametrize(
    ("subjects", "trial_s", "least", "blocks"),
    [
        # The default eleven, with and without those that a machine may lack.
        (11, 8.6, 0, 6),
        (10, 8.6, 0, 6),
        # Few subjects, and fast ones.
        (1, 7.0, 0, 9),
        (2, 7.0, 0, 9),
        (5, 8.0, 0, 9),
        (2, 0.0, 0, 9),
        # Long lists, and all clients.
        (11, 90.0, 0, 3),
        (45, 9.0, 0, 3),
        # A list of the user's own.
        (11, 90.0, 7, 7),
        (2, 7.0, 5, 9),
    ],
)
def test_as_many_blocks_as_fit(subjects: int, trial_s: float, least: int, blocks: int) -> None:
    assert block_count(repeat(trial_s, subjects), least=least) == blocks


@given(st.lists(st.floats(0, 1000), min_size=1, max_size=50))
def test_more_than_the_fewest_blocks_stay_within_the_budget(trials_s: list[float]) -> None:
    blocks = block_count(trials_s)
    assert 3 <= blocks <= 9
    assert blocks == 3 or blocks * sum(trials_s) <= BUDGET_S


def test_the_usual_list_has_a_rate_with_150_in_flight() -> None:
    assert TRIAL_URLS == 600 == 150 * LEAST_TURNS
