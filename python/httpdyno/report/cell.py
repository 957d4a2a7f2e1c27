"""Cells as text for people; text from a subject cannot control a terminal."""

import re
from collections.abc import Callable
from itertools import groupby
from typing import Final

from httpdyno.model import Cell, Column, ColumnKind, Note, Outcome, Table, Validity, format_size, format_time

_TONES: Final = (
    {outcome.value: "bad" for outcome in Outcome}
    | {validity.value: "doubtful" for validity in Validity}
    | {"chosen": "good", "failed": "bad", "raises faults": "bad"}  # results of loads that a search tried
    | {"held": "good", "held?": "doubtful", "slow": "bad", "errors": "bad"}  # results at points of a grid
    | {Validity.VALID.value: "good", Outcome.OK.value: "good", Validity.INCORRECT.value: "bad"}
    | {Outcome.UNAVAILABLE.value: "absent"}
)
TONED: Final = frozenset({"outcome", "validity", "verdict"})
_WHOLE_FROM: Final = 100
_MILLION: Final = 1_000_000
# C0, DEL and C1 control a terminal; the others change the direction of a line or break it.
CONTROLS: Final = r"\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff"
"""Characters that no output may contain, as a character class of a regular expression."""
_CONTROL: Final = re.compile(f"[{CONTROLS}]")


def without_controls(text: str) -> str:
    r"""Make control characters and those that change the direction of writing visible, as ``\x1b`` or ``\u202e``.

    Half a surrogate pair, which no output can encode, becomes a question mark.
    """
    shown = _CONTROL.sub(_escape, text)
    return shown.encode("utf-8", errors="replace").decode("utf-8")


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"  # as Python writes them


def cell_text(cell: Cell, column: Column, *, absent: str = "") -> str:
    """Write a cell for people: sizes with their unit, milliseconds with a decimal below 100, shares with two."""
    if cell is None:
        return absent
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return without_controls(cell)
    if column.kind in _NUMBERS:
        return _NUMBERS[column.kind](cell)
    return f"{cell:.0f}" if isinstance(cell, float) else str(cell)


def tone_of(cell: Cell, column: Column) -> str:
    """Return the tone of a cell that holds a verdict: ``good``, ``doubtful``, ``bad``, ``absent``; or empty.

    A number beyond the limit of its column is doubtful.
    """
    if isinstance(cell, str):
        return _TONES.get(cell, "") if column.toned or column.name in TONED else ""
    return "doubtful" if cell is not None and column.limit is not None and cell > column.limit else ""


_NUMBERS: Final[dict[ColumnKind, Callable[[float], str]]] = {
    ColumnKind.SIZE: format_size,
    ColumnKind.DURATION: lambda milliseconds: (
        f"{milliseconds:.0f}" if abs(milliseconds) >= _WHOLE_FROM else f"{milliseconds:.1f}".removesuffix(".0")
    ),
    ColumnKind.TIME: lambda milliseconds: format_time(milliseconds * 1e6),
    ColumnKind.DECIMAL: lambda number: f"{number:.2f}".rstrip("0").rstrip("."),
    ColumnKind.NUMBER: lambda number: f"{number:.0f}" if _MILLION <= abs(number) < _MILLION**3 else f"{number:.6g}",
}


def figure_text(value: float) -> str:
    """Write a figure with three significant digits: ``12,967``, ``178``, ``71.7``, ``0.0123``."""
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.3g}"


def right_aligned(column: Column) -> bool:
    """Return whether the cells of a column are aligned to the right, as numbers are."""
    return column.kind not in {ColumnKind.TEXT, ColumnKind.BOOLEAN}


def note_lines(table: Table) -> list[str]:
    """Return the notes as lines, each with the name of its row."""
    return [f"{_row_name(table, note)}{without_controls(note.text)}" for note in table.notes]


def _row_name(table: Table, note: Note) -> str:
    """Name a row by its first adjacent texts: language and method."""
    if note.row is None:
        return ""
    cells = [cell for cell in zip(table.columns, table.rows[note.row], strict=True) if cell[0].shown]
    of_texts = groupby(cells, key=lambda cell: cell[0].kind is ColumnKind.TEXT)
    texts = next((list(run) for is_text, run in of_texts if is_text), [])
    named = [cell_text(cell, column) for column, cell in texts if cell]
    return f"{' '.join(named[:2])}: " if named else ""
