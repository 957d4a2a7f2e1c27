"""Lines of a client, as read by the engine; and the line of a client that times its own calls."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl
from pydantic import TypeAdapter, ValidationError

from httpdyno.errors import EngineFailed, InvalidValue, UnreadableReport
from httpdyno.installation import RENEW_ENGINE
from httpdyno.model.timed_calls import TimedCalls


def read_engine_csv(source: Path | BinaryIO, columns: dict[str, pl.DataType], what: str) -> pl.DataFrame:
    """Read some columns of a CSV file; an empty file has no rows."""
    try:
        # In one chunk: selecting text from many chunks takes twenty times as long.
        return pl.read_csv(source, columns=list(columns), schema_overrides=columns).rechunk()
    except pl.exceptions.NoDataError:
        # For an empty list the engine writes nothing, not even a header.
        return pl.DataFrame(schema=columns)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EngineFailed(f"the engine's {what} cannot be read ({reason}): {RENEW_ENGINE}") from error


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
    """Lines that a client printed, and its unreadable output."""

    frame: pl.DataFrame
    """One row for each line that is a result, with the columns of ``LINE_COLUMNS``, in the order printed."""
    garbage: int
    """Number of lines that are not results; empty lines are not counted."""
    garbage_examples: tuple[str, ...]
    """The first of them, shortened."""


def read_lines(source: Path | BinaryIO) -> Lines:
    """Read the CSV of ``engine lines``."""
    rows = read_engine_csv(source, LINE_COLUMNS, "lines")
    # After the results come the first unreadable lines, then their count.
    *examples, (count, _) = rows.tail(_GARBAGE_ROWS).filter(pl.col("start_ns").is_null()).select("line", "url").rows()
    frame = rows.head(len(rows) - len(examples) - 1)
    return Lines(frame, count, tuple(text for _, text in examples))


_TIMED_CALLS: Final = TypeAdapter(TimedCalls)


def read_harness_line(printed: str) -> TimedCalls:
    """Read the output of a client with ``HARNESS=timeit``.

    Raises ``UnreadableReport`` unless it is the single line of the contract without contradictions.
    """
    lines = printed.splitlines()
    if len(lines) != 1:
        raise UnreadableReport(f"HARNESS=timeit: {len(lines)} lines printed instead of one")
    try:
        return _TIMED_CALLS.validate_json(lines[0])
    except ValidationError as error:
        detail = error.errors()[0]
        key = ".".join(map(str, detail["loc"]))
        raise UnreadableReport(f"HARNESS=timeit: {f'{key}: ' if key else ''}{detail['msg']}") from None
    except InvalidValue as error:
        raise UnreadableReport(f"HARNESS=timeit: {error}") from error
