"""More time is for a client that was too slow; it makes none right that is wrong."""

import pytest

from httpdyno.lab.contract.escalation import TIMEOUTS_S, first_done


@pytest.mark.parametrize(
    ("needs_s", "tried_s"),
    [
        pytest.param(0.5, TIMEOUTS_S[:1], id="right at once"),
        pytest.param(TIMEOUTS_S[0] + 1, TIMEOUTS_S[:2], id="right as soon as it has the time"),
        pytest.param(float("inf"), TIMEOUTS_S, id="wrong however long it gets"),
    ],
)
def test_the_first_attempt_that_is_done_is_taken_or_the_last(needs_s: float, tried_s: tuple[float, ...]) -> None:
    tried: list[float] = []

    def attempt(timeout_s: float) -> float:
        tried.append(timeout_s)
        return timeout_s

    taken = first_done(TIMEOUTS_S, attempt, lambda timeout_s: timeout_s > needs_s)
    assert tuple(tried) == tried_s
    assert taken == tried_s[-1]
