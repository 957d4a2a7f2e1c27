"""The samples of a load, from the lines that the generator streamed, as columns of ``samples.parquet``."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import polars as pl

from httpdyno.credentials import without_credentials
from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE
from httpdyno.judge.tool_reports.httpdyno_load import SAMPLE_COLUMNS
from httpdyno.model import Sample, Verdict
from httpdyno.store import polars_schema

__all__ = ["load_samples"]


def load_samples(file: Path, number: int, started: datetime, *, url: Sequence[str] = ()) -> pl.DataFrame:
    """Read what the generator wrote for each request.

    The duration of a sample is its response time: it counts from when the request was due. Nobody knows what a server
    of the user's should answer, so that the verdict is ``unverified``.

    The times of a line count from ``started``; ``url``, nothing or one, stands for a line that names no URL.
    """
    begin_ns = int(started.timestamp() * 1_000_000) * 1000
    code = pl.col("status_or_error")
    status = code.cast(pl.Int16, strict=False)
    given = {
        "trial": pl.lit(number, pl.Int32()),
        "line": pl.col("line").cast(pl.Int32),
        "url": pl.col("url").fill_null(next(iter(url), "")).pipe(_without_credentials),
        "code": code,
        "status": status,
        "error": pl.when(status.is_null()).then(code),
        "start_ns": pl.col("intended_ns") + begin_ns,
        "duration_ns": pl.col("end_ns") - pl.col("intended_ns"),
        "body_length": pl.col("content_bytes"),
        "cause": pl.lit(None, pl.String()),
        "verdict": pl.lit(Verdict.UNVERIFIED.value),
        "served_status": pl.lit(None),
        "served_body_length": pl.lit(None),
        "explained": pl.lit(value=False),
    }
    columns = polars_schema(Sample)
    try:
        lines = pl.scan_csv(file, schema=SAMPLE_COLUMNS).with_row_index("line", offset=1)
        return lines.select(given[name].cast(type_).alias(name) for name, type_ in columns.items()).collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise EngineFailed(
            f"{file}: the samples cannot be read: {str(error).partition(chr(10))[0]}; {RENEW_ENGINE}"
        ) from error


def _without_credentials(urls: pl.Expr) -> pl.Expr:
    """Replace what is secret in URLs, of which there are few for many samples."""
    return urls.map_batches(
        lambda values: values.replace_strict(
            unique := values.unique(), pl.Series(map(without_credentials, unique), dtype=pl.String)
        ),
        return_dtype=pl.String,
    )
