"""Plain text: aligned columns without lines or colours, and the notes under them."""

from httpdyno.model import Table
from httpdyno.report.cell import cell_text, note_lines, right_aligned
from httpdyno.report.formats import Surface

_GAP = "  "


def render(table: Table, _surface: Surface) -> str:
    """Write a table as aligned text; unknown values are hyphens, so that all lines have as many fields."""
    shown = table.select(column.name for column in table.columns if column.shown)
    columns = []
    for column in shown.columns:
        texts = [column.heading, *(cell_text(cell, column, absent="-") or "-" for cell in shown.values(column.name))]
        width = max(map(len, texts))
        columns.append([text.rjust(width) if right_aligned(column) else text.ljust(width) for text in texts])
    lines = [_GAP.join(cells).rstrip() for cells in zip(*columns, strict=True)]
    return "\n".join([*lines, *note_lines(table)]) + "\n"
