"""CSV (RFC 4180): a header and one line a row, with raw numbers and all columns, also hidden ones."""

import csv
import io

from httpdyno.model import Cell, Table
from httpdyno.report.cell import without_controls
from httpdyno.report.formats import Surface


def render(table: Table, _surface: Surface) -> str:
    """Write a table as CSV; unknown values are empty, notes are left out."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    writer.writerows([_cell(cell) for cell in row] for row in table.rows)
    return text.getvalue()


def _cell(cell: Cell) -> Cell:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return without_controls(cell) if isinstance(cell, str) else cell
