"""A run of a published grid in the form of its publication."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge import trials_by_point
from httpdyno.experiments.capacity.plan import PRINTED, UNITS, CapacityPreset, Place
from httpdyno.experiments.definition import PresetRun
from httpdyno.experiments.experiment import Ended
from httpdyno.experiments.published import preset_of
from httpdyno.model import (
    Axis,
    Cell,
    Chart,
    ChartKind,
    Column,
    ColumnKind,
    Note,
    Series,
    Table,
    Trial,
    Validity,
    format_exact,
    records_of,
)
from httpdyno.published import PublishedTable, parse_scale
from httpdyno.published.comparison import Pair, figures_ratio, join
from httpdyno.published.table import SUBJECT, PublishedColumn, Role, Row
from httpdyno.report.formats import render
from httpdyno.stats import median
from httpdyno.storage import storage_errors
from httpdyno.store import Manifest

_ROWS: Final = 40
"""Most comparison rows; more of them scroll the measured tables out of the terminal."""
_RATIOS: Final = ("latency ratio", "rate ratio")


def scale_of(manifest: Manifest) -> Fraction:
    """Return the scale of a run of a published grid."""
    return parse_scale(str(manifest.settings.get("scale") or "1"))


def measured_rows(trials: Iterable[Trial], preset: CapacityPreset) -> list[Row]:
    """Return the median figures of each subject and point, in the order of the publication."""
    groups: dict[tuple[str, Place], list[Trial]] = {}
    for (subject, point), group in trials_by_point(trials).items():
        groups.setdefault((subject, preset.place(point)), []).extend(group)
    conditions, figures = preset.table.of_role(Role.CONDITION), preset.table.of_role(Role.FIGURE)
    rows: list[Row] = []
    for (subject, place), group in sorted(groups.items()):
        summaries = records_of(CapacitySummary, group)
        limits = [one.limit for one in summaries if one.limit]
        limit = max(limits, key=limits.count) if limits else None
        cells: dict[str, Cell] = {"subject": subject, "limit": limit, "held": _verdict(group)}
        cells |= zip((column.name for column in conditions), place, strict=True)
        for column in figures:
            figure = median([getattr(one, column.ours[0]) for one in summaries])
            cells[column.name] = None if figure is None else figure / UNITS[column.unit]
        rows.append(cells)
    return rows


def in_form(trials: Iterable[Trial], preset: CapacityPreset) -> Table:
    """Return a run in the columns of the publication, with a subject column first if there are several subjects."""
    rows = measured_rows(trials, preset)
    several = len({row["subject"] for row in rows}) > 1
    columns: tuple[Column, ...] = (*((replace(SUBJECT, shown=True),) if several else ()), *preset.table.columns)
    cells = tuple(tuple(_rounded(row, preset.table)[column.name] for column in columns) for row in rows)
    return Table(columns, cells)


def comparison_table(trials: Sequence[Trial], preset: CapacityPreset, scale: Fraction) -> Table:
    """Compare a run with the publication, one row for each measured point; ratios use figures at the scale."""
    measured = measured_rows(trials, preset)
    subjects = dict.fromkeys(str(row["subject"]) for row in measured)
    # At a small scale two published rows may share a place; the first one is kept.
    pairs = reversed(join(measured, preset.at_scale(scale, subjects or [""])))
    joined = {(one.subject, one.condition): one for one in pairs}
    own, figures = preset.table.columns, preset.table.of_role(Role.FIGURE)
    # The published condition is shown only where scaling changed it.
    moved = [one.role is Role.FIGURE if scale == 1 else one.scaled for one in own].index(True)
    columns = (
        replace(SUBJECT, shown=len(subjects) > 1, description="name of the subject's folder"),
        *own,
        *(replace(one, name=PRINTED + one.name, description=f"{one.name} as published") for one in own[moved:]),
        Column(_RATIOS[0], ColumnKind.DECIMAL, "", "measured over published"),
        Column(_RATIOS[1], ColumnKind.DECIMAL, "", "measured over published, times the scale"),
        Column("limit", description="what limits the point, by the model"),
        Column("held", description="whether the rate and the objective were held"),
    )
    rows = []
    for pair in (joined[place] for place in sorted(joined) if joined[place].measured):
        ratios = (figures_ratio(pair, column) for column in figures)
        rounded = dict(zip(_RATIOS, (round(ratio, 3) if ratio else None for ratio in ratios), strict=True))
        rows.append({**pair.published, **_rounded(pair.measured, preset.table), **rounded})
    return Table(
        columns,
        tuple(tuple(row.get(column.name) for column in columns) for row in rows),
        title=f"measured and published: {preset.table.title}",
        notes=tuple(map(Note, _story(rows, joined.values(), preset, scale))),
    )


def grid_views(of: PresetRun) -> tuple[Table, ...]:
    """Return the tables of a grid and its comparison; of a large grid only the summary and the command for the rest."""
    count = len(of.comparison.rows)
    if count <= _ROWS:
        return (*of.views, of.comparison)
    where = f"comparison of all {count} points: httpdyno published {of.published.name} --beside {of.run.folder}"
    *others, last = of.views
    return (*others, replace(last, notes=(*last.notes, Note(of.comparison.title), Note(where), *of.comparison.notes)))


def _story(cells: Sequence[Row], joined: Collection[Pair], preset: CapacityPreset, scale: Fraction) -> Iterator[str]:
    yield f"published: {preset.table.source}"
    if scale != 1:
        yield f"scale {scale}: applies to the published rates and requests in flight; sizes and times are unchanged"
    for name in _RATIOS:
        ratios = sorted(ratio for row in cells if isinstance(ratio := row[name], float))
        if ratios:
            yield (
                f"{name.removesuffix(' ratio')}: measured over published {median(ratios):.2f} in the median of "
                f"{len(ratios)} points ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            )
    places = {pair.condition for pair in joined if pair.published}
    missing = len(places - {pair.condition for pair in joined if pair.measured})
    if missing:
        yield f"{missing} of {len(places)} published points were not measured"
    yield from (f"published figures: {remark}" for remark in preset.table.remarks)


def _verdict(trials: Sequence[Trial]) -> str:
    """Return whether the rate was held, ``yes`` or ``no``; if unknown, the validity or outcome of the trials."""
    known = [one.held for one in records_of(CapacitySummary, trials) if one.held is not None]
    if not known:
        return (trials[0].validity or trials[0].outcome).value
    doubt = [trial.validity for trial in trials if trial.validity not in {None, Validity.VALID}][:1]
    return ", ".join(["yes" if 2 * sum(known) > len(known) else "no", *map(str, doubt)])


def _rounded(row: Row, published: PublishedTable) -> Row:
    """Round figures to the decimal places of the publication."""
    figures = ((column.name, row[column.name]) for column in published.of_role(Role.FIGURE))
    return {**row, **{name: round(cell, 4) for name, cell in figures if isinstance(cell, float)}}


_PANELS: Final = 6
_LINES: Final = 5
"""Most lines that a reader can distinguish; of a larger grid an even selection is drawn."""
_DRAWN: Final = {
    "Requests/sec": ("", "Requests a second", Axis("right answers", "1/s"), 1.0),
    "Average Latency (s)": ("-latency", "Mean time of an answer", Axis("mean time", "ms"), 1000.0),
}
"""Figures of the charts: suffix of the chart's name, title, axis, and factor from the table's unit to the axis's."""


