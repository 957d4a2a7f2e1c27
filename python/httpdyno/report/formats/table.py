"""A table with a line under its headings; a narrow terminal hides columns, or gets several tables."""

import io
import re
from collections.abc import Sequence
from dataclasses import replace
from textwrap import fill
from typing import Final

from rich.box import Box
from rich.cells import cell_len
from rich.console import Console, JustifyMethod
from rich.table import Table as Grid
from rich.text import Text

from httpdyno.model import Cell, Column, ColumnKind, Table
from httpdyno.report.cell import TONED, cell_text, note_lines, right_aligned, tone_of, without_controls
from httpdyno.report.formats import Surface

_GAP: Final = 2
"""Spaces between two columns."""
_USUAL_WIDTH: Final = 100
"""In a pipe, too, what can be spared is left out beyond this; there nothing else ever is."""
_PADDING: Final = re.compile(r" +((?:\x1b\[0m)?)$", re.MULTILINE)
_NARROWEST: Final = 20
"""Where words do not fit side by side they are not broken, either."""
_UNDER_HEADINGS: Final = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
_STYLES: Final = {"good": "green", "doubtful": "yellow", "bad": "red", "absent": "dim"}


def render(table: Table, surface: Surface) -> str:
    """Write a table with a line under its headings, and the notes below."""
    table, alone = _move_spanning(table)
    columns, texts, widths = _measure(table)
    places = _fitting_columns(columns, texts, widths, surface.width)
    names = _names(columns, places)
    if surface.width is not None and _total(widths, places) > surface.width:
        widths = _fold_widths(columns, texts, widths, (names, places), surface.width)
    output = io.StringIO()
    console = Console(
        file=output,
        width=max(_total(widths, places), surface.width or 0, 1),
        force_terminal=surface.colour,
        color_system="standard" if surface.colour else None,
        no_color=not surface.colour,
        legacy_windows=False,
        emoji=False,
        highlight=False,
        markup=False,
    )
    for line in table.title.splitlines():
        output.write(_break_line(without_controls(line), surface) + "\n")
    groups = _groups(widths, names, places, surface.width)
    for number, group in enumerate(groups):
        if number:
            console.print()
        # In one of several groups a row may have nothing but its name.
        rows = [row for row in texts if len(groups) == 1 or any(row[place] for place in group[len(names) :])]
        console.print(_grid(columns, rows if number else rows[: len(rows) - len(alone)], group, widths))
        for row, text in () if number else zip(rows[len(rows) - len(alone) :], alone, strict=True):
            lead = _lead(columns, row, widths, places)
            console.print(Text.assemble(f"{lead}{' ' * _GAP}", (text, _STYLES["absent"])), soft_wrap=True)
    text = _PADDING.sub(r"\1", output.getvalue())
    lines = note_lines(table)
    hidden = [column.heading for place, column in enumerate(columns) if place not in places]
    if hidden:
        lines.append(f"hidden (terminal too narrow): {', '.join(hidden)}")
    return text + ("\n" if lines else "") + "".join(_break_line(line, surface) + "\n" for line in lines)


def hidden_columns(table: Table, width: int | None = None) -> tuple[str, ...]:
    """Return the headings of the columns that do not fit into a terminal of this width, or into a pipe."""
    columns, texts, widths = _measure(_move_spanning(table)[0])
    places = _fitting_columns(columns, texts, widths, width)
    return tuple(column.heading for place, column in enumerate(columns) if place not in places)


def _measure(table: Table) -> tuple[list[Column], list[list[str]], list[int]]:
    """Return the columns that are shown, the texts of their cells, row by row, and the width that each column takes."""
    shown = [index for index, column in enumerate(table.columns) if column.shown]
    texts = [[cell_text(row[index], table.columns[index]) for index in shown] for row in table.rows]
    columns = [table.columns[index] for index in shown]
    widths = [
        max(cell_len(text) for text in (column.heading, *(row[place] for row in texts)))
        for place, column in enumerate(columns)
    ]
    return columns, texts, widths


def _fitting_columns(
    columns: Sequence[Column], texts: Sequence[Sequence[str]], widths: Sequence[int], width: int | None
) -> list[int]:
    """Return the columns that are shown at this width; spare ones are dropped, the last first."""
    places = list(range(len(columns)))
    while _total(widths, places) > (width or _USUAL_WIDTH):
        dispensable = [place for place in places if columns[place].dispensable]
        if not dispensable:
            break
        # What says nothing in any row makes room first for what does.
        of = next((place for place in reversed(dispensable) if not any(row[place] for row in texts)), dispensable[-1])
        places.remove(of)
    return places


