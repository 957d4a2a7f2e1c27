"""Plain text: aligned columns without lines or colours, and the notes under them."""

from httpdyno.model import Table
from httpdyno.report.cell import cell_text, note_lines, right_aligned
from httpdyno.report.formats import Surface

_GAP = "  "


def render(table: Table, _surface: Surface) -> str:
    """Write a table as aligned text; unknown values are hyphens, so that all lines have as many fields."""
    columns = [(index, column) for index, column in enumerate(table.columns) if column.shown]
    cells = [[column.heading for _, column in columns]]
    cells += [[cell_text(row[index], column, absent="-") or "-" for index, column in columns] for row in table.rows]
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    lines = [
        _GAP.join(
            text.rjust(width) if right_aligned(column) else text.ljust(width)
            for text, width, (_, column) in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in cells
    ]
    return "\n".join([*lines, *note_lines(table)]) + "\n"
