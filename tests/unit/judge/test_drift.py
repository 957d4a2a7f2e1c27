"""Which course of a trial is a drift, and what only looks like one."""

import pytest

from doubles.honest_trial import S, finding, paced, with_counters
from httpdyno.model import Trial

DECLINE = (*[60] * 50, *[60 - number for number in range(50)])
FILLING = (*range(100, 50, -2), *[50] * 30)


@pytest.mark.parametrize(
    ("trial", "passed"),
    [
        (paced(*[50, 51] * 50), True),
        (paced(*DECLINE), False),
        (paced(*[50] * 50, *[30] * 50), False),
        # Slow until it knows its way: a warm-up of 4 s of 20 s.
        (paced(*[10] * 20, *[50] * 80), True),
        # What a compiler takes until all is compiled, up to nearly half of the time; a fall is no warm-up.
        (paced(*range(10, 50), *[50, 51] * 30), True),
        (paced(*[20] * 40, *[50, 51] * 30), True),
        # Nothing says that it has come to its end.
        (paced(*range(10, 110)), False),
        # The list was exhausted before it fell off.
        (paced(*DECLINE, exhausted_ns=10 * S), True),
        # In the first 5 s the places filled with URLs that never answer.
        (paced(*FILLING, max_ns=5 * S), True),
        (paced(*FILLING), False),
        # Starting up is no drift.
        (paced(*[0] * 50, *[50] * 50), True),
        (paced(*[0] * 50), None),
        (paced(*[50] * 29), None),
        (with_counters(throughput=()), None),
        # The deadline cut it: there is no last URL.
        (paced(*DECLINE, exhausted_ns=None), False),
    ],
)
def test_a_drift_is_told_from_what_looks_like_one(trial: Trial, *, passed: bool | None) -> None:
    assert finding(trial, "drift").passed is passed
