"""The deadline of a first look: far beyond the time of its list, and never beyond the default."""

import pytest

from httpdyno.experiments.crawl.plan import USUAL_DEADLINE_S, quick_deadline_s
from httpdyno.lab.planned_time import PlannedTime


@pytest.mark.parametrize(
    ("planned", "in_flight", "deadline_s"),
    [
        # A short list leaves time to start.
        (PlannedTime(1.0, 0.1, 10), 10, 40),
        # 500 URLs of the usual web: 20 s with 10 in flight, and a stall.
        (PlannedTime(200.0, 5.0, 500), 10, 110),
        (PlannedTime(200.0, 5.0, 500), 1, USUAL_DEADLINE_S),
        # There are no waits: only the client's own time counts.
        (PlannedTime(0.0, 0.0, 1000), 10, 60),
        (PlannedTime(0.0, 0.0, 10**6), 10, USUAL_DEADLINE_S),
    ],
)
def test_a_deadline_is_far_beyond_the_plan(planned: PlannedTime, in_flight: int, deadline_s: float) -> None:
    assert quick_deadline_s(planned, in_flight) == deadline_s
