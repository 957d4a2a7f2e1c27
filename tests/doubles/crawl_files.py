"""The files of a trial of a crawl, generated column by column: for any number of URLs, without running it."""

from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

START_NS: Final = 1729512000 * 10**9
"""2024-10-21T12:00:00Z."""
_EVERY_NS: Final = 60_000
"""From the start of one URL to that of the next."""
_US: Final = 1000


def write_expectations(path: Path, count: int) -> None:
    """Write the output of ``engine expect`` for a list: one URL in fifty has a comma, one in ten is an error."""
    fault = pl.col("number") % 10 == 9
    _urls(count).select(
        "url",
        outcome=pl.when(fault).then(pl.lit("error")).otherwise(pl.lit("status")),
        status=pl.when(~fault).then(200),
        length=pl.when(~fault).then(pl.col("number") % 65536),
        cause=pl.when(fault).then(pl.lit("stall_tls")),
        arrives=(~fault).cast(pl.Int8),
        request_url="request_url",
        requests=(~fault).cast(pl.Int8),
        planned_ms=pl.when(~fault).then(4.5),
    ).write_csv(path)


def write_trial(folder: Path, count: int, *, seed: int = 1) -> None:
    """Write ``output`` and ``arrivals.csv`` of a client that is right but for two URLs in a thousand.

    It prints URLs as they end. For the second of each thousand it prints a wrong status; the third arrived at the
    origin at another time than it claims. The seed makes the durations, and so the order.
    """
    urls = _crawled(count, seed)
    fault = pl.col("number") % 10 == 9
    wrong_status, wrong_time = pl.col("number") % 1000 == 1, pl.col("number") % 1000 == 2
    urls.sort(pl.col("start_us") + pl.col("duration_us")).select(
        "url",
        code=pl.when(fault)
        .then(pl.lit("ConnectTimeout"))
        .when(wrong_status)
        .then(pl.lit("404"))
        .otherwise(pl.lit("200")),
        start=pl.from_epoch("start_us", time_unit="us").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00"),
        duration=pl.col("duration_us") / 1000,
        length=pl.when(~fault).then(pl.col("number") % 65536),
    ).write_csv(folder / "output", include_header=False, quote_style="never")
    at_us = pl.col("start_us") + pl.when(wrong_time).then(10**9).otherwise(50)
    urls.filter(~fault).select(
        at_ns=at_us * _US,
        done_ns=(at_us + pl.col("duration_us") // 2) * _US,
        connection=pl.col("number") % 999,
        url="request_url",
        status=200,
    ).write_csv(folder / "arrivals.csv")


def _urls(count: int) -> pl.DataFrame:
    number = pl.int_range(count, eager=True).alias("number")
    host = pl.format("https://www.host-{}.example", pl.col("number").cast(pl.String).str.zfill(7))
    comma = pl.col("number") % 50 == 0
    return pl.DataFrame(number).select(
        "number",
        url=pl.when(comma).then(host + "/a,b").otherwise(host),
        request_url=pl.when(comma).then(host + "/a,b").otherwise(host + "/"),
    )


def _crawled(count: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    taken_us = np.minimum(random.lognormal(mean=10 + seed / 10, sigma=1, size=count), 4.9e6).astype(np.int64)
    start_us = START_NS // _US + np.arange(count) * (_EVERY_NS // _US)
    fault = pl.col("number") % 10 == 9
    return _urls(count).with_columns(
        start_us=pl.Series(start_us),
        duration_us=pl.when(fault).then(5_000_125).otherwise(pl.Series(taken_us + 1000)),
    )
