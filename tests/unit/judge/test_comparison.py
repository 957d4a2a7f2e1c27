"""Two runs of the same subjects: what became better, what worse, what cannot be told."""

import pytest

from doubles.trials import trial, trials_of
from httpdyno.errors import InvalidValue
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import compare_runs, find_metric
from httpdyno.model import Difference, Outcome, Trial

METRICS = definition_of("bench").metrics
RIGHT = find_metric(METRICS, "right_per_s")
BEFORE = [100.0, 102, 99, 101, 100]
AFTER = [90.0, 91, 89, 92, 90]


def test_a_slower_subject_is_worse_by_its_ratio() -> None:
    (comparison,) = compare_runs(trials_of("a", BEFORE), trials_of("a", AFTER), RIGHT)
    assert (comparison.subject, comparison.baseline, comparison.metric) == ("a", "a", "right_per_s")
    assert comparison.ratio is not None
    assert comparison.ratio.estimate == pytest.approx(0.9, rel=0.01)
    assert comparison.ratio.high < 0.95
    assert (comparison.difference, comparison.blocks, comparison.paired) == (Difference.WORSE, 5, False)
    (back,) = compare_runs(trials_of("a", AFTER), trials_of("a", BEFORE), RIGHT)
    assert back.difference is Difference.BETTER


def test_the_correction_is_over_all_subjects() -> None:
    alone = compare_runs(trials_of("a", BEFORE), trials_of("a", AFTER), RIGHT)
    names = "abcdefgh"
    before = [other for name in names for other in trials_of(name, BEFORE)]
    after = [other for name in names for other in trials_of(name, AFTER if name == "a" else BEFORE)]
    among = compare_runs(before, after, RIGHT)
    assert [comparison.subject for comparison in among] == list(names)
    assert alone[0].p == among[0].p == alone[0].p_adjusted
    assert among[0].p_adjusted == pytest.approx(8 * (among[0].p or 0))
    assert {comparison.difference for comparison in among[1:]} == {Difference.UNDECIDED}


def test_only_what_both_have_is_compared_in_the_order_of_the_second() -> None:
    before = trials_of("gone", BEFORE) + trials_of("a", BEFORE) + trials_of("b", BEFORE)
    after = trials_of("b", AFTER) + trials_of("new", AFTER) + trials_of("a", AFTER)
    assert [comparison.subject for comparison in compare_runs(before, after, RIGHT)] == ["b", "a"]


def test_each_condition_for_itself() -> None:
    def both(values: list[float]) -> list[Trial]:
        return trials_of("a", values, condition="near") + trials_of("a", BEFORE, condition="far")

    compared = compare_runs(both(BEFORE), both(AFTER), RIGHT)
    assert [(comparison.condition, comparison.difference) for comparison in compared] == [
        ("near", Difference.WORSE),
        ("far", Difference.UNDECIDED),
    ]


def test_what_cannot_be_believed_on_one_side_is_undecided() -> None:
    crashed = [*trials_of("a", AFTER[:4]), trial("a", 4, outcome=Outcome.CRASHED, validity=None)]
    (comparison,) = compare_runs(trials_of("a", BEFORE), crashed, RIGHT)
    assert (comparison.ratio, comparison.p, comparison.p_adjusted, comparison.blocks) == (None, None, None, 0)
    assert comparison.difference is Difference.UNDECIDED


@pytest.mark.parametrize("count", [1, 2])
def test_fewer_than_three_trials_on_one_side_are_undecided(count: int) -> None:
    (comparison,) = compare_runs(trials_of("a", BEFORE), trials_of("a", AFTER[:count]), RIGHT)
    assert (comparison.ratio, comparison.difference, comparison.blocks) == (None, Difference.UNDECIDED, count)


def test_a_metric_without_a_direction_is_refused() -> None:
    with pytest.raises(InvalidValue, match="connections describes what was measured"):
        compare_runs(trials_of("a", BEFORE), trials_of("a", AFTER), find_metric(METRICS, "connections"))


def test_nothing_in_common_is_nothing_compared() -> None:
    assert compare_runs(trials_of("a", BEFORE), trials_of("b", AFTER), RIGHT) == ()
