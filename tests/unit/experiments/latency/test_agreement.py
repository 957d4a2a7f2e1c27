"""Whether a client's own times agree with its lines."""

from collections.abc import Sequence

import pytest

from doubles.trials import trial
from httpdyno.experiments.latency.judge import LatencyRun, LatencySummary, agreement, agreement_text, agrees
from httpdyno.model import Outcome, Trial


def timed(means: Sequence[float], **changes: object) -> list[Trial]:
    return [
        trial("a", block, latency=LatencySummary(7, 1, (LatencyRun(mean),) * 7, mean, 0.0), **changes)
        for block, mean in enumerate(means)
    ]


def test_modes_without_a_certain_difference_agree() -> None:
    found = agreement(timed([100, 104, 97, 101]), timed([101, 99, 103, 98]))
    assert found is not None
    assert agrees(found)
    assert agreement_text(found).startswith("yes, 1.00x")


def test_a_difference_beyond_the_spread_has_its_size() -> None:
    found = agreement(timed([100, 102, 98, 101]), timed([80, 81, 79, 82]))
    assert found is not None
    assert not agrees(found)
    assert found.estimate == pytest.approx(0.803, abs=0.005)
    assert agreement_text(found).startswith("no, 0.80x (0.7")


def test_of_one_trial_each_the_runs_are_held_against_each_other() -> None:
    def of(values: Sequence[float]) -> Trial:
        return trial("a", 0, latency=LatencySummary(7, 1, tuple(map(LatencyRun, values)), sum(values) / 7, 1.0))

    found = agreement([of([10, 11, 10, 12, 9, 10, 11])], [of([10, 10, 11, 12, 10, 9, 11])])
    assert found is not None
    assert agrees(found)


def test_an_interval_that_holds_anything_tells_nothing() -> None:
    found = agreement(timed([100, 200, 50]), timed([100, 60, 180]))
    assert found is not None
    assert agrees(found) is None
    assert agreement_text(found).startswith("unknown, ")


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.UNAVAILABLE])
def test_what_failed_agrees_with_nothing(outcome: Outcome) -> None:
    assert agreement(timed([100, 100, 100]), timed([100, 100, 100], outcome=outcome)) is None
    assert agreement([], timed([100, 100, 100])) is None
