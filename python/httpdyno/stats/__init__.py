"""Statistics as pure functions of numbers."""

from httpdyno.stats.boundary import Check
from httpdyno.stats.frontier import ColumnBoundary, FrontierCheck, FrontierSearch, FrontierStep
from httpdyno.stats.multiple_comparisons import adjust_all_pairs, all_pairs_p, compare_all_pairs, holm
from httpdyno.stats.optimum_search import Observation, OptimumSearch, Point, Standing, summarise_loads
from httpdyno.stats.ratio import FEWEST_BLOCKS, Effect, LogRatio, paired_effect, unpaired_effect
from httpdyno.stats.scalability import NotEnoughPoints, ScalabilityLaw, fit_scalability
from httpdyno.stats.summary import (
    BoolArray,
    FloatArray,
    Int64Array,
    median,
    median_interval,
    nearest_rank,
    percentile,
)
