"""The result of a capacity run as people read it: a grid for each panel instead of a row for each point."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.capacity.found import Found, found, target_words
from httpdyno.experiments.capacity.grid_axis import GridAxis, Value
from httpdyno.experiments.capacity.headline import capacity_headline
from httpdyno.experiments.capacity.judge.sentences import capacity_sentences
from httpdyno.experiments.capacity.layout import Layout, Place
from httpdyno.experiments.capacity.reach import is_search, reached
from httpdyno.experiments.capacity.reach_table import reach_legend, reach_tables
from httpdyno.experiments.experiment import Setting
from httpdyno.model import Column, ColumnKind, Note, Table, Tone, Trial, format_time

__all__ = ["capacity_views"]

_HELD: Final = {Tone.HELD: "held", Tone.DOUBTFUL: "held?"}
_SUBJECT: Final = "subject"
_AT_THE_RIGHT: Final = ColumnKind.DECIMAL
"""Words stand among shares there. A narrow terminal repeats what names a row, which are its first texts."""


def capacity_views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    """Put the trials of a capacity run into tables that fit a terminal.

    A table for each subject and for each value of what neither runs across nor down; one of how far each subject
    reaches, where that can be told. The answer in one sentence stands above the first one, the meaning of the words
    below the last one.

    Trials without a point are left out.
    """
    points = found(trials)
    names = {one.subject: one.subject for one in points}
    frontiers = reached(trials, settings)
    tables = [] if is_search(settings) and frontiers else _grids(points, names)
    notes = _legend(points) if tables else []
    if frontiers:
        tables += reach_tables(frontiers, target_words(points))
        notes += reach_legend(frontiers)
    notes += capacity_sentences(trials)
    tables = tables or [Table((Column(_SUBJECT),), ())]
    tables[0] = tables[0].answering(capacity_headline(points, frontiers, names))
    last = tables.pop()
    return (*tables, replace(last, notes=(*last.notes, *map(Note, notes))))


def _grids(points: Sequence[Found], names: Mapping[str, str]) -> list[Table]:
    if not points:
        return []
    layout = Layout.of([one.point for one in points], len(names))
    places = dict.fromkeys(layout.panel(one) for one in points)
    return [_table(layout, place, [one for one in points if layout.panel(one) == place], names) for place in places]


def _table(layout: Layout, place: Place, points: Sequence[Found], names: Mapping[str, str]) -> Table:
    columns = layout.across.values(one.point for one in points)
    rows = _rows(layout, points, names)
    cells = [(label, *(_cell(_at(layout.across, value, of)) for value in columns)) for label, of in rows]
    said = [layout.panel_name(place, names), layout.shared([one.point for one in points])]
    if layout.up is not None:
        said.append(f"down: {layout.up.heading(layout.up.values(one.point for one in points))}")
    said.append(f"across: {layout.across.heading(columns)}")
    corner = _SUBJECT if layout.up is None else layout.up.title
    return Table(
        (Column(corner), *(Column(label, _AT_THE_RIGHT, toned=True) for label in layout.across.labels(columns))),
        tuple(cells),
        title="; ".join(part for part in said if part),
    )


def _rows(layout: Layout, points: Sequence[Found], names: Mapping[str, str]) -> list[tuple[str, list[Found]]]:
    """Return each row by its name, with what stands in it."""
    up = layout.up
    if up is None:
        return [(name, [one for one in points if one.subject == subject]) for subject, name in names.items()]
    values = up.values(one.point for one in points)
    return [(label, _at(up, value, points)) for label, value in zip(up.labels(values), values, strict=True)]


def _at(axis: GridAxis, value: Value, points: Sequence[Found]) -> list[Found]:
    return [one for one in points if axis.read(one.point) == value]


def _cell(points: Sequence[Found]) -> str | None:
    """Describe what was found at a point; None where nothing was tried."""
    if not points:
        return None
    one = points[0]
    if one.tone in _HELD:
        return _HELD[one.tone]
    if one.tone is Tone.UNKNOWN and one.point.target_per_s is not None:
        return f"({one.word})" if one.word else "?"
    return f"{one.word} %" if one.word.isdecimal() and one.share is not None else one.word or "failed"


def _objective(points: Sequence[Found]) -> str:
    """Say what else had to hold, and which p99 was reached where it did."""
    asked = dict.fromkeys(one.point.objective for one in points if one.point.objective)
    required = f"and {' or '.join(asked)}" if asked else "and the objective"
    of_held = [one.p99_ns for one in points if one.tone in _HELD and one.p99_ns is not None]
    ends = dict.fromkeys(format_time(end) for end in (min(of_held), max(of_held))) if of_held else ()
    return f"{required}; p99 there was {' to '.join(ends)}" if ends else required


def _legend(points: Sequence[Found]) -> list[str]:
    """Explain the words that there are."""
    cells = {_cell([one]) or "" for one in points}
    said = {cell.strip("()") for cell in cells}
    target = target_words(points)
    told = []
    if "held" in said or "held?" in said:
        told.append(f"held: {target}, {_objective(points)}")
    if "held?" in said:
        told.append("held?: in some of its trials only")
    if any(cell.endswith("%") for cell in said):
        told.append(f"a share: of the {target}")
    if "slow" in said:
        told.append("slow: the rate is held, but not the times of the objective")
    if "errors" in said:
        told.append("errors: the rate is held, but too many requests failed")
    if any(cell.startswith("(") or cell == "?" for cell in cells):
        told.append("in brackets: not to be believed; --format csv and the report say why")
    return told
