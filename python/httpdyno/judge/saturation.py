"""Whether a client was out of CPU time while it had URLs left: then its own timeouts have a known cause."""

from typing import Final

import polars as pl

from httpdyno.model import Counters, Verdict

__all__ = ["SATURATED_SHARE", "TIMED_OUT_SATURATED", "is_saturated", "name_timeouts"]

SATURATED_SHARE: Final = 0.85
"""A client is saturated when it used this share of its CPUs until the last URL was started."""
TIMED_OUT_SATURATED: Final = "timeout_when_saturated"
"""Cause of an honest answer that a saturated client gave up at its timeout; a ``known_failure`` may name it."""
_OWN_TIMEOUT_SHARE: Final = 0.98


def is_saturated(starts_ns: pl.Series, counters: Counters, *, concurrency: int) -> bool:
    """Return whether the client had no CPU time to spare while its list lasted.

    Processor time is known of the whole trial only; it counts evenly for each URL, so that what was spent on the last
    ``concurrency`` URLs, which end after the last start, is left out. A list no longer than that is never saturated.
    ``starts_ns`` is Unix time and may hold nulls. Where CPU time was not counted, nobody is saturated.
    """
    started_at_ns, cpu_ns = counters.started_at_ns, counters.cpu_ns
    last_start = starts_ns.drop_nulls()
    if started_at_ns is None or cpu_ns is None or last_start.is_empty():
        return False
    lasted_ns = int(last_start.to_numpy().max()) - started_at_ns
    cpus = len(counters.subject_cpus) or 1
    spent_ns = cpu_ns * max(1 - concurrency / len(last_start), 0)
    return lasted_ns > 0 and spent_ns > 0 and spent_ns >= SATURATED_SHARE * lasted_ns * cpus


def name_timeouts(samples: pl.DataFrame, cause: str, *, timeout_ns: int) -> pl.DataFrame:
    """Name the cause of false errors that lasted as long as the client's timeout."""
    own_timeout = (pl.col("verdict").cast(pl.String) == Verdict.FALSE_ERROR.value) & (
        pl.col("duration_ns") >= round(_OWN_TIMEOUT_SHARE * timeout_ns)
    )
    named = pl.when(own_timeout.fill_null(False)).then(pl.lit(cause)).otherwise(pl.col("cause"))
    return samples.with_columns(cause=named)
