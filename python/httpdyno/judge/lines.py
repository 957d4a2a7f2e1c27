"""The lines that a client printed, as the engine has read them."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl

from httpdyno.judge.engine_csv import read_engine_csv

__all__ = ["LINE_COLUMNS", "Lines", "read_lines"]

LINE_COLUMNS: Final[dict[str, pl.DataType]] = {
    "line": pl.Int32(),
    "url": pl.String(),
    "code": pl.String(),
    "status": pl.Int16(),
    "start_ns": pl.Int64(),
    "precision_ns": pl.Int64(),
    "duration_ns": pl.Int64(),
    "body_length": pl.Int64(),
}

_GARBAGE_ROWS: Final = 4


@dataclass(frozen=True, slots=True)
class Lines:
    """What a client printed.

    Attributes
    ----------
    frame : pl.DataFrame
        One row for each line that is a result, with the columns of ``LINE_COLUMNS``, in the order printed.
    garbage : int
        Lines that are no result; empty lines are not counted.
    garbage_examples : tuple[str, ...]
        The first of them, cut to a readable length.
    """

    frame: pl.DataFrame
    garbage: int
    garbage_examples: tuple[str, ...]


def read_lines(source: Path | BinaryIO) -> Lines:
    """Read the CSV of ``engine lines``."""
    rows = read_engine_csv(source, LINE_COLUMNS, "lines")
    # Behind the results are the first lines that are none, and then their count.
    *examples, (count, _) = rows.tail(_GARBAGE_ROWS).filter(pl.col("start_ns").is_null()).select("line", "url").rows()
    frame = rows.head(len(rows) - len(examples) - 1)
    return Lines(frame, count, tuple(text for _, text in examples))