def _move_spanning(table: Table) -> tuple[Table, list[str]]:
    """Take the texts of spanning columns out of the last rows that have nothing else but their names.

    A spanning column that is then empty is hidden. Returned with the table: the text of each such row, in their order.
    """
    spanning = [place for place, column in enumerate(table.columns) if column.spanning and column.shown]
    if not spanning:
        return table, []
    (place,) = spanning
    alone: list[str] = []
    rows = list(table.rows)
    for index in reversed(range(len(rows))):
        row = rows[index]
        numbers = (cell for cell, column in zip(row, table.columns, strict=True) if column.kind is not ColumnKind.TEXT)
        if row[place] is None or any(cell is not None for cell in numbers):
            break
        alone.insert(0, cell_text(row[place], table.columns[place]))
        rows[index] = (*row[:place], None, *row[place + 1 :])
    needed = any(row[place] is not None for row in rows)
    columns = list(table.columns)
    columns[place] = replace(columns[place], shown=needed)
    return replace(table, columns=tuple(columns), rows=tuple(rows)), alone


def _lead(columns: Sequence[Column], row: Sequence[str], widths: Sequence[int], places: Sequence[int]) -> str:
    """Write the cells of a row up to the last that has something, as the grid places them."""
    last = max((place for place in places if row[place]), default=-1)
    cells = []
    for place in (place for place in places if place <= last):
        room = " " * (widths[place] - cell_len(row[place]))
        cells.append(room + row[place] if right_aligned(columns[place]) else row[place] + room)
    return (" " * _GAP).join(cells)


def _break_line(line: str, surface: Surface) -> str:
    """Break a line between words where a terminal ends, in a pipe where a usual one would."""
    width = surface.width or _USUAL_WIDTH
    if width < _NARROWEST:
        return line
    return fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _total(widths: Sequence[int], places: Sequence[int]) -> int:
    return sum(widths[place] + _GAP for place in places) - _GAP


def _grid(
    columns: Sequence[Column], texts: Sequence[Sequence[str]], group: Sequence[int], widths: Sequence[int]
) -> Grid:
    grid = Grid(box=_UNDER_HEADINGS, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for place in group:
        justify: JustifyMethod = "right" if right_aligned(columns[place]) else "left"
        # Wraps where it was given less than its texts take, at the ends of words; a word that is longer is cut.
        grid.add_column(
            Text(columns[place].heading, justify="left"), justify=justify, max_width=widths[place], overflow="ellipsis"
        )
    for row in texts:
        grid.add_row(*(Text(row[place], style=_style(columns[place], row[place])) for place in group))
    return grid


def _style(column: Column, text: Cell) -> str:
    return _STYLES.get(tone_of(text, column), "")


def _names(columns: Sequence[Column], places: Sequence[int]) -> list[int]:
    """Return the columns that name a row: its first texts, else its first column."""
    names = [place for place in places if all(columns[of].kind is ColumnKind.TEXT for of in places if of <= place)]
    return names or list(places[:1])


def _fold_widths(
    columns: Sequence[Column],
    texts: Sequence[Sequence[str]],
    widths: Sequence[int],
    of: tuple[list[int], Sequence[int]],
    limit: int,
) -> list[int]:
    """Return widths with which each column fits on a line with its row's names, where folding texts is enough.

    A heading and a verdict stay whole, and so does a word that takes no more than half of the terminal. Where even so
    a row's names leave too little room, the last of them are none.
    """
    names, places = of
    folded = list(widths)
    least = [
        max(
            cell_len(column.heading),
            *(min(cell_len(word), limit // 2) for row in texts for word in row[place].split()),
            0,
        )
        if column.kind is ColumnKind.TEXT and not (column.toned or column.name in TONED)
        else widths[place]
        for place, column in enumerate(columns)
    ]

    def widest() -> int:
        return max((least[place] + _GAP for place in places if place not in names), default=0)

    while len(names) > 1 and limit > _NARROWEST and _total(least, names) + widest() > limit:
        names.pop()
    for place in sorted(names, key=lambda place: -widths[place]):
        excess = _total(folded, names) + widest() - limit
        folded[place] -= min(max(excess, 0), widths[place] - least[place])
    for place in places:
        if place not in names:
            folded[place] = min(widths[place], max(least[place], limit - _total(folded, names) - _GAP))
    return folded


def _groups(
    widths: Sequence[int], names: Sequence[int], places: Sequence[int], limit: int | None
) -> list[Sequence[int]]:
    """Cut the columns into groups that fit; each begins with what names the row."""
    if limit is None or _total(widths, places) <= limit:
        return [places]
    room = limit + _GAP - sum(widths[place] + _GAP for place in names)
    groups: list[list[int]] = []
    left = 0
    for place in places[len(names) :]:
        width = widths[place] + _GAP
        if not groups or width > left:
            groups.append(list(names))
            left = room
        groups[-1].append(place)
        left -= width
    return [*groups] or [places]
