"""Markdown: a table as GitHub renders it, for a pull request or a README; texts of subjects stay plain text."""

import re
from typing import Final

from httpdyno.model import Column, Table
from httpdyno.report.cell import cell_text, note_lines, right_aligned, without_controls
from httpdyno.report.formats import Surface

_SPECIAL: Final = re.compile(
    r"[\\`*\[\]<>|~&$]"  # emphasis, code, links, tags, cells, entities, formulas
    r"|(?<![^\W_])_|_(?![^\W_])"  # underscores, except within a word
    r"|:(?=//)|(?<=www)\.|(?<=[0-9])[.)](?=\s)"  # addresses without link markup; numbered lists
    r"|^[#+\-=]",  # headings, lists, rules
    re.IGNORECASE,
)
_MENTION: Final = re.compile(r"@(?=\w)")


def render(table: Table, _surface: Surface) -> str:
    """Write a table as a Markdown table, its notes as a list under it."""
    shown = table.select(column.name for column in table.columns if column.shown)
    rows = [
        [_escape(column.heading) for column in shown.columns],
        ["---:" if right_aligned(column) else "---" for column in shown.columns],
        *([_cell(*pair) for pair in zip(row, shown.columns, strict=True)] for row in shown.rows),
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    if table.title:
        titles = (f"**{_escape(without_controls(line))}**" for line in table.title.splitlines())
        lines = [*(line for title in titles for line in (title, "")), *lines]
    if table.notes:
        lines += ["", *(f"- {_escape(line)}" for line in note_lines(table))]
    return "\n".join(lines) + "\n"


def _cell(cell: str | int | float | bool | None, column: Column) -> str:
    text = cell_text(cell, column)
    return _escape(text) if isinstance(cell, str) else text


def _escape(text: str) -> str:
    # GitHub makes @name a mention even if it is escaped, but not with an empty comment after the @.
    return _MENTION.sub("@<!-- -->", _SPECIAL.sub(r"\\\g<0>", text))
