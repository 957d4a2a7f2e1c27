"""The JSON Schema of a table: what ``--format json`` writes, for programs that read it."""

import json
from typing import Any, Final

from httpdyno.model import FORMER_NAMES, Column, ColumnKind

__all__ = ["DIALECT", "experiment_schema", "json_schema"]

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TYPES: Final = {
    ColumnKind.TEXT: "string",
    ColumnKind.INTEGER: "integer",
    ColumnKind.DECIMAL: "number",
    ColumnKind.DURATION: "number",
    ColumnKind.TIME: "number",
    ColumnKind.NUMBER: "number",
    ColumnKind.SIZE: "integer",
    ColumnKind.BOOLEAN: "boolean",
}


def experiment_schema(columns: tuple[Column, ...], experiment: str) -> str:
    """Write the schema of an experiment's table, as ``docs/reference`` publishes it."""
    return json.dumps(json_schema(columns, f"httpdyno {experiment} --format json"), indent=2) + "\n"


def json_schema(columns: tuple[Column, ...], title: str) -> dict[str, Any]:
    """Describe the JSON of tables with these columns: a list of objects, one a row; what is not known is null."""
    properties: dict[str, Any] = {column.name: _property(column) for column in columns}
    for column in columns:
        if (former := FORMER_NAMES.get(column.name)) and former not in properties:
            properties[former] = {**_property(column), "description": f"now {column.name}", "deprecated": True}
    properties["notes"] = {
        "description": "what has to be said about the row",
        "type": "array",
        "items": {"type": "string"},
    }
    return {
        "$schema": DIALECT,
        "title": title,
        "type": "array",
        "items": {
            "type": "object",
            "properties": properties,
            "required": list(properties),
            # Beside published figures a row has two further columns for each figure.
            "patternProperties": {"_(published|ratio)$": {"type": ["number", "string", "null"]}},
            "additionalProperties": False,
        },
    }


def _property(column: Column) -> dict[str, Any]:
    words = ", ".join(word for word in (column.description, column.unit) if word)
    described = {"description": words} if words else {}
    return {**described, "type": [_TYPES[column.kind], "null"]}
