"""Charts of a capacity run: the grid of its points, and how far each subject reaches."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from httpdyno.experiments.capacity.found import TONES, Found, target_words
from httpdyno.experiments.capacity.frontier_point import Frontier, FrontierAxis
from httpdyno.experiments.capacity.grid_axis import FRONTIER_AXES, SIZE
from httpdyno.experiments.capacity.layout import Layout
from httpdyno.experiments.capacity.reach import size_reached
from httpdyno.model import Axis, Chart, ChartKind, Series, Tile, Tone, format_time

__all__ = ["FRONTIER", "GRID", "frontier_charts", "grid_chart"]

GRID: Final = "Where it holds"
FRONTIER: Final = "How far it reaches"
_FILLED: Final = 0.6
"""Of a grid: a search that tries a point here and there makes none."""
_FRAMES: Final = 6
"""More settings than these nobody compares by eye: a table has a row for each."""
_NAMED: Final = {
    FrontierAxis.ROUND_TRIP: "round-trip time",
    FrontierAxis.LINK_RATE: "rate of the link",
    FrontierAxis.DELAY: "delay of the server",
    FrontierAxis.CONCURRENCY: "requests in flight",
}
_KIB: Final = 1024
_BITS: Final = 8


def grid_chart(points: Sequence[Found], names: Mapping[str, str]) -> Chart | None:
    """Draw the points as a grid for each subject and each value of what neither runs across nor up.

    None where there is no point, or too few of a grid. ``names`` maps ids of subjects to their names, in the order of
    the report.
    """
    if not points:
        return None
    layout = Layout.of([one.point for one in points], len(names))
    columns = layout.across.values(one.point for one in points)
    rows = _rows(layout, points, names)
    places = list(dict.fromkeys(layout.panel(one) for one in points))
    if len(points) < _FILLED * len(columns) * len(rows) * len(places):
        return None
    across = dict(zip(columns, layout.across.labels(columns), strict=True))
    placed = {(layout.panel(one), _row(layout, one), layout.across.read(one.point)): one for one in points}
    titles = {place: layout.panel_name(place, names) for place in places}
    tiles = [
        Tile(titles[place], across[column], rows[row], one.tone, one.word, _words(one, layout, names))
        for place in places
        for row in rows
        for column in columns
        if (one := placed.get((place, row, column))) is not None
    ]
    shared = layout.shared([one.point for one in points])
    return Chart(
        name="grid",
        title=f"Where {target_words(points)} are held" if target_words(points) else "Answers a second",
        kind=ChartKind.TILES,
        x=Axis(layout.across.heading(columns)),
        y=Axis(layout.up.heading(layout.up.values(one.point for one in points)) if layout.up else ""),
        series=(),
        caption=_grid_caption(points, shared),
        section=GRID,
        tiles=tuple(tiles),
        tones=TONES,
    )


def frontier_charts(
    frontiers: Sequence[Frontier], points: Sequence[Found], names: Mapping[str, str]
) -> Iterator[Chart]:
    """Draw how far the subjects reach, all in one frame; one for each value of what else was varied, if they are few.

    ``points`` are of the same trials and tell what was to be held. ``names`` maps ids of subjects to their names.
    """
    frames = dict.fromkeys((one.axis, one.rest) for one in frontiers)
    for nth, (axis, rest) in enumerate(frames if len(frames) <= _FRAMES else ()):
        drawn = [one for one in frontiers if (one.axis, one.rest) == (axis, rest)]
        if max(len(one.points) for one in drawn) < len(("from", "to")):
            continue
        label = _NAMED[axis]
        unit, factor = FRONTIER_AXES[axis].unit([point.x for one in drawn for point in one.points])
        series = [_frontier(one, names[one.subject], factor) for one in drawn]
        if axis is FrontierAxis.LINK_RATE:
            series += _allowed(points, series, factor)
        yield Chart(
            name=f"frontier-{nth}" if nth else "frontier",
            title=f"Largest answers at which {target_words(points)} are held{f', {rest}' if rest else ''}",
            kind=ChartKind.STAIRS,
            x=Axis(label, unit),
            y=Axis("largest size that holds", "KiB"),
            series=tuple(series),
            caption=_frontier_caption(drawn, label),
            section=FRONTIER,
            colours=tuple(names.values()),
        )


def _rows(layout: Layout, points: Sequence[Found], names: Mapping[str, str]) -> dict[int | str | None, str]:
    """Return the rows from the lowest up, each with what stands beside it."""
    if layout.up is None:
        return dict(reversed(list(names.items())))
    values = layout.up.values(one.point for one in points)
    return dict(zip(values, layout.up.labels(values), strict=True))


def _row(layout: Layout, one: Found) -> int | str | None:
    return layout.up.read(one.point) if layout.up else one.subject


def _words(one: Found, layout: Layout, names: Mapping[str, str]) -> str:
    """Describe of a point everything that is known: where it is, what was found, and what limits it."""
    where = [axis.name(axis.read(one.point)) for axis in (layout.up, layout.across) if axis is not None]
    who = [] if layout.up else [names[one.subject]]
    told = [", ".join(part for part in (*who, *where) if part)]
    if one.per_s is not None:
        told.append(f"{one.per_s:,.0f} a second" + (f", p99 {format_time(one.p99_ns)}" if one.p99_ns else ""))
    told += [one.why] if one.why and one.tone is not Tone.HELD else []
    told += [one.limit_text] if one.limit_text and one.tone is not Tone.HELD else []
    return "; ".join(told)


def _grid_caption(points: Sequence[Found], shared: str) -> str:
    told = ["On each point stands how much of the rate was reached, in per cent."]
    words = {one.word for one in points}
    if "slow" in words:
        told.append("Where that is all of it, but answers took longer than the objective allows, it is slow.")
    if "errors" in words:
        told.append("Where too many requests failed, it says errors.")
    told.append("The line goes along the last points that hold.")
    return " ".join([*told, *([f"All have {shared}."] if shared else [])])


def _frontier(one: Frontier, name: str, factor: int) -> Series:
    return Series(
        name,
        tuple(point.x / factor for point in one.points),
        tuple(_kib(size_reached(point)) for point in one.points),
        tuple(_kib(point.holds_up_to_bytes) for point in one.points),
        tuple(_kib(point.fails_from_bytes) for point in one.points),
    )


def _kib(size_bytes: int | None) -> float | None:
    return None if size_bytes is None else size_bytes / _KIB


def _allowed(points: Sequence[Found], reached: Sequence[Series], factor: int) -> list[Series]:
    """Draw which sizes the rate of the link allows at all, as far up as something was tried."""
    targets = {one.point.target_per_s for one in points}
    target = targets.pop()
    if targets or target is None:
        return []
    across = [x for series in reached for x in series.x if not isinstance(x, str)]
    tried = max((SIZE.read(one.point) or 0) / _KIB for one in points)
    per_unit = factor / _BITS / target / _KIB
    ends = [(x, x * per_unit) for x in (min(across), min(max(across), 1.2 * tried / per_unit))]
    return [Series("what the link allows", tuple(x for x, _ in ends), tuple(y for _, y in ends), faint=True)]


def _frontier_caption(drawn: Sequence[Frontier], label: str) -> str:
    trials, grid = sum(one.trials for one in drawn), sum(one.grid_trials for one in drawn)
    told = [
        f"The line is how far a subject holds, between two values of the {label} as far as at the harder one. The bars"
        " go from the largest size that surely holds to the smallest that surely does not; in the shaded parts"
        " it is not known."
    ]
    if any(point.fails_from_bytes is None for one in drawn for point in one.points):
        told.append("An arrow upwards: this much or more, as no larger size was found to fail for sure.")
    if any(point.fails_from_bytes and point.size_bytes is None for one in drawn for point in one.points):
        told.append("An arrow downwards: not even the smallest size that was tried holds.")
    if len(drawn) > 1:
        told.append("Lines that would lie on each other are drawn side by side.")
    if grid > trials:
        told.append(f"Found in {trials} trials; the grid has {grid} points.")
    return " ".join(told)
