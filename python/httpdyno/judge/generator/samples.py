"""What our own generator writes down of each request, as columns."""

from typing import Final

import polars as pl

__all__ = ["SAMPLE_COLUMNS"]

SAMPLE_COLUMNS: Final = {
    "intended_ns": pl.Int64(),
    "sent_ns": pl.Int64(),
    "first_byte_ns": pl.Int64(),
    "end_ns": pl.Int64(),
    "status_or_error": pl.String(),
    "content_bytes": pl.Int64(),
    "connection": pl.Int64(),
    "url": pl.String(),
}
"""Of ``load --samples``, in their order; times count from the start of the load."""
