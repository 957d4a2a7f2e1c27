"""Writes the names of lines at the right of their frame, each joined to the end of its line by a thin one."""

from collections.abc import Mapping
from typing import Any, Final

import altair as alt

from httpdyno.model import Chart
from httpdyno.report.charts.canvas import FACE, LABEL_SIZE, Canvas, drawn, named, number
from httpdyno.report.charts.labels import apart, text_width

__all__ = ["beside", "named_ends"]

_GAP: Final = 17
_LEADER: Final = 26
_NAMES_AT_MOST: Final = 180


def beside(chart: Chart) -> float:
    """Estimate the room that the names of a chart's series need, in pixels."""
    return _LEADER + min(max((text_width(name, LABEL_SIZE) for name in drawn(chart)), default=0), _NAMES_AT_MOST)


def named_ends(chart: Chart, ends: Mapping[str, tuple[float, float]], canvas: Canvas, frame: tuple[int, int]) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
    """Write the names of a chart's series beside the ends of their lines.

    ``ends`` are by name, in pixels from the top left; ``frame`` is the width and height of what the lines are in.
    """
    width, height = frame
    heights = apart([y for _, y in ends.values()], _GAP, 0, height)
    rows = [
        {"name": name, "fromX": x, "fromY": y, "toX": width + _LEADER - 6, "textX": width + _LEADER, "toY": at}
        for (name, (x, y)), at in zip(ends.items(), heights, strict=True)
    ]
    pixels_x, pixels_y = {"domain": [0, width]}, {"domain": [height, 0]}
    leader = {
        "x": number("fromX", scale=pixels_x, axis=None),
        "x2": {"field": "toX"},
        "y": number("fromY", scale=pixels_y, axis=None),
        "y2": {"field": "toY"},
        "color": canvas.colour(chart, drawn(chart)),
    }
    text = {
        "x": number("textX", scale=pixels_x, axis=None),
        "y": number("toY", scale=pixels_y, axis=None),
        "text": named("name"),
    }
    looks = {
        "align": "left",
        "baseline": "middle",
        "fontSize": LABEL_SIZE,
        "color": canvas.theme.ink,
        "limit": int(FACE * _NAMES_AT_MOST),
    }
    return alt.layer(
        canvas.marks("rule", rows, leader, strokeWidth=1, opacity=0.6), canvas.marks("text", rows, text, **looks)
    )
