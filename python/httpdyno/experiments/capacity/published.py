"""Published grids as presets: their points, at any scale, and a run in the form of the publication."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.capacity.axes import Axes
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.points import point_results
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
    Loop,
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

_PUBLISHED: Final = "published "
"""Prefix of columns with the published value of a scaled row."""
_UNITS: Final = {"": 1, "ms": 10**6, "s": 10**9, "KiB": 1024, "Gbit/s": 10**9, "1/s": 1}
"""Our units in one unit of the publication."""
_OF_LINKS: Final = frozenset({"round_trip_ns", "rate_bits_per_s", "queue_ns"})
_DEFAULTS: Final = {
    **{"delay": "0", "rtt": "0", "link_rate": None, "queue": None, "loss": 0.0, "rps": 2000.0},
    "loop": Loop.CLOSED.value,
}
"""Settings of a grid that its description leaves out."""
_ROWS: Final = 40
"""Most comparison rows; more of them scroll the measured tables out of the terminal."""
_RATIOS: Final = ("latency ratio", "rate ratio")


def preset_axes(published: PublishedTable, scale: Fraction = Fraction(1), *, as_labelled: bool = False) -> Axes:
    """Return the published grid with scaled rates and requests in flight; sizes and times are unchanged.

    Answers then take as long as in the full grid, because with half the rate they share half the bandwidth.

    Raise if ``as_labelled`` is set and the labels are right.
    """
    asked = published.asked.get("as_labelled" if as_labelled else "as_run")
    if asked is None:
        raise UsageError(
            f"--as-labelled: the labels of {published.preset} are right; the option requires --preset published-batch-4"
        )
    axes = Axes.restored({**_DEFAULTS, **asked})
    return replace(
        axes,
        rates_bits_per_s=tuple(None if rate is None else int(rate * scale) for rate in axes.rates_bits_per_s),
        concurrencies=tuple(dict.fromkeys(_scaled_count(count, scale) for count in axes.concurrencies)),
        rps=None if axes.rps is None else float(axes.rps * scale),
    )


def varies_link(published: PublishedTable) -> bool:
    """Return whether the published grid varies the link."""
    return any(not _OF_LINKS.isdisjoint(column.ours) for column in published.of_role(Role.CONDITION))


def place_of(published: PublishedTable, point: CapacityPoint) -> tuple[float, ...]:
    """Return the place of a measured point in the published grid, in the columns and units of the publication."""
    return tuple(
        _number(Fraction(next(filter(None, (getattr(point, name) for name in column.ours)), 0), _UNITS[column.unit]))
        for column in published.of_role(Role.CONDITION)
    )


def at_scale(published: PublishedTable, scale: Fraction, subjects: Iterable[str]) -> PublishedTable:
    """Return the published rows of each subject, scaled, together with the unscaled values.

    Counts stay whole numbers; figures scale like the quantity to which they are proportional.
    """
    rows = []
    for row in published.rows:
        cells = {**row, **{f"{_PUBLISHED}{name}": cell for name, cell in row.items()}}
        shares: dict[str, float] = {}
        for column in published.columns:
            value = row[column.name]
            if column.scaled and isinstance(value, int):
                counted = column.kind is ColumnKind.INTEGER
                scaled = Fraction(_scaled_count(value, scale)) if counted else value * scale
                cells[column.name], shares[column.name] = _number(scaled), float(scaled / value)
            elif column.per and isinstance(value, int | float):
                cells[column.name] = value * shares[column.per]
        rows.append(cells)
    return replace(published, rows=tuple({**row, "subject": subject} for subject in subjects for row in rows))


def _scaled_count(count: int, scale: Fraction) -> int:
    """Return a share of the requests in flight: at least 1, halves rounded up."""
    return max(1, int(count * scale + Fraction(1, 2)))


def _number(value: Fraction) -> float:
    """Convert a whole number to int, so that it prints without a decimal point."""
    return int(value) if value.denominator == 1 else float(value)


def scale_of(manifest: Manifest) -> Fraction:
    """Return the scale of a run of a published grid."""
    return parse_scale(str(manifest.settings.get("scale") or "1"))


def measured_rows(trials: Iterable[Trial], published: PublishedTable) -> list[Row]:
    """Return the median figures of each subject and point, in the order of the publication."""
    groups: dict[tuple[str, tuple[float, ...]], list[Trial]] = {}
    for one in point_results(trials):
        groups.setdefault((one.subject, place_of(published, one.point)), []).extend(one.trials)
    conditions, figures = published.of_role(Role.CONDITION), published.of_role(Role.FIGURE)
    rows: list[Row] = []
    for (subject, place), group in sorted(groups.items()):
        summaries = records_of(CapacitySummary, group)
        limits = [one.limit for one in summaries if one.limit]
        limit = max(limits, key=limits.count, default=None)
        cells: dict[str, Cell] = {"subject": subject, "limit": limit, "held": _verdict(group)}
        cells |= zip((column.name for column in conditions), place, strict=True)
        for column in figures:
            figure = median([getattr(one, column.ours[0]) for one in summaries])
            cells[column.name] = None if figure is None else figure / _UNITS[column.unit]
        rows.append(cells)
    return rows


def in_form(trials: Iterable[Trial], published: PublishedTable) -> Table:
    """Return a run in the columns of the publication, with a subject column first if there are several subjects."""
    rows = measured_rows(trials, published)
    several = len({row["subject"] for row in rows}) > 1
    columns = (*((replace(SUBJECT, shown=True),) if several else ()), *published.columns)
    return Table.of_records(columns, (_rounded(row, published) for row in rows))


def comparison_table(trials: Sequence[Trial], published: PublishedTable, scale: Fraction) -> Table:
    """Compare a run with the publication, one row for each measured point; ratios use figures at the scale."""
    measured = measured_rows(trials, published)
    subjects = dict.fromkeys(str(row["subject"]) for row in measured)
    # At a small scale two published rows may share a place; the first one is kept.
    pairs = reversed(join(measured, at_scale(published, scale, subjects or [""])))
    joined = {(one.subject, one.condition): one for one in pairs}
    own, figures = published.columns, published.of_role(Role.FIGURE)
    # The published condition is shown only where scaling changed it.
    moved = [one.role is Role.FIGURE if scale == 1 else one.scaled for one in own].index(True)
    columns = (
        replace(SUBJECT, shown=len(subjects) > 1, description="name of the subject's folder"),
        *own,
        *(replace(one, name=_PUBLISHED + one.name, description=f"{one.name} as published") for one in own[moved:]),
        Column(_RATIOS[0], ColumnKind.DECIMAL, "", "measured over published"),
        Column(_RATIOS[1], ColumnKind.DECIMAL, "", "measured over published, times the scale"),
        Column("limit", description="what limits the point, by the model"),
        Column("held", description="whether the rate and the objective were held"),
    )
    rows = []
    for pair in (joined[place] for place in sorted(joined) if joined[place].measured):
        ratios = (figures_ratio(pair, column) for column in figures)
        rounded = dict(zip(_RATIOS, (round(ratio, 3) if ratio else None for ratio in ratios), strict=True))
        rows.append({**pair.published, **_rounded(pair.measured, published), **rounded})
    notes = map(Note, _comparison_notes(rows, joined.values(), published, scale))
    return Table.of_records(columns, rows, f"measured and published: {published.title}", notes)


def grid_views(of: PresetRun) -> tuple[Table, ...]:
    """Return the tables of a grid and its comparison; of a large grid only the summary and the command for the rest."""
    count = len(of.comparison.rows)
    if count <= _ROWS:
        return (*of.views, of.comparison)
    where = f"comparison of all {count} points: httpdyno published {of.published.name} --compare {of.run.folder}"
    *others, last = of.views
    return (*others, replace(last, notes=(*last.notes, Note(of.comparison.title), Note(where), *of.comparison.notes)))


def _comparison_notes(
    cells: Sequence[Row], joined: Collection[Pair], published: PublishedTable, scale: Fraction
) -> Iterator[str]:
    yield f"published: {published.source}"
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
    yield from (f"published figures: {remark}" for remark in published.remarks)


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
    scale = scale_of(manifest)
    subjects = dict.fromkeys(trial.subject for trial in trials if trial.get(CapacityPoint) is not None)
    figures = {column.name: column for column in published.columns}
    return tuple(
        _chart(figures[name], subject, [t for t in trials if t.subject == subject], len(subjects) > 1, published, scale)
        for subject, name in product(sorted(subjects), _DRAWN)
    )


def _chart(
    figure: PublishedColumn, subject: str, trials: Sequence[Trial], named: bool, table: PublishedTable, scale: Fraction
) -> Chart:
    suffix, title, axis, factor = _DRAWN[figure.name]
    asked = table.asked
    frame, along, line = table.of_role(Role.CONDITION)
    measured = measured_rows(trials, table)
    # At a small scale several published rows may share a place; all of them are drawn.
    published = [pair.published for pair in join(measured, at_scale(table, scale, [subject])) if pair.measured]
    frames, lines = ({_figure(row, column) for row in measured} for column in (frame, line))
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
        for panel, in_flight in product(_pick_evenly(frames, _PANELS), _pick_evenly(lines, _LINES))
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
    points = sorted((_figure(row, along), factor * _figure(row, figure)) for row in there)
    return tuple(x for x, _ in points), tuple(y for _, y in points)


def _figure(row: Row, column: PublishedColumn) -> float:
    cell = row[column.name]
    assert isinstance(cell, int | float), "conditions and known figures are numbers"
    return cell


def _pick_evenly(values: Iterable[float], most: int) -> list[float]:
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
            path.write_text(render(in_form(own, published), "csv"), encoding="utf-8")
        ended.tell(f"published form: {path}")
    return True
