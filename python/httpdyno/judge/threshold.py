"""A threshold of a comparison, ``right_per_s < -5%``: how it is read, and when it is passed."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from httpdyno.errors import InvalidValue
from httpdyno.judge.pair import find_rankable, rankable
from httpdyno.model import Comparison, Difference, Direction, Metric, format_exact

__all__ = ["Threshold", "parse_threshold"]

_FORM: Final = re.compile(
    r"(?P<metric>[^\s<>=]+)\s*(?P<operator>[<>])\s*(?P<percent>[+-]?\d{1,9}(\.\d{1,9})?)\s*%", re.ASCII
)
_EXAMPLES: Final = "write it like 'right_per_s < -5%' or 'p99 > +10%'"


@dataclass(frozen=True, slots=True)
class Threshold:
    """How far a metric may go from that of the baseline."""

    metric: Metric
    operator: Literal["<", ">"]
    percent: float
    """The change from the baseline: -5 is 5 % less."""

    def __post_init__(self) -> None:
        """Refuse what would say nothing about any measurement."""
        rankable(self.metric)
        if not self.percent > -100:
            raise InvalidValue(f"threshold {self.text!r} says nothing: give a change above -100 %")

    @property
    def text(self) -> str:
        """Write it as it is given, in its shortest form: ``right_per_s < -5%``."""
        sign = "" if self.percent < 0 else "+"
        return f"{self.metric.name} {self.operator} {sign}{format_exact(self.percent)}%"

    def passed_by(self, comparison: Comparison) -> bool:
        """Return whether a change is beyond the threshold with confidence.

        The whole interval of the change has to lie beyond it. Where "no change" does not, which is what thresholds are
        mostly for, the change itself must be shown too, after the correction for the number of comparisons: among
        twenty subjects that are as they were, one interval lies off zero by chance. The comparison has to be by the
        threshold's own metric.
        """
        low, high = self._changes(comparison)
        beyond = self._beyond(high if self.operator == "<" else low)
        return beyond and (self._beyond(0.0) or comparison.difference is not Difference.UNDECIDED)

    def _beyond(self, percent: float) -> bool:
        return percent < self.percent if self.operator == "<" else percent > self.percent

    def _changes(self, comparison: Comparison) -> tuple[float, float]:
        """Return the bounds of the change in percent; not a number, which nothing is beyond, where nothing is known."""
        if comparison.ratio is not None:
            return (comparison.ratio.low - 1) * 100, (comparison.ratio.high - 1) * 100
        if comparison.difference is Difference.UNDECIDED:
            return math.nan, math.nan
        # All of one side is 0, which has no ratio: a change by all of it, or by any number of times.
        rises = (comparison.difference is Difference.BETTER) is (self.metric.better is Direction.HIGHER)
        change = math.inf if rises else -100.0
        return change, change


def parse_threshold(text: str, metrics: Iterable[Metric]) -> Threshold:
    """Read ``METRIC < PERCENT%`` or ``METRIC > PERCENT%``; spaces are free, and the sign of a rise may be left out."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InvalidValue(f"threshold {text[:60]!r} is not understood; {_EXAMPLES}")
    metric = find_rankable(metrics, match["metric"])
    # Adding zero takes the sign off -0.
    return Threshold(metric, "<" if match["operator"] == "<" else ">", float(match["percent"]) + 0.0)
