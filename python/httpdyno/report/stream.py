"""Frames as text: rows written piece by piece as CSV or JSON, or a table to be read."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time
from typing import Any, Final

import polars as pl

from httpdyno.model import Cell, Column, ColumnKind, Note, Table
from httpdyno.report.cell import CONTROLS, without_controls

STREAMED: Final = ("csv", "json")
"""The formats that can be written piece by piece: their first line does not depend on later rows."""

_ROWS_AT_ONCE: Final = 1000


def stream(columns: Mapping[str, pl.DataType], batches: Iterable[pl.DataFrame], name: str) -> Iterator[str]:
    """Write rows as CSV or JSON, by the name of the format, in pieces that end with a line feed.

    CSV is that of RFC 4180: an unknown value is empty, an empty text is ``""``, lists and structures as
    JSON; the names of the columns are written also when there are no rows. JSON is a list of objects, one a line;
    infinite numbers and NaN become null.
    """
    yield from _csv(columns, batches) if name == "csv" else _json(batches)


def _csv(columns: Mapping[str, pl.DataType], batches: Iterable[pl.DataFrame]) -> Iterator[str]:
    head = io.StringIO(newline="")
    csv.writer(head, lineterminator="\n").writerow([without_controls(name) for name in columns])
    # The names are written with the first rows, so that nothing is written if reading these fails.
    before = head.getvalue()
    for batch in batches:
        rows = batch.select(_csv_column(column) for column in batch.iter_columns())
        yield before + rows.write_csv(include_header=False)
        before = ""
    if before:
        yield before


def _csv_column(column: pl.Series) -> pl.Series:
    write: Callable[[Any], str] = str
    if column.dtype.is_nested():
        write = _json_text
    elif isinstance(column.dtype, pl.Enum | pl.Categorical | pl.String):
        column = column.cast(pl.String)
        if not column.str.contains(f"[{CONTROLS}]").any():
            return column
        write = without_controls
    elif not isinstance(column.dtype, pl.Binary | pl.Duration | pl.Object):
        return column
    texts = [None if value is None else write(value) for value in column.to_list()]
    return pl.Series(column.name, texts, pl.String())


def _json(batches: Iterable[pl.DataFrame]) -> Iterator[str]:
    before = "[\n"
    for batch in batches:
        for piece in batch.iter_slices(_ROWS_AT_ONCE):
            yield before + ",\n".join(map(_json_text, piece.iter_rows(named=True)))
            before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _json_text(value: object) -> str:
    """Write a value of a column as JSON, however it is nested; control characters are escaped."""
    try:
        return _ENCODER.encode(value)
    except ValueError:
        return _ENCODER.encode(_finite(value))


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_finite(entry) for entry in value]
    return {key: _finite(entry) for key, entry in value.items()} if isinstance(value, dict) else value


def _plain(value: Any) -> str:  # noqa: ANN401  # any type without a form in JSON
    return value.isoformat() if isinstance(value, datetime | date | time) else str(value)


# Made once: `json.dumps` would make one for each of ten million rows.
_ENCODER: Final = json.JSONEncoder(default=_plain, allow_nan=False)


LONGEST_TEXT: Final = 60
"""Characters of a list or structure that are shown: the throughput of a trial has hundreds of entries."""


def frame_table(frame: pl.DataFrame, notes: tuple[str, ...] = ()) -> Table:
    """Put the rows of a frame into a table: numbers with all digits, lists and structures as shortened JSON."""

    def kind(type_: pl.DataType) -> ColumnKind:
        if isinstance(type_, pl.Boolean):
            return ColumnKind.BOOLEAN
        return ColumnKind.INTEGER if type_.is_integer() else ColumnKind.NUMBER if type_.is_float() else ColumnKind.TEXT

    columns = tuple(Column(name, kind(type_)) for name, type_ in frame.schema.items())
    return Table(columns, tuple(tuple(map(_cell, row)) for row in frame.iter_rows()), notes=tuple(map(Note, notes)))


def _cell(value: object) -> Cell:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    text = _json_text(value)
    if not isinstance(value, list | dict):
        return text.strip('"')
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
