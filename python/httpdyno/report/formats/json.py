"""JSON: a list of objects, one a row, keyed by the names of the columns, those that people are not shown included."""

import json
import math

from httpdyno.model import FORMER_NAMES, Cell, Table
from httpdyno.report.surface import Surface

__all__ = ["render"]


def render(table: Table, _surface: Surface) -> str:
    """Write a table as JSON; ``notes`` of each object are the lines that explain it.

    Columns that had another name in version 0.1 have it as a second key. Control characters are escaped, so that the
    text is safe on a terminal. What is not a finite number is null.
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
