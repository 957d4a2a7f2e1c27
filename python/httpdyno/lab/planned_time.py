"""How long a web plans to take for a list of URLs."""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE

__all__ = ["PlannedTime", "read_planned_time"]


@dataclass(frozen=True, slots=True)
class PlannedTime:
    """What a web plans for one pass through a list of URLs, for a client that costs no time itself."""

    total_s: float
    """Of all exchanges, one after the other; one that never ends counts with the client's timeout."""
    longest_s: float
    """Of the longest exchange."""
    urls: int = 0
    """How many exchanges there are."""

    @property
    def mean_ns(self) -> float | None:
        """The mean of an exchange; None where the plan has no time at all."""
        return self.total_s / self.urls * 1e9 if self.total_s else None

    def per_s(self, in_flight: int) -> float | None:
        """Return the URLs a second that the plan allows with so many in flight; None where it plans no time at all."""
        return self.urls * in_flight / self.total_s if self.total_s else None


def read_planned_time(expectations: Path, *, timeout_s: float) -> PlannedTime:
    """Add up what ``engine expect`` says of each URL."""
    planned_ms = pl.col("planned_ms").cast(pl.Float64).fill_null(timeout_s * 1000).clip(upper_bound=timeout_s * 1000)
    try:
        total_ms, longest_ms, urls = (
            pl.scan_csv(expectations, schema_overrides={"planned_ms": pl.Float64})
            .select(planned_ms.sum().alias("total"), planned_ms.max().alias("longest"), pl.len().alias("urls"))
            .collect()
            .row(0)
        )
    except pl.exceptions.NoDataError:
        return PlannedTime(0.0, 0.0)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).partition("\n")[0]
        raise EngineFailed(f"the engine's expectations cannot be read ({reason}): {RENEW_ENGINE}") from error
    return PlannedTime(total_ms / 1000, (longest_ms or 0.0) / 1000, urls)
