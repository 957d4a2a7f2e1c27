"""Thresholds: what is read, what is refused, when one is passed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue, UnknownName
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.judge import find_metric
from httpdyno.judge.threshold import Threshold, parse_threshold
from httpdyno.model import Comparison, Difference, Direction, Interval


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
    assert "is not understood; write it like 'right_per_s < -5%' or 'p99 > +10%'" in error.value.line
    assert "\n" not in error.value.line


@pytest.mark.parametrize("text", ["right_per_s < -100%", "p99 > -250%"])
def test_what_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="says nothing: give a change above -100 %"):
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


def test_an_improvement_that_is_asked_for_can_be_missed_without_any_change() -> None:
    same = comparison(-1.0, 2.0, p_adjusted=0.8, difference=Difference.UNDECIDED)
    assert threshold("right_per_s < +5%").passed_by(same)
    assert not threshold("right_per_s < +1%").passed_by(same)


def test_a_metric_without_a_better_side_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(InvalidValue) as error:
        threshold("wire_bytes > 10%")
    assert "wire_bytes is neither better nor worse when it is higher; choose one of: time, avg, max, okReqsSec" in (
        error.value.line
    )
    with pytest.raises(UnknownName) as unknown:
        threshold("totalUrs > 10%")
    assert unknown.value.line.startswith("there is no metric 'totalUrs'; known are: time, avg, max, okReqsSec")
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
