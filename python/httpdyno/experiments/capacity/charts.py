"""The charts of the capacity question: the grid of points, and the frontiers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final

from httpdyno.experiments.capacity.axes import LINK_RATE
from httpdyno.experiments.capacity.frontier import Frontier, FrontierPoint
from httpdyno.experiments.capacity.points import TONES, Layout, Mark, PointResult, target_words
from httpdyno.model import Axis, Chart, ChartKind, Series, Tile, Tone, format_time

_KIB: Final = 1024
_FILLED: Final = 0.6
"""Least share of points for a grid chart: the scattered points of a search make no grid."""
_FRAMES: Final = 6
"""Most frames that a reader can compare; the table has a row for each setting."""


def grid_chart(points: Sequence[PointResult], names: Mapping[str, str]) -> Chart | None:
    """Draw one grid for each subject and each value of the axes that are neither rows nor columns.

    None if the points fill too little of the grid. ``names`` maps ids of subjects to their names, in the order of the
    report.
    """
    if not points:
        return None
    layout = Layout.of([one.point for one in points])
    (across, columns), (up, rows) = layout.columns(points), layout.rows(points, names)
    if layout.up is None:
        # Rows are stacked upwards.
        rows = dict(reversed([*rows.items()]))
    placed = {layout.place(one): one for one in points}
    panels = {panel: layout.panel_name(panel, names) for panel in dict.fromkeys(panel for panel, _, _ in placed)}
    if len(points) < _FILLED * len(columns) * len(rows) * len(panels):
        return None
    tiles = [
        Tile(panels[panel], columns[column], rows[row], one.tone, one.word, _describe_point(one, layout, names))
        for panel, row, column in product(panels, rows, columns)
        if (one := placed.get((panel, row, column))) is not None
    ]
    target, shared = target_words(points), layout.shared([one.point for one in points])
    marks = {one.mark for one in points}
    caption = {
        "Each point shows the share of the rate that was reached, in per cent.": True,
        "slow: the rate was reached, but answers took longer than the objective allows.": Mark.SLOW in marks,
        "errors: too many requests failed.": Mark.ERRORS in marks,
        "The line joins the last points that hold.": True,
        f"All points: {shared}.": shared,
    }
    return Chart(
        name="grid",
        title=f"Where {target} are held" if target else "Answers a second",
        kind=ChartKind.TILES,
        x=Axis(across),
        y=Axis(up),
        series=(),
        caption=" ".join(sentence for sentence, applies in caption.items() if applies),
        section="Where it holds",
        tiles=tuple(tiles),
        tones=TONES,
    )


def _describe_point(one: PointResult, layout: Layout, names: Mapping[str, str]) -> str:
    axes = [axis for axis in (layout.up, layout.across) if axis is not None]
    where = [*([] if layout.up else [names[one.subject]]), *(axis.name(axis.at(one.point)) for axis in axes)]
    parts = [", ".join(filter(None, where))]
    if one.per_s is not None:
        parts.append(f"{one.per_s:,.0f} a second" + (f", p99 {format_time(one.p99_ns)}" if one.p99_ns else ""))
    if one.tone is not Tone.HELD:
        parts += filter(None, (one.why, one.limit_text))
    return "; ".join(parts)


def frontier_charts(
    frontiers: Sequence[Frontier], points: Sequence[PointResult], names: Mapping[str, str]
) -> Iterator[Chart]:
    """Draw the frontiers of all subjects, one chart for each combination of the other settings, if these are few.

    ``points`` are of the same trials and give the target. ``names`` maps ids of subjects to their names.
    """
    frames = dict.fromkeys(one.rest for one in frontiers)
    for nth, rest in enumerate(frames if len(frames) <= _FRAMES else ()):
        drawn = [one for one in frontiers if one.rest == rest]
        axis = drawn[0].axis
        if len(drawn[0].points) < len(("from", "to")):
            continue
        unit, factor = axis.unit([point.x for one in drawn for point in one.points])
        series = [_series(one, names[one.subject], factor) for one in drawn]
        if axis is LINK_RATE:
            series += _link_series(points, series, factor)
        yield Chart(
            name=f"frontier-{nth}" if nth else "frontier",
            title=f"Largest answers at which {target_words(points)} are held{f', {rest}' if rest else ''}",
            kind=ChartKind.STAIRS,
            x=Axis(axis.label, unit),
            y=Axis("largest size that holds", "KiB"),
            series=tuple(series),
            caption=_frontier_caption(drawn, axis.label),
            section="How far it reaches",
            colours=tuple(names.values()),
        )


def _series(one: Frontier, name: str, factor: int) -> Series:
    def sizes(size: Callable[[FrontierPoint], int | None]) -> tuple[float | None, ...]:
        return tuple(None if (found := size(point)) is None else found / _KIB for point in one.points)

    return Series(
        name,
        tuple(point.x / factor for point in one.points),
        sizes(lambda point: point.reached),
        sizes(lambda point: point.holds_up_to),
        sizes(lambda point: point.fails_from),
    )


def _link_series(points: Sequence[PointResult], reached: Sequence[Series], factor: int) -> list[Series]:
    """Draw the sizes that the rate of the link allows, up to the largest measured size."""
    targets = {one.point.target_per_s for one in points}
    target = targets.pop()
    if targets or target is None:
        return []
    across = [x for series in reached for x in series.x if not isinstance(x, str)]
    tried = max(one.point.size_bytes for one in points) / _KIB
    per_unit = factor / 8 / target / _KIB
    ends = [(x, x * per_unit) for x in (min(across), min(max(across), 1.2 * tried / per_unit))]
    return [Series("limit of the link", tuple(x for x, _ in ends), tuple(y for _, y in ends), faint=True)]


def _frontier_caption(drawn: Sequence[Frontier], label: str) -> str:
    trials, grid = sum(one.trials for one in drawn), sum(one.grid_trials for one in drawn)
    points = [point for one in drawn for point in one.points]
    sentences = {
        f"The line is the largest size that a subject holds; between two values of the {label} it stays at that of the"
        " harder one. Bars extend from the largest size that surely holds to the smallest that surely fails; the result"
        " in the shaded parts is unknown.": True,
        "Upward arrow: this size or more; no larger size is known to fail.": any(
            point.fails_from is None for point in points
        ),
        "Downward arrow: the smallest measured size already fails.": any(
            point.fails_from and point.held is None for point in points
        ),
        "Lines that would overlap are drawn side by side.": len(drawn) > 1,
        f"Found in {trials} trials; the grid has {grid} points.": grid > trials,
    }
    return " ".join(sentence for sentence, applies in sentences.items() if applies)
