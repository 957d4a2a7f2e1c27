"""The requests that were open when a load ended: the generator writes those down that ended, and these are the rest."""

import numpy as np
import polars as pl

from httpdyno.experiments.service.figures import ServicePoint
from httpdyno.experiments.service.judge.steady import OPEN
from httpdyno.experiments.service.judge.stretch import ramp_ns
from httpdyno.model import Loop

__all__ = ["with_open"]


def with_open(samples: pl.DataFrame, point: ServicePoint, *, sent_ns: int) -> pl.DataFrame:
    """Add a row for each request that was due and had not ended at the end of the load.

    In a closed loop each connection has one, since when its last answer came; one without an answer, since it began. In
    an open loop the schedule names all that were due.

    ``samples`` have ``intended_ns``, ``end_ns``, ``status_or_error`` and ``connection``; the result has them but for
    the connection. ``sent_ns`` is for how long the generator sent.
    """
    begins = _in_turns(samples, point) if point.loop is Loop.CLOSED else _on_schedule(samples, point, sent_ns)
    begins = begins[begins < sent_ns]
    still = pl.DataFrame(
        {
            "intended_ns": begins,
            "end_ns": np.full(len(begins), sent_ns, dtype=np.int64),
            "status_or_error": pl.Series([OPEN] * len(begins), dtype=pl.String()),
        }
    )
    return pl.concat([samples.select(still.columns), still])


_Times = np.ndarray[tuple[int], np.dtype[np.int64]]


def _in_turns(samples: pl.DataFrame, point: ServicePoint) -> _Times:
    numbers = np.arange(point.connections, dtype=np.int64)
    since = numbers * ramp_ns(point) // point.connections
    ended = samples.group_by("connection").agg(pl.col("end_ns").max())
    since[ended["connection"].to_numpy()] = ended["end_ns"].to_numpy()
    return since


def _on_schedule(samples: pl.DataFrame, point: ServicePoint, sent_ns: int) -> _Times:
    """Return when those were due that the samples do not have; the schedule is even."""
    assert point.rate_per_s is not None, "an open loop has a rate"
    due = np.arange(int(np.ceil(sent_ns * point.rate_per_s / 1e9)), dtype=np.int64)
    ended = np.rint(samples["intended_ns"].to_numpy() * point.rate_per_s / 1e9).astype(np.int64)
    missing = np.setdiff1d(due, ended)
    begins: _Times = np.rint(missing * 1e9 / point.rate_per_s).astype(np.int64)
    return begins
