"""Comparisons in words: the change in percent and its direction."""

from collections.abc import Sequence
from typing import Final

from httpdyno.model import Comparison, Difference, Direction, Interval, Metric

NAMED_AT_MOST: Final = 3
"""Most names that a sentence lists."""

NO_DIFFERENCE: Final = "no difference shown"
"""Not "equal", because no measurement can show equality."""
_RATES: Final = ("1/s", "MB/s")
_TIMES: Final = ("s", "ms", "us", "ns")
_WORDS: Final = {
    **dict.fromkeys(_RATES, ("faster", "slower")),
    "bytes": ("more", "less"),
    **dict.fromkeys(_TIMES, ("longer", "shorter")),
}
_THAN: Final = {
    **dict.fromkeys(_RATES, ("is faster than", "is slower than")),
    **dict.fromkeys(_TIMES, ("is slower than", "is faster than")),
    "bytes": ("needs more than", "needs less than"),
}
_WHOLE_FROM: Final = 100


def change_text(ratio: Interval) -> str:
    """Write a ratio as a change with its interval: ``+5.3 % (+1.2 % to +9.6 %)``."""
    return f"{_percent(ratio.estimate)} ({_percent(ratio.low)} to {_percent(ratio.high)})"


def difference_text(comparison: Comparison, metric: Metric) -> str:
    """Describe how the subject differs from the baseline, in words that fit the metric's unit.

    A rate is faster or slower, a time longer or shorter, a size more or less, anything else higher or lower.
    """
    if comparison.difference is Difference.UNDECIDED:
        return NO_DIFFERENCE
    rises = (comparison.difference is Difference.BETTER) is (metric.better is Direction.HIGHER)
    return _WORDS.get(metric.column.unit, ("higher", "lower"))[0 if rises else 1]


def comparison_text(
    comparison: Comparison, metric: Metric, subject: str, baseline: str, *, interval: bool = True
) -> str:
    """Describe a comparison: ``a is slower than b: cpu_per_right_ms +9.2 % (95 %: ...)``.

    A rate that is higher and a time that is shorter are faster; a size is more or less; any other figure is better or
    worse.
    """
    if comparison.difference is Difference.UNDECIDED:
        relation = f"{NO_DIFFERENCE} between {subject} and {baseline}"
    else:
        better = comparison.difference is Difference.BETTER
        rises = better is (metric.better is Direction.HIGHER)
        words = _THAN.get(metric.column.unit)
        verb = words[0 if rises else 1] if words else f"is {'better' if better else 'worse'} than"
        relation = f"{subject} {verb} {baseline}"
    change, ratio = "", comparison.ratio
    if ratio is not None:
        low = _percent(ratio.low).removesuffix(" %")
        bounds = f" ({ratio.level * 100:g} %: {low} to {_percent(ratio.high)})" if interval else ""
        change = f" {_percent(ratio.estimate)}{bounds}"
    return f"{relation}: {metric.name}{change}"


def listed(words: Sequence[str]) -> str:
    """Join words as in a sentence: ``A, B and C``."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def some_of(words: Sequence[str]) -> str:
    """Join the first few of many: ``A, B, C and 7 more``."""
    if len(words) <= NAMED_AT_MOST:
        return listed(words)
    return f"{', '.join(words[:NAMED_AT_MOST])} and {len(words) - NAMED_AT_MOST} more"


def _percent(ratio: float) -> str:
    percent = (ratio - 1) * 100
    if abs(percent) >= _WHOLE_FROM:
        return f"{percent:+,.0f} %"
    # Adding zero removes the sign of values that round to zero.
    return f"{round(percent, 1) + 0.0:+.1f} %"
