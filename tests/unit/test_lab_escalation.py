"""More time helps a client that was too slow; it does not make a wrong one right."""

from typing import Any

import pytest

from httpdyno.judge.client_cases import TIMEOUTS_S
from httpdyno.judge.conformance import Crawl, Stimulus
from httpdyno.lab.conformance import Room
from httpdyno.model import Workload


class FakeRoom(Room):
    """A room in which a crawl shows its timeout and nothing else."""

    def crawl(self, asked: Crawl) -> Any:
        return asked.workload.timeout_s


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

    def is_settled(seen: Any) -> bool:
        tried[:] = seen
        return seen[-1] > needs_s

    nothing: Any = None
    crawls = [Crawl(workload=Workload((), timeout_s)) for timeout_s in TIMEOUTS_S]
    stimulus: Stimulus[Any, Any] = Stimulus("any", crawls, is_settled)
    taken, attempts = FakeRoom(nothing, nothing, nothing, nothing).attempt(stimulus)
    assert tuple(tried) == tried_s
    assert (taken, attempts) == (tried_s[-1], len(tried_s))
