"""The two published figures of the capacity question: a run of a published grid, with the published values behind."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.presets import CapacityPreset
from httpdyno.experiments.capacity.published_form import measured_rows, scale_of
from httpdyno.experiments.published import preset_of
from httpdyno.model import Axis, Chart, ChartKind, Series, Trial, format_exact, records_of
from httpdyno.published.comparison import join
from httpdyno.published.table import PublishedColumn, Role, Row
from httpdyno.store import Manifest

__all__ = ["published_charts"]

_PANELS: Final = 6
_LINES: Final = 5
"""More of them nobody tells apart: of a larger grid some are drawn, spread evenly."""
_DRAWN: Final = {
    "Requests/sec": ("", "Requests a second", Axis("right answers", "1/s"), 1.0),
    "Average Latency (s)": ("-latency", "Mean time of an answer", Axis("mean time", "ms"), 1000.0),
}
"""The figures that are drawn: end of the chart's name, title, axis, and what of its unit is one of the table's."""


def published_charts(trials: Sequence[Trial], manifest: Manifest) -> tuple[Chart, ...]:
    """Draw what the publication draws, two charts for each subject; none of a run that is no published grid.

    Rate and latency stand against the size of answers, or against the rate of the link.
    """
    published = preset_of(manifest)
    if published is None:
        return ()
    preset, scale = CapacityPreset(published), scale_of(manifest)
    rows = measured_rows(trials, preset)
    subjects = dict.fromkeys(str(row["subject"]) for row in rows)
    figures = {column.name: column for column in published.columns}
    return tuple(
        _chart(figures[name], subject, [t for t in trials if t.subject == subject], len(subjects) > 1, preset, scale)
        for subject, name in product(subjects, _DRAWN)
    )


def _chart(
    figure: PublishedColumn, subject: str, trials: Sequence[Trial], named: bool, preset: CapacityPreset, scale: Fraction
) -> Chart:
    suffix, title, axis, factor = _DRAWN[figure.name]
    table, asked = preset.table, preset.table.asked
    frame, along, line = table.of_role(Role.CONDITION)
    measured = measured_rows(trials, preset)
    # Several published rows may lie at one place, where the scale is small: all of them are drawn.
    published = [pair.published for pair in join(measured, preset.at_scale(scale, [subject])) if pair.measured]
    frames, lines = ({_number(row, column) for row in measured} for column in (frame, line))
    points = records_of(CapacityPoint, trials)
    target = max((point.target_per_s or 0.0 for point in points), default=0.0) if figure.per else 0.0
    distant = "caption_as_labelled" in asked and any(point.round_trip_ns for point in points)
    caption = [
        "Measured, and dashed what was published" + (f", times {scale}." if figure.per and scale != 1 else "."),
        asked["caption_as_labelled" if distant else "caption"],
    ]
    if len(frames) > _PANELS or len(lines) > _LINES:
        caption.append("Of a large grid some frames and lines are drawn; the table has all.")
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
    """Return where the points of one frame and one number of requests in flight lie, in the order of the axis."""
    there = [row for row in rows if row and row[figure.name] is not None and all(row[name] == at[name] for name in at)]
    points = sorted((_number(row, along), factor * _number(row, figure)) for row in there)
    return tuple(x for x, _ in points), tuple(y for _, y in points)


def _number(row: Row, column: PublishedColumn) -> float:
    cell = row[column.name]
    assert isinstance(cell, int | float), "a condition, or a figure that is known"
    return cell


def _spread(values: Iterable[float], most: int) -> list[float]:
    """Pick so many of the values at most, the first and the last among them."""
    ordered = sorted(values)
    if len(ordered) <= most:
        return ordered
    return [ordered[round(place * (len(ordered) - 1) / (most - 1))] for place in range(most)]
