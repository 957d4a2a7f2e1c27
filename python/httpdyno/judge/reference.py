"""What the claims of a client are held against: what each URL must answer, and when requests arrived at the origin."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import polars as pl

from httpdyno.judge.engine_csv import read_engine_csv
from httpdyno.judge.expectations import Expectations

__all__ = ["Reference", "clock_bound_ns", "read_arrivals"]

_ARRIVED: Final[dict[str, pl.DataType]] = {"at_ns": pl.Int64(), "done_ns": pl.Int64(), "url": pl.String()}


@dataclass(frozen=True, slots=True)
class Reference:
    """What the claims of a client are held against.

    Attributes
    ----------
    expectations : Expectations
        What each URL must answer; the same for all trials of a condition.
    arrivals : pl.DataFrame | None
        As ``read_arrivals`` gives them; None where nothing was logged.
    clock_bound_ns : int
        By how much the stamps of arrivals may be off: those of another machine are moved to the clock of this one.
    planned_mean_ns : float | None
        Mean time that the web plans for a URL; None where it plans none.
    """

    expectations: Expectations
    arrivals: pl.DataFrame | None = None
    clock_bound_ns: int = 0
    planned_mean_ns: float | None = None


def read_arrivals(source: Path | BinaryIO) -> pl.DataFrame:
    """Read the log of arrivals at the origin.

    One row for each request: ``at_ns`` when its head was complete, ``done_ns`` when the call began that handed the last
    byte of the answer to the kernel (null if never), ``url``.
    """
    return read_engine_csv(source, _ARRIVED, "arrivals")


def clock_bound_ns(report: Mapping[str, Any]) -> int:
    """Return how well the stamps of another machine's origin are known on this machine's clock; 0 of an origin here."""
    against = report.get("against") or {}
    return int((against.get("clock") or {}).get("bound_ns", 0))