def published_charts(trials: Sequence[Trial], manifest: Manifest) -> tuple[Chart, ...]:
    """Draw the charts of the publication, two for each subject; none if the run is not of a published grid.

    They plot rate and latency against the size of answers or the rate of the link.
    """
    published = preset_of(manifest)
    if published is None:
        return ()
    preset, scale = CapacityPreset(published), scale_of(manifest)
    subjects = dict.fromkeys(trial.subject for trial in trials if trial.get(CapacityPoint) is not None)
    figures = {column.name: column for column in published.columns}
    return tuple(
        _chart(figures[name], subject, [t for t in trials if t.subject == subject], len(subjects) > 1, preset, scale)
        for subject, name in product(sorted(subjects), _DRAWN)
    )


def _chart(
    figure: PublishedColumn, subject: str, trials: Sequence[Trial], named: bool, preset: CapacityPreset, scale: Fraction
) -> Chart:
    suffix, title, axis, factor = _DRAWN[figure.name]
    table, asked = preset.table, preset.table.asked
    frame, along, line = table.of_role(Role.CONDITION)
    measured = measured_rows(trials, preset)
    # At a small scale several published rows may share a place; all of them are drawn.
    published = [pair.published for pair in join(measured, preset.at_scale(scale, [subject])) if pair.measured]
    frames, lines = ({_number(row, column) for row in measured} for column in (frame, line))
    points = records_of(CapacityPoint, trials)
    target = max((point.target_per_s or 0.0 for point in points), default=0.0) if figure.per else 0.0
    distant = "caption_as_labelled" in asked and any(point.round_trip_ns for point in points)
    times = f", times {scale}" if figure.per and scale != 1 else ""
    caption = [f"Solid: measured; dashed: published{times}.", asked["caption_as_labelled" if distant else "caption"]]
    if len(frames) > _PANELS or len(lines) > _LINES:
        caption.append("Only some frames and lines of this large grid are drawn; the table has all.")
    series = (
        Series(
            f"{in_flight:g} in flight",
            *_points(rows, {frame.name: panel, line.name: in_flight}, along, figure, factor),
            faint=rows is published,
            panel=f"{format_exact(panel)} ms",
        )
        for rows in (published, measured)
        for panel, in_flight in product(_spread(frames, _PANELS), _spread(lines, _LINES))
    )
    return Chart(
        name=f"{table.preset}{f'-{subject}' if named else ''}{suffix}",
        title=f"{title} against {asked['against']}{f': {subject}' if named else ''}",
        kind=ChartKind.TRENDS,
        x=Axis(asked["axis"], along.unit),
        y=axis,
        series=tuple(one for one in series if one.x),
        caption=" ".join(caption),
        section="As published",
        reference=target or None,
        reference_name=f"{target:,g} a second" if target else "",
        ordered=True,
    )


