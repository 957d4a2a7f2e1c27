"""Published and measured figures in one table, joined row by row, with notes on the differences."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final

from httpdyno.model import Cell, Column, ColumnKind, Note, Table
from httpdyno.published.table import NAMES, SUBJECT, Circumstances, PublishedColumn, PublishedTable, Role, Row


@dataclass(frozen=True, slots=True)
class Pair:
    """Published and measured figures of one subject under one condition; either may be missing."""

    subject: str
    name: str
    """For people: ``Go net/http``."""
    named: Row
    """Cells that identify the pair: subject, identity and condition."""
    condition: tuple[Cell, ...]
    published: Row
    """Cells by column; empty if not published."""
    measured: Row
    """Cells by column; empty if not measured."""


def join(measured: Sequence[Row], published: PublishedTable) -> tuple[Pair, ...]:
    """Join rows by subject, and by condition where both tables have its column.

    Pairs are in the published order; rows without published figures follow.
    """
    identity, conditions = ([c.name for c in published.of_role(role)] for role in (Role.IDENTITY, Role.CONDITION))
    key = ("subject", *(name for name in conditions if measured and name in measured[0]))

    def pair(there: Row, here: Row) -> Pair:
        either = there or here
        subject = str(either["subject"] or "")
        name = " ".join(str(either[part]) for part in identity if either.get(part) is not None)
        named = {"subject": subject or None, **{part: either.get(part) for part in (*identity, *conditions)}}
        return Pair(subject, name or subject, named, tuple(named[part] for part in conditions), there, here)

    places: dict[tuple[Cell, ...], list[Row]] = defaultdict(list)
    for row in measured:
        places[tuple(row[name] for name in key)].append(row)
    known = [tuple(row[name] for name in key) if row["subject"] else () for row in published.rows]
    found = [
        pair(there, here)
        for there, place in zip(published.rows, known, strict=True)
        for here in places.get(place) or [{}]
    ]
    return (*found, *(pair({}, row) for row in measured if tuple(row[name] for name in key) not in known))


def figures_ratio(pair: Pair, column: PublishedColumn) -> float | None:
    """Return measured over published, per unit of the column to which it is proportional; None unless both exist."""
    ratio = 1.0
    sides = (pair.measured, pair.published)
    for name, (above, below) in ((column.name, sides), (column.per, sides[::-1])):
        if name:
            one, other = above.get(name), below.get(name)
            if not isinstance(one, int | float) or not isinstance(other, int | float) or not other:
                return None
            ratio *= one / other
    return ratio


def _notes(joined: Sequence[Pair], published: PublishedTable, here: Circumstances) -> Iterator[str]:
    there = published.circumstances
    both = [pair for pair in joined if pair.measured and pair.published]
    yield f"published: {published.source}"
    if names := dict.fromkeys(pair.name for pair in joined if not pair.measured):
        yield f"not measured here: {', '.join(names)}"
    if names := dict.fromkeys(pair.name for pair in joined if not pair.published):
        yield f"not published: {', '.join(names)}"
    yield from _order(both, published)
    yield from _difference("machine: published: {}; measured: {}", there.machine, here.machine)
    yield from _difference("web: published: {}; measured: {}", there.web, here.web)
    yield from (f"web {name}: {published.fitted[name]}" for name in here.web_names if name in published.fitted)
    for column in published.of_role(Role.SETTING):
        yield from _setting(both, column.name, published)
    yield from _difference("timeout: published {:g} s, measured {:g} s", there.timeout_s, here.timeout_s)
    yield from _difference("deadline: published {:g} s, measured {:g} s", there.deadline_s, here.deadline_s)
    yield from _versions(both, published, here)
    yield from (f"{absent['name']}: {absent['reason']}" for absent in published.unpublished)
    yield from (f"published figures: {remark}" for remark in published.remarks)


def _order(both: Sequence[Pair], published: PublishedTable) -> Iterator[str]:
    """Count the pairs of subjects that are in the published order, which depends on neither scale nor machine."""
    same = compared = 0
    for column in (column for column in published.columns if column.name == published.ordered_by):
        for one, other in combinations(both, 2):
            first, second = _figures(one, column), _figures(other, column)
            if one.condition == other.condition and first and second and first[0] != second[0]:
                compared += 1
                same += (first[0] < second[0]) == (first[1] < second[1])
    if compared:
        order = f"order by {published.ordered_by}"
        yield f"{order}: {same} of {compared} pairs are in the published order (by medians alone)"


def _figures(pair: Pair, column: PublishedColumn) -> tuple[float, float] | None:
    """Return the published figure, and the measured one at the published scale; None without both."""
    ratio, figure = figures_ratio(pair, column), pair.published[column.name]
    return None if ratio is None or not isinstance(figure, int | float) else (figure, figure * ratio)


def _difference(text: str, there: str | float | None, here: str | float | None) -> Iterator[str]:
    if not {there, here} & {"", None} and there != here:
        yield text.format(there, here)


def _setting(both: Sequence[Pair], name: str, published: PublishedTable) -> Iterator[str]:
    """Describe where a setting differs, and which figures are scaled by it."""
    other = [pair for pair in both if pair.measured.get(name) not in {None, pair.published[name]}]
    if not other:
        return
    texts = [f"published {pair.published[name]}, measured {pair.measured[name]}" for pair in other]
    if len({(pair.published[name], pair.measured[name]) for pair in other}) > 1 or len(other) < len(both):
        texts = ["; ".join(f"{pair.name} {one}" for pair, one in zip(other, texts, strict=True))]
    per = [figure.name for figure in published.columns if figure.per == name]
    yield f"{name}: {texts[0]}" + (f"; ratios of {', '.join(per)} are per {name}" if per else "")
    if per and published.scaled_remark:
        yield published.scaled_remark


def _versions(both: Sequence[Pair], published: PublishedTable, here: Circumstances) -> Iterator[str]:
    there = published.circumstances.versions
    names = dict.fromkeys((pair.subject, pair.name) for pair in both)
    texts = [
        f"{name} {there.get(subject, 'unknown')}, here {here.versions.get(subject, 'unknown')}"
        for subject, name in names
        if there.get(subject) != here.versions.get(subject)
    ]
    if texts:
        origin = f" (published: {published.versions_from})" if published.versions_from else ""
        yield f"versions: {'; '.join(texts)}{origin}"


_DOUBT: Final = ("rank", "wrong", "verdict")
"""Columns of the measured table that qualify its figures: shown at the end."""


def side_by_side(measured: Table, published: PublishedTable, here: Circumstances) -> Table:
    """Put published and measured figures into one row for each subject: the form for programs.

    Each published figure has three columns: the measured one under its own name, ``..._published`` and ``..._ratio``
    (measured over published). Each setting has the first two. All other measured columns follow.
    """
    joined = join(measured.records(), published)
    columns: list[Column] = [SUBJECT]
    for column in published.columns:
        columns.append(column)
        if column.role not in NAMES:
            columns.append(replace(column, name=f"{column.name}_published", description=f"{column.name} as published"))
        if column.role is Role.FIGURE:
            per = f", each per {column.per}" if column.per else ""
            columns.append(Column(f"{column.name}_ratio", ColumnKind.DECIMAL, "", f"measured over published{per}"))
    rows = [
        {
            **(pair.measured or {"verdict": "not measured"}),
            **{f"{name}_published": cell for name, cell in pair.published.items()},
            **{f"{name}_ratio": round(ratio, 3) for name, ratio in _ratios(pair, published).items()},
            **pair.named,
        }
        for pair in joined
    ]
    return _table([*columns, *_rest(measured, published)], rows, measured, published, _notes(joined, published, here))


def stacked(measured: Table, published: PublishedTable, here: Circumstances) -> Table:
    """Put measured figures, published ones and their ratios into lines under the published columns, for people."""
    joined = join(measured.records(), published)
    rows: list[Row] = []
    for pair in joined:
        # As text, so that a ratio does not look like a figure of its column.
        ratios = {name: f"{r:.2f}x" if r >= 0.1 else f"{r:.2g}x" for name, r in _ratios(pair, published).items()}
        lines = {"measured": pair.measured, "published": pair.published, "ratio": ratios}
        rows += [{**cells, **pair.named, "figures": name} for name, cells in lines.items() if cells]
    columns = (
        *(SUBJECT, *(column for column in published.columns if column.role in NAMES), Column("figures")),
        *(column for column in published.columns if column.role not in NAMES),
        *(column for column in _rest(measured, published) if column.name in _DOUBT),
    )
    return _table(columns, rows, measured, published, _notes(joined, published, here))


def in_published_form(measured: Table, published: PublishedTable, absent: Mapping[str, str]) -> Table:
    """Put measured figures under the published columns only; unmeasured ones are empty.

    Unmeasured subjects of the publication (``absent`` has the reasons) keep a row without figures. Notes on the whole
    measured table are left out, since they describe columns that are not shown.
    """
    rows = measured.records()
    notes = [note for note in measured.notes if note.row is not None]
    there = {row["subject"] for row in rows}
    names = [column.name for column in published.columns if column.role in NAMES]
    for row in published.rows:
        if row["subject"] in absent and row["subject"] not in there:
            notes.append(Note(absent[str(row["subject"])], len(rows)))
            rows.append({name: row[name] for name in names})
    return Table.of_records(published.columns, rows, notes=notes)


def _table(
    columns: Sequence[Column], rows: Sequence[Row], measured: Table, published: PublishedTable, notes: Iterable[str]
) -> Table:
    """Make the table with its notes and those of the measured table, except notes on columns that are not shown."""
    shown = {column.name for column in columns if column.shown}
    kept = (note for note in measured.notes if note.row is None and shown.issuperset(note.columns))
    title = f"measured and published: {published.title}"
    return Table.of_records(columns, rows, title, (*kept, *map(Note, notes)))


def _rest(measured: Table, published: PublishedTable) -> list[Column]:
    taken = {"subject", *(column.name for column in published.columns)}
    return [column for column in measured.columns if column.name not in taken]


def _ratios(pair: Pair, published: PublishedTable) -> dict[str, float]:
    figures = published.of_role(Role.FIGURE)
    return {one.name: ratio for one in figures if (ratio := figures_ratio(pair, one)) is not None}
