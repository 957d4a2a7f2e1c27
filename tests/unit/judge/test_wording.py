"""Sentences of a comparison."""

import pytest

from httpdyno.experiments.cost.present import COST_METRICS
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.judge import find_metric
from httpdyno.judge.wording import change_text, comparison_text, difference_text
from httpdyno.model import Comparison, Difference, Interval

BETTER, WORSE, UNDECIDED = Difference.BETTER, Difference.WORSE, Difference.UNDECIDED


@pytest.mark.parametrize(
    ("estimate", "low", "high", "text"),
    [
        (1.053, 1.012, 1.096, "+5.3 % (+1.2 % to +9.6 %)"),
        (0.5, 0.25, 0.998, "-50.0 % (-75.0 % to -0.2 %)"),
        (1.0, 0.99999, 1.00001, "+0.0 % (+0.0 % to +0.0 %)"),
        (12.0, 1.9996, 21.5, "+1,100 % (+100.0 % to +2,050 %)"),
    ],
)
def test_a_change_is_written_in_percent(estimate: float, low: float, high: float, text: str) -> None:
    assert change_text(Interval(estimate, low, high, 0.95)) == text


@pytest.mark.parametrize(
    ("metric", "difference", "text"),
    [
        ("right_per_s", BETTER, "faster"),
        ("right_per_s", WORSE, "slower"),
        ("p99", BETTER, "shorter"),
        ("p99", WORSE, "longer"),
        ("cpu_user_ms", WORSE, "longer"),
        ("real", BETTER, "shorter"),
        ("mbPerSec", BETTER, "faster"),
        ("peak_memory_bytes", BETTER, "less"),
        ("peak_memory_bytes", WORSE, "more"),
        ("okReqsPct", BETTER, "higher"),
        ("okReqsPct", WORSE, "lower"),
        ("right_per_s", UNDECIDED, "no difference shown"),
        ("p99", UNDECIDED, "no difference shown"),
    ],
)
def test_a_difference_is_said_in_the_words_of_its_unit(metric: str, difference: Difference, text: str) -> None:
    comparison = Comparison("a", "b", metric, None, None, None, difference, 5, paired=True)
    assert difference_text(comparison, find_metric((*CRAWL_METRICS, *COST_METRICS), metric)) == text


@pytest.mark.parametrize(
    ("name", "difference", "said"),
    [
        ("right_per_s", Difference.WORSE, "a is slower than b: right_per_s +9.2 % (95 %: +7.1 to +11.4 %)"),
        ("right_per_s", Difference.BETTER, "a is faster than b: right_per_s +9.2 % (95 %: +7.1 to +11.4 %)"),
        ("cpu_per_right_ms", Difference.WORSE, "a is slower than b: cpu_per_right_ms +9.2 % (95 %: +7.1 to +11.4 %)"),
        (
            "peak_memory_bytes",
            Difference.WORSE,
            "a needs more than b: peak_memory_bytes +9.2 % (95 %: +7.1 to +11.4 %)",
        ),
        ("okReqsPct", Difference.WORSE, "a is worse than b: okReqsPct +9.2 % (95 %: +7.1 to +11.4 %)"),
        (
            "right_per_s",
            Difference.UNDECIDED,
            "no difference shown between a and b: right_per_s +9.2 % (95 %: +7.1 to +11.4 %)",
        ),
    ],
)
def test_a_comparison_is_a_sentence(name: str, difference: Difference, said: str) -> None:
    ratio = Interval(1.092, 1.071, 1.114, 0.95)
    comparison = Comparison("a", "b", name, ratio, 0.01, 0.01, difference, 5, paired=True)
    assert comparison_text(comparison, find_metric(CRAWL_METRICS, name), "a", "b") == said
