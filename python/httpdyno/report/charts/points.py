"""Points in one frame, with the name of each series at its main point; and points with fitted curves."""

from collections.abc import Iterable, Iterator
from typing import Final

from httpdyno.model import Chart, Mark, Series
from httpdyno.report.charts.canvas import (
    ABOVE,
    FACE,
    LABEL_SIZE,
    SIDE,
    Canvas,
    Frame,
    Part,
    dot,
    fits,
    named,
    number,
    pixel,
    placed,
    text_width,
)

_POINTS_HEIGHT: Final = 300
_RADIUS: Final = 9
_Box = tuple[float, float, float, float]


def draw_points(chart: Chart, canvas: Canvas) -> Part:
    """Draw a chart of kind ``POINTS``."""
    frame = Frame.around(chart, canvas, canvas.width - SIDE, _POINTS_HEIGHT)
    place = frame.place()
    hover = place | {"color": canvas.colour(chart), "description": named("words")}
    rows = _rows(frame, (series for series in chart.series if not series.faint))
    trials = _rows(frame, (series for series in chart.series if series.faint))
    text = {"align": "left", "baseline": "middle", "fontSize": LABEL_SIZE, "color": canvas.theme.ink, "limit": 200}
    layers = [
        canvas.trials(trials, hover),
        canvas.marks("point", rows, hover, **dot(canvas, 130)),
        *(
            canvas.marks("text", [row], place | {"text": named("name")}, dx=dx, dy=dy, **text)
            for row, (dx, dy) in zip(rows, _place_labels(rows, frame), strict=True)
        ),
    ]
    return {"layer": layers, **frame.size}


def _rows(frame: Frame, many: Iterable[Series]) -> list[Part]:
    return [row for series in many for row in frame.points(series, words=True)]


def _place_labels(rows: list[Part], frame: Frame) -> list[tuple[float, float]]:
    """Choose the place of each name around its point: the first free place, else the right."""
    centres = [frame.pixels(row) for row in rows]
    taken = [(x - _RADIUS, y - _RADIUS, x + _RADIUS, y + _RADIUS) for x, y in centres]
    offsets = []
    for row, (x, y) in zip(rows, centres, strict=True):
        places = list(_places(text_width(row["name"], LABEL_SIZE)))
        boxes = [(x + dx, y + dy - LABEL_SIZE / 2, x + dx + w, y + dy + LABEL_SIZE / 2) for dx, dy, w in places]
        free = [
            number
            for number, box in enumerate(boxes)
            if box[0] >= 0 and box[2] <= frame.across.pixels and not any(_overlap(box, other) for other in taken)
        ]
        chosen = free[0] if free else 0
        taken.append(boxes[chosen])
        offsets.append(places[chosen][:2])
    return offsets


def _places(width: float) -> Iterator[tuple[float, float, float]]:
    """Yield offsets of a text: right, left, above and below of a point, then farther away."""
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
_LABEL_LINE: Final = 17
_LEGEND_LABEL: Final = 260
_LEGEND_GAP: Final = 36


def draw_fitted(chart: Chart, canvas: Canvas) -> Part:
    """Draw a chart of kind ``FITTED``."""
    # The names of the marks stand above all lines and points.
    headroom = 1 + _LABEL_LINE * (len(chart.marks) + 0.5) / _FITTED_HEIGHT if chart.marks else 1.0
    frame = Frame.around(chart, canvas, canvas.width - SIDE, _FITTED_HEIGHT, headroom=headroom)
    legend = {
        "columns": 1 if canvas.narrow else 4,
        "offset": ABOVE,
        "labelLimit": _LEGEND_LABEL,
        "columnPadding": _LEGEND_GAP,
    }
    place = frame.place() | {"color": canvas.colour(chart, legend=legend)}
    hover = place | {"description": named("words")}
    ends = place | {"y": place["y"] | {"field": "low"}, "y2": {"field": "high"}}
    one_by_one = place | {"detail": named("name"), "order": number("place")}
    curves = _rows(frame, (series for series in chart.series if not series.faint and not series.low))
    rows = _rows(frame, (series for series in chart.series if not series.faint and series.low))
    trials = _rows(frame, (series for series in chart.series if series.faint))
    bounded = [row for row in rows if row["low"] is not None]
    layers = [
        *_draw_marks(frame),
        canvas.marks("line", curves, one_by_one, strokeWidth=2, strokeJoin="round"),
        canvas.marks("rule", bounded, ends, strokeWidth=3, strokeCap="round", opacity=0.55),
        canvas.trials(trials, hover),
        canvas.marks("point", rows, hover, **dot(canvas, 110)),
    ]
    return {"layer": layers, **frame.size}


def _draw_marks(frame: Frame) -> list[Part]:
    """Draw a line down from each mark's name, on the side of the line where the name fits."""
    chart, canvas, width = frame.chart, frame.canvas, frame.across.pixels
    layers: list[Part] = []
    known = [mark for mark in chart.marks if fits(mark.x, chart.x)]
    marks = [(frame.across.share(placed(chart.x, mark.x)) * width, mark) for mark in known]
    down = {"x": pixel("x"), "y": pixel("top"), "y2": {"field": "bottom"}}
    text = {"x": pixel("x"), "y": pixel("middle"), "text": named("name")}
    for line, (leftwards, at, mark) in enumerate(_choose_sides(marks, width)):
        row = {"x": at, "top": line * _LABEL_LINE, "middle": (line + 0.5) * _LABEL_LINE, "bottom": frame.up.pixels}
        looks = {
            "align": "right" if leftwards else "left",
            "baseline": "middle",
            "dx": -5 if leftwards else 5,
            "fontSize": LABEL_SIZE,
            "color": canvas.theme.ink,
            "limit": int(max(FACE * (at if leftwards else width - at), 40)),
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
