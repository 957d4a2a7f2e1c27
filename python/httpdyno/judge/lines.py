"""Lines of a client, as read by the engine; and the line of a client that times its own calls."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl
from pydantic import BaseModel, ConfigDict, ValidationError

from httpdyno.errors import EngineFailed, InvalidValue, UnreadableReport
from httpdyno.installation import RENEW_ENGINE
from httpdyno.model.timed_calls import TimedAnswer, TimedCalls


def read_engine_csv(source: Path | BinaryIO, columns: dict[str, pl.DataType], what: str) -> pl.DataFrame:
    """Read some columns of a CSV file; an empty file has no rows."""
    try:
        # In one chunk: selecting texts from many chunks takes twenty times as long.
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
    """Lines that a client printed, and its unreadable output.

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
    # After the results come the first unreadable lines, then their count.
    *examples, (count, _) = rows.tail(_GARBAGE_ROWS).filter(pl.col("start_ns").is_null()).select("line", "url").rows()
    frame = rows.head(len(rows) - len(examples) - 1)
    return Lines(frame, count, tuple(text for _, text in examples))


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Answer(_Section):
    code: str
    body_length: int
    calls: int


class _Line(_Section):
    outcome: str
    loops: int | None
    calls_per_loop: int
    runs_ns: list[int]
    cpu_user_ns: list[int]
    cpu_system_ns: list[int]
    answers: list[_Answer]


def read_harness_line(printed: str) -> TimedCalls:
    """Read what a client printed with ``HARNESS=timeit``.

    Raises ``UnreadableReport`` unless it is the one line of the contract and does not contradict itself.
    """
    lines = printed.splitlines()
    if len(lines) != 1:
        raise UnreadableReport(f"HARNESS=timeit: {len(lines)} lines printed, where there must be one")
    try:
        line = _Line.model_validate_json(lines[0])
        return TimedCalls(
            line.outcome,
            line.loops,
            line.calls_per_loop,
            tuple(line.runs_ns),
            tuple(line.cpu_user_ns),
            tuple(line.cpu_system_ns),
            tuple(TimedAnswer(answer.code, answer.body_length, answer.calls) for answer in line.answers),
        )
    except ValidationError as error:
        detail = error.errors()[0]
        key = ".".join(map(str, detail["loc"]))
        raise UnreadableReport(f"HARNESS=timeit: {f'{key}: ' if key else ''}{detail['msg']}") from None
    except InvalidValue as error:
        raise UnreadableReport(f"HARNESS=timeit: {error}") from error
