"""A frame of any columns as a table for people."""

from typing import Final

import polars as pl

from httpdyno.model import Cell, Column, ColumnKind, Note, Table
from httpdyno.report.stream import json_text

__all__ = ["LONGEST_TEXT", "frame_table"]

LONGEST_TEXT: Final = 60
"""Characters of a list or structure that are shown: the throughput of a trial has hundreds of entries."""


def frame_table(frame: pl.DataFrame, notes: tuple[str, ...] = ()) -> Table:
    """Put the rows of a frame into a table: numbers in all their digits, lists and structures as shortened JSON."""
    columns = tuple(Column(name, _kind(type_)) for name, type_ in frame.schema.items())
    rows = tuple(tuple(_cell(value) for value in row) for row in frame.iter_rows())
    return Table(columns, rows, notes=tuple(Note(note) for note in notes))


def _kind(type_: pl.DataType) -> ColumnKind:
    if isinstance(type_, pl.Boolean):
        return ColumnKind.BOOLEAN
    if type_.is_integer():
        return ColumnKind.INTEGER
    return ColumnKind.NUMBER if type_.is_float() else ColumnKind.TEXT


def _cell(value: object) -> Cell:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    text = json_text(value)
    if not isinstance(value, list | dict):
        return text.strip('"')
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
