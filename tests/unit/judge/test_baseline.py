"""The subjects of one run against one of them."""

import pytest

from doubles.trials import trial, trials_of
from httpdyno.errors import InvalidValue, UnknownName
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.judge import find_metric
from httpdyno.judge.baseline import compare_with_baseline
from httpdyno.judge.ranking import rank
from httpdyno.model import Difference, Outcome

RIGHT = find_metric(CRAWL_METRICS, "right_per_s")
BASE = [100.0, 150, 90, 120, 100]
SLOWER = [90.0, 136, 81, 107, 91]


def test_each_other_subject_is_compared_by_the_blocks_that_it_shares() -> None:
    trials = trials_of("base", BASE) + trials_of("same", [101.0, 149, 91, 119, 100.5]) + trials_of("slow", SLOWER)
    same, slow = compare_with_baseline(trials, "base", RIGHT)
    assert [(one.subject, one.baseline, one.paired, one.blocks) for one in (same, slow)] == [
        ("same", "base", True, 5),
        ("slow", "base", True, 5),
    ]
    assert (same.difference, slow.difference) == (Difference.UNDECIDED, Difference.WORSE)
    assert slow.ratio is not None
    # The blocks differ by half; within a block the ratio is always about 0.9.
    assert slow.ratio.estimate == pytest.approx(0.9, abs=0.01)
    assert slow.ratio.high - slow.ratio.low < 0.03


def test_the_correction_is_for_these_comparisons_alone() -> None:
    trials = [other for name in "abcd" for other in trials_of(name, BASE if name != "d" else SLOWER)]
    alone = compare_with_baseline(trials, "a", RIGHT)
    among_all = [pair for pair in rank(trials, RIGHT).comparisons if {pair.subject, pair.baseline} == {"a", "d"}]
    assert alone[-1].p_adjusted == pytest.approx(3 * (alone[-1].p or 0))
    assert (among_all[0].p_adjusted or 0) > (alone[-1].p_adjusted or 0)


def test_each_condition_for_itself() -> None:
    trials = [
        *trials_of("base", BASE, condition="near"),
        *trials_of("other", SLOWER, condition="near"),
        *trials_of("base", BASE, condition="far"),
        *trials_of("other", BASE, condition="far"),
        *trials_of("other", BASE, condition="alone"),
    ]
    compared = compare_with_baseline(trials, "base", RIGHT)
    assert [(one.condition, one.difference, one.blocks) for one in compared] == [
        ("near", Difference.WORSE, 5),
        ("far", Difference.UNDECIDED, 5),
        ("alone", Difference.UNDECIDED, 0),
    ]


@pytest.mark.parametrize("spoiled", ["base", "other"])
def test_what_cannot_be_believed_is_undecided(spoiled: str) -> None:
    trials = trials_of("base", BASE) + trials_of("other", SLOWER)
    trials = [*trials, trial(spoiled, 5, outcome=Outcome.CRASHED, validity=None)]
    (compared,) = compare_with_baseline(trials, "base", RIGHT)
    assert (compared.ratio, compared.p_adjusted, compared.difference, compared.blocks) == (
        None,
        None,
        Difference.UNDECIDED,
        0,
    )


def test_a_baseline_alone_is_compared_with_nobody() -> None:
    assert compare_with_baseline(trials_of("base", BASE), "base", RIGHT) == ()


def test_a_baseline_that_was_not_measured_is_refused_with_those_that_were() -> None:
    with pytest.raises(UnknownName, match="there is no subject 'c' in this run; it has: a, b"):
        compare_with_baseline(trials_of("a", BASE) + trials_of("b", BASE), "c", RIGHT)


def test_a_metric_without_a_direction_is_refused() -> None:
    with pytest.raises(InvalidValue, match="choose a metric with a direction"):
        compare_with_baseline(trials_of("a", BASE), "a", find_metric(CRAWL_METRICS, "connections"))
