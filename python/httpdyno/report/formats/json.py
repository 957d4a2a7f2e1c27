"""JSON: a list of objects, one a row, keyed by the names of all columns; and its JSON Schema."""

import json
import math
from typing import Any, Final

from httpdyno.model import FORMER_NAMES, Cell, Column, ColumnKind, Table
from httpdyno.report.formats import Surface


def render(table: Table, _surface: Surface) -> str:
    """Write a table as JSON; ``notes`` of each object are the lines that explain it.

    Columns that had another name in version 0.1 have it as a second key. Control characters are escaped, so that the
    text is safe on a terminal. Infinite numbers and NaN become null.
    """
    names = [column.name for column in table.columns]
    former = [(FORMER_NAMES[name], place) for place, name in enumerate(names) if name in FORMER_NAMES]
    objects = [
        dict(zip(names, map(_finite, row), strict=True))
        | {name: _finite(row[place]) for name, place in former if name not in names}
        | {"notes": [note.text for note in table.notes if note.row == index]}
        for index, row in enumerate(table.rows)
    ]
    return json.dumps(objects, indent=2, allow_nan=False) + "\n"


def _finite(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Final = {
    ColumnKind.TEXT: "string",
    ColumnKind.INTEGER: "integer",
    ColumnKind.SIZE: "integer",
    ColumnKind.BOOLEAN: "boolean",
}


_FURTHER: Final = "|".join(
    (
        r"_(published|ratio)$",
        r"^found(_(low_|high_)?per_s)?$|^find_steps$|^nodes$",
        r"\.(requests|errors|not_2xx|mean|p[0-9_]+|max|statuses|failures)$",
    )
)
"""Columns that a run may have besides: two for each published figure, five for a search, the
generators of a merged load, several for each label of a load."""


def experiment_schema(columns: tuple[Column, ...], experiment: str) -> str:
    """Write the schema of an experiment's table, as ``docs/reference`` publishes it."""
    return json.dumps(json_schema(columns, f"httpdyno {experiment} --format json"), indent=2) + "\n"


def json_schema(columns: tuple[Column, ...], title: str) -> dict[str, Any]:
    """Describe the JSON of tables with these columns: a list of objects, one a row; unknown values are null."""
    properties: dict[str, Any] = {column.name: _property(column) for column in columns}
    for column in columns:
        if (former := FORMER_NAMES.get(column.name)) and former not in properties:
            properties[former] = {**_property(column), "description": f"now {column.name}", "deprecated": True}
    properties["notes"] = {"description": "notes on the row", "type": "array", "items": {"type": "string"}}
    return {
        "$schema": DIALECT,
        "title": title,
        "type": "array",
        "items": {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            "patternProperties": {_FURTHER: {"type": ["number", "string", "null"]}},
            "additionalProperties": False,
        },
    }


def _property(column: Column) -> dict[str, Any]:
    words = ", ".join(filter(None, (column.description, column.unit)))
    described = {"description": words} if words else {}
    return {**described, "type": [_TYPES.get(column.kind, "number"), "null"]}
