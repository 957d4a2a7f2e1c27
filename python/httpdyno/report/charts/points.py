"""Points in one frame, each series named at its main one; and points with curves fitted to them."""

from collections.abc import Iterator
from typing import Any, Final

import altair as alt

from httpdyno.model import Chart, Mark, Series
from httpdyno.report.charts.canvas import (
    FACE,
    LABEL_SIZE,
    Canvas,
    Part,
    domain,
    drawn,
    fits,
    named,
    number,
    placed,
    point_words,
    scale,
    share,
    text_width,
)

_POINTS_HEIGHT: Final = 300
_SIDE: Final = 62
_RADIUS: Final = 9
_Box = tuple[float, float, float, float]


def draw_points(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``POINTS``."""
    width = canvas.width - _SIDE
    across = domain(chart.x, [x for series in chart.series for x in series.x if not isinstance(x, str)])
    up = domain(chart.y, [y for series in chart.series for y in series.y])
    place = {
        "x": number("x", scale=scale(chart.x, across), axis=canvas.axis(chart.x, across, width)),
        "y": number("y", scale=scale(chart.y, up), axis=canvas.above(chart.y, up, _POINTS_HEIGHT)),
    }
    hover = place | {"color": canvas.colour(chart, drawn(chart)), "description": named("words")}
    main = [series for series in chart.series if not series.faint]
    rows = _point_rows([series for series in chart.series if series.faint], chart)
    names = _point_rows(main, chart)
    offsets = _place_labels(names, [(across, width), (up, _POINTS_HEIGHT)], chart)
    dot = {"filled": True, "size": 130, "opacity": 1, "stroke": canvas.theme.surface, "strokeWidth": 1.5}
    text = {"align": "left", "baseline": "middle", "fontSize": LABEL_SIZE, "color": canvas.theme.ink, "limit": 200}
    layers = [
        canvas.marks("point", rows, hover, filled=True, size=34, opacity=0.32),
        canvas.marks("point", names, hover, **dot),
        *(
            canvas.marks("text", [row], place | {"text": named("name")}, dx=dx, dy=dy, **text)
            for row, (dx, dy) in zip(names, offsets, strict=True)
        ),
    ]
    return alt.layer(*layers).properties(width=width, height=_POINTS_HEIGHT)


def _point_rows(many: list[Series], chart: Chart) -> list[dict[str, Any]]:
    return [
        {"x": x, "y": y, "name": series.name, "words": point_words(series, place, chart.x, chart.y)}
        for series in many
        for place, (x, y) in enumerate(zip(series.x, series.y, strict=True))
        if fits(chart.x, x) and fits(chart.y, y)
    ]


def _place_labels(
    rows: list[dict[str, Any]], frame: list[tuple[tuple[float, float], int]], chart: Chart
) -> list[tuple[float, float]]:
    """Choose the place of each name around its point: the first free one, else the right."""
    (across, width), (up, height) = frame
    centres = [(share(chart.x, across, row["x"]) * width, (1 - share(chart.y, up, row["y"])) * height) for row in rows]
    taken = [(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in centres]
    offsets = []
    for row, (x, y) in zip(rows, centres, strict=True):
        places = list(_places(text_width(row["name"], LABEL_SIZE)))
        boxes = [(x + dx, y + dy - LABEL_SIZE / 2, x + dx + w, y + dy + LABEL_SIZE / 2) for dx, dy, w in places]
        free = [
            number
            for number, box in enumerate(boxes)
            if box[0] >= 0 and box[2] <= width and not any(_overlap(box, other) for other in taken)
        ]
        chosen = free[0] if free else 0
        taken.append(boxes[chosen])
        offsets.append(places[chosen][:2])
    return offsets


def _places(width: float) -> Iterator[tuple[float, float, float]]:
    """Right, left, above and below of a point, then further away: the offsets and the width of a text."""
    for away in (1.0, 2.0):
        yield _RADIUS + 3, 0, width
        yield -_RADIUS - 3 - width, 0, width
        yield -width / 2, -16 * away, width
        yield -width / 2, 16 * away, width
        yield _RADIUS, -13 * away, width
        yield _RADIUS, 13 * away, width


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


_FITTED_HEIGHT: Final = 320
_ABOVE: Final = 28
"""A legend stands above the title of the vertical axis."""
_LABEL_LINE: Final = 17
_LEGEND_LABEL: Final = 260
_APART: Final = 36
"""Between the names of a legend: long ones come out wider in the face of a page than they are drawn for."""


def draw_fitted(chart: Chart, canvas: Canvas) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Draw a chart of kind ``FITTED``."""
    names = drawn(chart)
    width = canvas.width - _SIDE
    places = [x for series in chart.series for x in series.x if not isinstance(x, str)]
    across = domain(chart.x, [*places, *(mark.x for mark in chart.marks)])
    highest = domain(chart.y, [y for series in chart.series for y in (*series.y, *series.high)])
    # The names of the marked places stand above everything that is drawn.
    room = 1 + _LABEL_LINE * (len(chart.marks) + 0.5) / _FITTED_HEIGHT if chart.marks else 1.0
    up = (highest[0], highest[1] * room)
    legend = {
        "columns": 1 if canvas.narrow else 4,
        "offset": _ABOVE,
        "labelLimit": _LEGEND_LABEL,
        "columnPadding": _APART,
    }
    x = number("x", scale=scale(chart.x, across), axis=canvas.axis(chart.x, across, width))
    y = number("y", scale=scale(chart.y, up), axis=canvas.above(chart.y, up, _FITTED_HEIGHT))
    colour = canvas.colour(chart, names, legend=legend)
    curves = [series for series in chart.series if not series.faint and not series.low]
    points = [series for series in chart.series if not series.faint and series.low]
    behind = [series for series in chart.series if series.faint]
    place = {"x": x, "y": y, "color": colour}
    hover = place | {"description": named("words")}
    ends = place | {"y": y | {"field": "low"}, "y2": {"field": "high"}}
    dot: Part = {"filled": True, "size": 110, "opacity": 1, "stroke": canvas.theme.surface, "strokeWidth": 1.5}
    rows = _fitted_rows(points, chart)
    bounded = [row for row in rows if row["low"] is not None]
    one_by_one = {"detail": named("name"), "order": number("place")}
    drawing = alt.layer(
        canvas.marks("line", _fitted_rows(curves, chart), place | one_by_one, strokeWidth=2, strokeJoin="round"),
        canvas.marks("rule", bounded, ends, strokeWidth=3, strokeCap="round", opacity=0.55),
        canvas.marks("point", _fitted_rows(behind, chart), hover, filled=True, size=34, opacity=0.32),
        canvas.marks("point", rows, hover, **dot),
    )
    if chart.marks:
        marked = alt.layer(*_draw_marks(chart, canvas, across, width))
        drawing = alt.layer(marked, drawing).resolve_scale(x="independent", y="independent")
    return drawing.properties(width=width, height=_FITTED_HEIGHT)


def _fitted_rows(many: list[Series], chart: Chart) -> list[dict[str, Any]]:
    return [
        {
            "x": placed(chart.x, x),
            "y": y,
            "low": series.low[place] if series.low else None,
            "high": series.high[place] if series.high else None,
            "name": series.name,
            "place": place,
            "words": point_words(series, place, chart.x, chart.y),
        }
        for series in many
        for place, (x, y) in enumerate(zip(series.x, series.y, strict=True))
        if not isinstance(x, str) and fits(chart.x, x) and fits(chart.y, y)
    ]


def _draw_marks(chart: Chart, canvas: Canvas, across: tuple[float, float], width: int) -> list[Any]:
    """Draw a line down from each mark's name, which stands where there is room for it."""
    layers: list[Any] = []
    pixels_x, pixels_y = {"domain": [0, width]}, {"domain": [_FITTED_HEIGHT, 0]}
    marks = [(share(chart.x, across, mark.x) * width, mark) for mark in chart.marks if fits(chart.x, mark.x)]
    for line, (leftwards, at, mark) in enumerate(_choose_sides(marks, width)):
        row = {"x": at, "top": line * _LABEL_LINE, "middle": (line + 0.5) * _LABEL_LINE, "bottom": _FITTED_HEIGHT}
        down = {
            "x": number("x", scale=pixels_x, axis=None),
            "y": number("top", scale=pixels_y, axis=None),
            "y2": {"field": "bottom"},
        }
        text = {
            "x": down["x"],
            "y": number("middle", scale=pixels_y, axis=None),
            "text": named("name"),
        }
        room = at if leftwards else width - at
        looks = {
            "align": "right" if leftwards else "left",
            "baseline": "middle",
            "dx": -5 if leftwards else 5,
            "fontSize": LABEL_SIZE,
            "color": canvas.theme.ink,
            "limit": int(max(FACE * room, 40)),
        }
        dashes = {"strokeDash": [4, 3]} if mark.faint else {}
        layers.append(canvas.marks("rule", [row], down, color=canvas.theme.quiet, strokeWidth=1.5, **dashes))
        layers.append(canvas.marks("text", [row | {"name": mark.name}], text, **looks))
    return layers


def _choose_sides(marks: list[tuple[float, Mark]], width: int) -> list[tuple[bool, float, Mark]]:
    """Order the marks from the top; return for each whether its name stands to the left of its line.

    Names to the left come first, from the right; then names to the right, from the left. Each line begins at its own
    name, so that none crosses another name.
    """
    left: list[float] = []
    sided = []
    for at, mark in sorted(marks, key=lambda one: -one[0]):
        end = at + text_width(mark.name, LABEL_SIZE) + 6
        leftwards = at > width / 2 and (end > width or any(at <= other < end for other in left))
        if leftwards:
            left.append(at)
        sided.append((leftwards, at, mark))
    return sorted(sided, key=lambda one: (not one[0], -one[1] if one[0] else one[1]))