def _points(
    rows: Iterable[Row], at: Row, along: PublishedColumn, figure: PublishedColumn, factor: float
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the points of one frame and one number of requests in flight, in the order of the axis."""
    there = [row for row in rows if row and row[figure.name] is not None and all(row[name] == at[name] for name in at)]
    points = sorted((_number(row, along), factor * _number(row, figure)) for row in there)
    return tuple(x for x, _ in points), tuple(y for _, y in points)


def _number(row: Row, column: PublishedColumn) -> float:
    cell = row[column.name]
    assert isinstance(cell, int | float), "conditions and known figures are numbers"
    return cell


def _spread(values: Iterable[float], most: int) -> list[float]:
    """Pick at most ``most`` of the values, including the first and the last."""
    ordered = sorted(values)
    step = max(1.0, (len(ordered) - 1) / (most - 1))
    return [ordered[round(place * step)] for place in range(min(most, len(ordered)))]


def end_capacity(ended: Ended) -> bool:
    """Write a run of a published grid in the published form into the run's folder, one file for each subject.

    Other runs write no file. A file is named after the preset and, with several subjects, the subject.
    """
    run = ended.run
    published = preset_of(run.manifest)
    if published is None:
        return True
    trials = run.records()
    subjects = dict.fromkeys(trial.subject for trial in trials)
    for subject in subjects:
        path = run.folder / f"{published.preset}{f'-{subject}' if len(subjects) > 1 else ''}.csv"
        own = [trial for trial in trials if trial.subject == subject]
        with storage_errors(f"{path}: cannot write"):
            path.write_text(render(in_form(own, CapacityPreset(published)), "csv"), encoding="utf-8")
        ended.tell(f"published form: {path}")
    return True
