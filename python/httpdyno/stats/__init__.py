"""Statistics as pure functions of numbers."""

from httpdyno.stats.summary import DurationSummary, median, percentile, summarise_durations

__all__ = ["DurationSummary", "median", "percentile", "summarise_durations"]
