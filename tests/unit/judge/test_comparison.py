"""Comparisons of two runs and of the subjects of one run; thresholds on them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.trials import trial, trials_of
from httpdyno.errors import InvalidValue, UnknownName
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import compare_runs, find_metric
from httpdyno.judge.comparison import Threshold, compare_with_baseline, parse_threshold
from httpdyno.judge.ranking import rank
from httpdyno.model import Comparison, Difference, Direction, Interval, Outcome, Trial

METRICS = definition_of("bench").presentation.metrics
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
    with pytest.raises(InvalidValue, match="connections has no direction"):
        compare_runs(trials_of("a", BEFORE), trials_of("a", AFTER), find_metric(METRICS, "connections"))


def test_nothing_in_common_is_nothing_compared() -> None:
    assert compare_runs(trials_of("a", BEFORE), trials_of("b", AFTER), RIGHT) == ()


RIGHT_PER_S = find_metric(CRAWL_METRICS, "right_per_s")
BASE = [100.0, 150, 90, 120, 100]
SLOWER = [90.0, 136, 81, 107, 91]


def test_each_other_subject_is_compared_by_the_blocks_that_it_shares() -> None:
    trials = trials_of("base", BASE) + trials_of("same", [101.0, 149, 91, 119, 100.5]) + trials_of("slow", SLOWER)
    same, slow = compare_with_baseline(trials, "base", RIGHT_PER_S)
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
    alone = compare_with_baseline(trials, "a", RIGHT_PER_S)
    among_all = [pair for pair in rank(trials, RIGHT_PER_S).comparisons if {pair.subject, pair.baseline} == {"a", "d"}]
    assert alone[-1].p_adjusted == pytest.approx(3 * (alone[-1].p or 0))
    assert (among_all[0].p_adjusted or 0) > (alone[-1].p_adjusted or 0)


def test_each_condition_has_a_baseline() -> None:
    trials = [
        *trials_of("base", BASE, condition="near"),
        *trials_of("other", SLOWER, condition="near"),
        *trials_of("base", BASE, condition="far"),
        *trials_of("other", BASE, condition="far"),
        *trials_of("other", BASE, condition="alone"),
    ]
    compared = compare_with_baseline(trials, "base", RIGHT_PER_S)
    assert [(one.condition, one.difference, one.blocks) for one in compared] == [
        ("near", Difference.WORSE, 5),
        ("far", Difference.UNDECIDED, 5),
        ("alone", Difference.UNDECIDED, 0),
    ]


@pytest.mark.parametrize("spoiled", ["base", "other"])
def test_what_cannot_be_believed_is_undecided(spoiled: str) -> None:
    trials = trials_of("base", BASE) + trials_of("other", SLOWER)
    trials = [*trials, trial(spoiled, 5, outcome=Outcome.CRASHED, validity=None)]
    (compared,) = compare_with_baseline(trials, "base", RIGHT_PER_S)
    assert (compared.ratio, compared.p_adjusted, compared.difference, compared.blocks) == (
        None,
        None,
        Difference.UNDECIDED,
        0,
    )


def test_a_baseline_alone_has_no_comparison() -> None:
    assert compare_with_baseline(trials_of("base", BASE), "base", RIGHT_PER_S) == ()


def test_a_baseline_that_was_not_measured_is_refused_with_those_that_were() -> None:
    with pytest.raises(UnknownName, match="there is no subject 'c' in this run; it has: a, b"):
        compare_with_baseline(trials_of("a", BASE) + trials_of("b", BASE), "c", RIGHT_PER_S)


def test_a_baseline_needs_a_metric_with_a_direction() -> None:
    with pytest.raises(InvalidValue, match="choose a metric with a direction"):
        compare_with_baseline(trials_of("a", BASE), "a", find_metric(CRAWL_METRICS, "connections"))


def comparison(
    low: float | None,
    high: float | None,
    *,
    p_adjusted: float | None = 0.001,
    difference: Difference = Difference.WORSE,
    metric: str = "right_per_s",
) -> Comparison:
    """Compare with the bounds of a change in percent."""
    ratio = None
    if low is not None and high is not None:
        ratio = Interval(1 + (low + high) / 200, 1 + low / 100, 1 + high / 100, 0.95)
    return Comparison("client", "client", metric, ratio, p_adjusted, p_adjusted, difference, 5, paired=False)


def threshold(text: str) -> Threshold:
    return parse_threshold(text, CRAWL_METRICS)


@pytest.mark.parametrize(
    ("text", "metric", "operator", "percent"),
    [
        ("right_per_s < -5%", "right_per_s", "<", -5.0),
        ("p99>+10%", "p99_ms", ">", 10.0),
        ("  p99_ms > 10 % ", "p99_ms", ">", 10.0),
        ("okReqsPct<-0.5%", "okReqsPct", "<", -0.5),
        ("max > -0%", "max", ">", 0.0),
        ("peak_memory_bytes > 0%", "peak_memory_bytes", ">", 0.0),
    ],
)
def test_a_threshold_is_read(text: str, metric: str, operator: str, percent: float) -> None:
    read = threshold(text)
    assert (read.metric.name, read.operator, read.percent) == (metric, operator, percent)


@given(
    st.sampled_from([metric.name for metric in CRAWL_METRICS if metric.better is not Direction.NEITHER]),
    st.sampled_from("<>"),
    st.integers(-9999, 100_000).map(lambda hundredths: hundredths / 100),
)
def test_what_is_written_is_read_again(metric: str, operator: str, percent: float) -> None:
    read = threshold(f"{metric}{operator}{percent:.2f}%")
    assert threshold(read.text) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "right_per_s",
        "right_per_s -5%",
        "right_per_s < -5",
        "right_per_s <= -5%",
        "right_per_s = -5%",
        "right_per_s < five%",
        "right_per_s < 1e3%",
        f"right_per_s < {'9' * 400}%",
        "right_per_s < ٣%",
        "< -5%",
        "right_per_s < -5% p99 > 3%",
        "right_per_s <\n-5%; drop",
    ],
)
def test_another_form_is_refused_with_examples(text: str) -> None:
    with pytest.raises(InvalidValue) as error:
        threshold(text)
    assert "is not valid; write it like 'right_per_s < -5%' or 'p99 > +10%'" in error.value.line
    assert "\n" not in error.value.line


@pytest.mark.parametrize("text", ["right_per_s < -100%", "p99 > -250%"])
def test_a_threshold_without_meaning_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="always passes: give a change above -100 %"):
        threshold(text)


def test_a_metric_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(UnknownName) as error:
        threshold("rightPerSek < -5%")
    assert "did you mean 'right_per_s'?" in error.value.line


@pytest.mark.parametrize(
    ("text", "low", "high", "passed"),
    [
        ("right_per_s < -5%", -9.0, -6.0, True),
        # The estimate is beyond, the interval is not.
        ("right_per_s < -5%", -9.0, -4.0, False),
        ("right_per_s < -5%", -4.0, -1.0, False),
        ("right_per_s < -5%", 6.0, 9.0, False),
        ("right_per_s > +5%", 6.0, 9.0, True),
        ("right_per_s > +5%", 4.0, 9.0, False),
        ("right_per_s > +5%", -9.0, -6.0, False),
        ("right_per_s < 0%", -2.0, -1.0, True),
        ("right_per_s < -5%", -9.0, -4.99, False),
    ],
)
def test_the_whole_interval_has_to_be_beyond(text: str, low: float, high: float, passed: bool) -> None:
    assert threshold(text).passed_by(comparison(low, high)) is passed


def test_a_change_that_many_comparisons_explain_passes_nothing() -> None:
    chance = comparison(-9.0, -6.0, p_adjusted=0.4, difference=Difference.UNDECIDED)
    assert not threshold("right_per_s < -5%").passed_by(chance)


def test_a_required_improvement_can_be_missed_without_any_change() -> None:
    same = comparison(-1.0, 2.0, p_adjusted=0.8, difference=Difference.UNDECIDED)
    assert threshold("right_per_s < +5%").passed_by(same)
    assert not threshold("right_per_s < +1%").passed_by(same)


def test_a_metric_without_a_better_side_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(InvalidValue) as error:
        threshold("wire_bytes > 10%")
    assert "wire_bytes has no direction; choose from: time, avg, max, okReqsSec" in (error.value.line)
    with pytest.raises(UnknownName) as unknown:
        threshold("totalUrs > 10%")
    assert unknown.value.line.startswith("there is no metric 'totalUrs'; choose from: time, avg, max, okReqsSec")
    assert not {"totalUrls", "wire_bytes", "connections"} & set(re.findall(r"\w+", unknown.value.line))
    with pytest.raises(InvalidValue, match="choose a metric with a direction"):
        Threshold(find_metric(CRAWL_METRICS, "wire_bytes"), ">", 10.0)


@pytest.mark.parametrize(
    ("text", "difference", "passed"),
    [
        ("right_per_s < -5%", Difference.WORSE, True),
        ("right_per_s < -5%", Difference.BETTER, False),
        ("right_per_s < -5%", Difference.UNDECIDED, False),
        ("right_per_s > 5%", Difference.BETTER, True),
        ("p99 > 10%", Difference.WORSE, True),
        ("p99 < -10%", Difference.BETTER, True),
        ("p99 > 10%", Difference.BETTER, False),
    ],
)
def test_to_sink_to_nothing_and_to_rise_from_nothing_is_beyond_everything(
    text: str, difference: Difference, passed: bool
) -> None:
    zero = comparison(None, None, difference=difference, metric=text.split()[0])
    assert threshold(text).passed_by(zero) is passed


def test_nothing_is_passed_where_nothing_is_known() -> None:
    unknown = comparison(None, None, p_adjusted=None, difference=Difference.UNDECIDED)
    assert not any(threshold(text).passed_by(unknown) for text in ("right_per_s < 5%", "right_per_s > -99%"))


@given(
    low=st.floats(-99, 300),
    width=st.floats(0, 100),
    percent=st.floats(-99, 300),
    operator=st.sampled_from(["<", ">"]),
)
def test_whatever_is_passed_lies_beyond(low: float, width: float, percent: float, operator: str) -> None:
    metric = find_metric(CRAWL_METRICS, "right_per_s")
    limit = Threshold(metric, "<" if operator == "<" else ">", percent)
    other_side = Threshold(metric, ">" if operator == "<" else "<", percent)
    compared = comparison(low, low + width)
    assert compared.ratio is not None
    bound = compared.ratio.high if operator == "<" else compared.ratio.low
    change = (bound - 1) * 100
    assert limit.passed_by(compared) is (change < percent if operator == "<" else change > percent)
    assert not (limit.passed_by(compared) and other_side.passed_by(compared))
