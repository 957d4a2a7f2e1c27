"""Statistics as pure functions of numbers."""

from httpdyno.stats.effect import Effect, paired_effect, unpaired_effect
from httpdyno.stats.histogram import RELATIVE_ERROR, Histogram
from httpdyno.stats.holm import holm
from httpdyno.stats.order import median_interval
from httpdyno.stats.power import relative_power, smallest_difference
from httpdyno.stats.ratio import (
    FEWEST_BLOCKS,
    constant_p,
    ratio_interval,
    ratio_p,
    unpaired_ratio_interval,
    unpaired_ratio_p,
)
from httpdyno.stats.scalability import NotEnoughPoints, ScalabilityLaw, fit_scalability
from httpdyno.stats.search import (
    Boundary,
    BoundarySearch,
    Check,
    Conclusion,
    Observation,
    OptimumSearch,
    Point,
    Reason,
    Standing,
    Step,
)
from httpdyno.stats.student import FloatArray
from httpdyno.stats.summary import DurationSummary, median, percentile, summarise_durations

__all__ = [
    "FEWEST_BLOCKS",
    "RELATIVE_ERROR",
    "Boundary",
    "BoundarySearch",
    "Check",
    "Conclusion",
    "DurationSummary",
    "Effect",
    "FloatArray",
    "Histogram",
    "NotEnoughPoints",
    "Observation",
    "OptimumSearch",
    "Point",
    "Reason",
    "ScalabilityLaw",
    "Standing",
    "Step",
    "constant_p",
    "fit_scalability",
    "holm",
    "median",
    "median_interval",
    "paired_effect",
    "percentile",
    "ratio_interval",
    "ratio_p",
    "relative_power",
    "smallest_difference",
    "summarise_durations",
    "unpaired_effect",
    "unpaired_ratio_interval",
    "unpaired_ratio_p",
]
