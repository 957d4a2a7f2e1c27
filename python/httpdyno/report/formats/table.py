"""A table with a line under its headings; a narrow terminal hides columns, or gets several tables."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import fill
from typing import Final

from rich.box import Box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from httpdyno.model import Column, ColumnKind, Table
from httpdyno.report.cell import TONED, cell_text, note_lines, right_aligned, tone_of, without_controls
from httpdyno.report.formats import Surface

_GAP: Final = 2
"""Spaces between two columns."""
_USUAL_WIDTH: Final = 100
"""Width from which dispensable columns are left out, also in a pipe, which gets all other columns."""
_PADDING: Final = re.compile(r" +((?:\x1b\[0m)?)$", re.MULTILINE)
_NARROWEST: Final = 20
"""A terminal that is narrower than this gets unbroken lines."""
_UNDER_HEADINGS: Final = Box("    \n    \n ── \n    \n    \n    \n    \n    \n")
_STYLES: Final = {"good": "green", "doubtful": "yellow", "bad": "red", "absent": "dim"}


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column that is shown, with the texts of its cells and its width."""

    column: Column
    texts: Sequence[str]
    width: int

    def least(self, limit: int) -> int:
        """Return the width to which the column can be folded on a terminal of ``limit`` characters.

        Headings, verdicts and words of at most half the terminal's width are not broken.
        """
        column = self.column
        if column.kind is not ColumnKind.TEXT or column.toned or column.name in TONED:
            return self.width
        words = (min(cell_len(word), limit // 2) for text in self.texts for word in text.split())
        return max(cell_len(column.heading), *words, 0)


def render(table: Table, surface: Surface) -> str:
    """Write a table with a line under its headings, and the notes below."""
    table, alone = _move_spanning(table)
    everything = _shown_columns(table)
    columns = _fitting(everything, surface.width)
    hidden = [one.column.heading for one in everything if one not in columns]
    texts = [one.column.kind is ColumnKind.TEXT for one in columns]
    # The first adjacent text columns name a row; without any, the first column does.
    names = max((*texts, False).index(False), 1)
    if surface.width is not None and _total(columns) > surface.width:
        columns, names = _fold(columns, names, surface.width)
    output = io.StringIO()
    console = Console(
        file=output,
        width=max(_total(columns), surface.width or 0, 1),
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
    whole = len(table.rows) - len(alone)
    groups = _groups(columns, names, surface.width)
    for number, group in enumerate(groups):
        if number:
            console.print()
        # A group omits rows that have only a name in it.
        rows = [row for row in range(whole) if len(groups) == 1 or any(one.texts[row] for one in group[names:])]
        console.print(_grid(group, rows))
        for row, text in () if number else enumerate(alone, start=whole):
            last = max((place for place, one in enumerate(columns) if one.texts[row]), default=-1)
            lead = (" " * _GAP).join(_padded(one, row) for one in columns[: last + 1])
            console.print(Text.assemble(f"{lead}{' ' * _GAP}", (text, _STYLES["absent"])), soft_wrap=True)
    lines = note_lines(table)
    if hidden:
        lines.append(f"hidden (terminal too narrow): {', '.join(hidden)}")
    text = _PADDING.sub(r"\1", output.getvalue())
    return text + ("\n" if lines else "") + "".join(_break_line(line, surface) + "\n" for line in lines)


def hidden_columns(table: Table, width: int | None = None) -> tuple[str, ...]:
    """Return the headings of the columns that do not fit into a terminal of this width, or into a pipe."""
    everything = _shown_columns(_move_spanning(table)[0])
    columns = _fitting(everything, width)
    return tuple(one.column.heading for one in everything if one not in columns)


def _shown_columns(table: Table) -> list[_Shown]:
    shown = []
    for place, column in enumerate(table.columns):
        if column.shown:
            texts = [cell_text(row[place], column) for row in table.rows]
            shown.append(_Shown(column, texts, max(map(cell_len, (column.heading, *texts)))))
    return shown


def _fitting(columns: list[_Shown], width: int | None) -> list[_Shown]:
    """Return the columns that are shown at this width; spare ones are dropped, the last first."""
    fitting = list(columns)
    while _total(fitting) > (width or _USUAL_WIDTH):
        dispensable = [one for one in reversed(fitting) if one.column.dispensable]
        if not dispensable:
            break
        # Columns without any text are left out first.
        fitting.remove(next((one for one in dispensable if not any(one.texts)), dispensable[0]))
    return fitting


def _move_spanning(table: Table) -> tuple[Table, list[str]]:
    """Take the texts of spanning columns out of those last rows that have only a name besides.

    A spanning column that is then empty is hidden. The texts of those rows are returned with the table, in order.
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


def _padded(one: _Shown, row: int) -> str:
    text = one.texts[row]
    room = " " * (one.width - cell_len(text))
    return room + text if right_aligned(one.column) else text + room


def _break_line(line: str, surface: Surface) -> str:
    """Break a line between words at the width of the terminal, in a pipe at the usual width."""
    width = surface.width or _USUAL_WIDTH
    if width < _NARROWEST:
        return line
    return fill(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _total(columns: Sequence[_Shown]) -> int:
    return sum(one.width + _GAP for one in columns) - _GAP


def _grid(columns: Sequence[_Shown], rows: Sequence[int]) -> Grid:
    grid = Grid(box=_UNDER_HEADINGS, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    for one in columns:
        # A column that is narrower than its texts wraps between words; a longer word is cut.
        grid.add_column(
            Text(one.column.heading, justify="left"),
            justify="right" if right_aligned(one.column) else "left",
            max_width=one.width,
            overflow="ellipsis",
        )
    for row in rows:
        styles = (_STYLES.get(tone_of(one.texts[row], one.column), "") for one in columns)
        grid.add_row(*(Text(one.texts[row], style=style) for one, style in zip(columns, styles, strict=True)))
    return grid


def _fold(columns: list[_Shown], names: int, limit: int) -> tuple[list[_Shown], int]:
    """Fold columns so that each fits on a line with its row's names, if folding texts is enough.

    The first ``names`` columns name the row. If they leave too little room, fewer columns do; their number is returned.
    """
    least = [one.least(limit) for one in columns]

    def widest() -> int:
        return max((width + _GAP for width in least[names:]), default=0)

    while names > 1 and limit > _NARROWEST and sum(width + _GAP for width in least[:names]) - _GAP + widest() > limit:
        names -= 1
    widths = [one.width for one in columns]
    for place in sorted(range(names), key=lambda place: -widths[place]):
        excess = sum(width + _GAP for width in widths[:names]) - _GAP + widest() - limit
        widths[place] -= min(max(excess, 0), widths[place] - least[place])
    room = limit - sum(width + _GAP for width in widths[:names])
    for place in range(names, len(columns)):
        widths[place] = min(widths[place], max(least[place], room))
    return [replace(one, width=width) for one, width in zip(columns, widths, strict=True)], names


def _groups(columns: list[_Shown], names: int, limit: int | None) -> list[list[_Shown]]:
    """Divide the columns into groups that fit; each begins with the columns that name the row."""
    if limit is None or _total(columns) <= limit:
        return [columns]
    groups: list[list[_Shown]] = []
    for one in columns[names:]:
        if not groups or _total([*groups[-1], one]) > limit:
            groups.append(columns[:names])
        groups[-1].append(one)
    return groups or [columns]
