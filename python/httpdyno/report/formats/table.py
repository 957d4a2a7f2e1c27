"""A table with lines, like the seeds'; on a narrow terminal several below each other, each with the rows' names."""

import io
from collections.abc import Sequence
from typing import Final

from rich.box import SQUARE
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table as Grid
from rich.text import Text

from httpdyno.model import Cell, Column, ColumnKind, Outcome, Table, Validity
from httpdyno.report.cell import cell_text, note_lines, right_aligned, without_controls
from httpdyno.report.surface import Surface

__all__ = ["render"]

_BORDER: Final = 3
"""A cell takes a line and a space at either side."""
_STYLES: Final[dict[str, str]] = (
    {outcome.value: "red" for outcome in Outcome}
    | {validity.value: "yellow" for validity in Validity}
    | {"chosen": "bold green"}  # of the loads that a search has tried
    | {"held": "bold green", "held?": "yellow", "slow": "red", "errors": "red", "failed": "red"}  # of points of a grid
    | {Validity.VALID.value: "green", Validity.INCORRECT.value: "red", Outcome.UNAVAILABLE.value: "dim"}
)


def render(table: Table, surface: Surface) -> str:
    """Write a table with lines around its cells, and the notes under it."""
    shown = [index for index, column in enumerate(table.columns) if column.shown]
    texts = [[cell_text(row[index], table.columns[index]) for index in shown] for row in table.rows]
    columns = [table.columns[index] for index in shown]
    widths = [
        max(cell_len(text) for text in (column.name, *(row[place] for row in texts)))
        for place, column in enumerate(columns)
    ]
    total = sum(widths) + _BORDER * len(widths) + 1
    output = io.StringIO()
    console = Console(
        file=output,
        width=max(total, surface.width or 0, 1),
        force_terminal=surface.colour,
        color_system="standard" if surface.colour else None,
        no_color=not surface.colour,
        legacy_windows=False,
        emoji=False,
        highlight=False,
        markup=False,
    )
    if table.title:
        output.write(without_controls(table.title) + "\n")
    for group in _groups(columns, widths, surface.width):
        console.print(_grid(columns, texts, group))
    lines = note_lines(table)
    return output.getvalue() + "".join(line + "\n" for line in lines)


def _grid(columns: Sequence[Column], texts: Sequence[Sequence[str]], group: Sequence[int]) -> Grid:
    grid = Grid(box=SQUARE, show_header=True, header_style="bold", pad_edge=True)
    for place in group:
        justify: JustifyMethod = "right" if right_aligned(columns[place]) else "left"
        grid.add_column(Text(columns[place].name, justify="left"), justify=justify, no_wrap=True, overflow="crop")
    for row in texts:
        grid.add_row(*(Text(row[place], style=_style(columns[place], row[place])) for place in group))
    return grid


def _style(column: Column, text: Cell) -> str:
    return _STYLES.get(str(text), "") if column.toned or column.name == "verdict" else ""


def _groups(columns: Sequence[Column], widths: Sequence[int], limit: int | None) -> list[list[int]]:
    """Cut the columns into groups that fit; each begins with what names the row: its first texts, else its first."""
    everything = list(range(len(columns)))
    if limit is None or sum(widths) + _BORDER * len(widths) + 1 <= limit:
        return [everything]
    names = [place for place in everything if all(column.kind is ColumnKind.TEXT for column in columns[: place + 1])]
    names = names or everything[:1]
    room = limit - 1 - sum(widths[place] + _BORDER for place in names)
    groups: list[list[int]] = []
    left = 0
    for place in everything[len(names) :]:
        width = widths[place] + _BORDER
        if not groups or width > left:
            groups.append(list(names))
            left = room
        groups[-1].append(place)
        left -= width
    return groups or [everything]
