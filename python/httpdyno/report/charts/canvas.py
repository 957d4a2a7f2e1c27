"""What a chart is drawn on: its width, its colours, and the scales that all kinds of charts share."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import altair as alt

from httpdyno.model import Axis, Chart, Scale
from httpdyno.report.cell import without_controls
from httpdyno.report.charts.labels import text_width
from httpdyno.report.charts.theme import Theme

__all__ = [
    "FACE",
    "LABEL_SIZE",
    "Canvas",
    "Part",
    "domain",
    "drawn",
    "fits",
    "named",
    "number",
    "placed",
    "scale",
    "share",
    "stretched",
    "unit",
]

LABEL_SIZE: Final = 12
FACE: Final = 0.87
"""Words are measured in a narrower face than some readers have: they are cut at this share of the room they have."""
Part = dict[str, Any]
"""Part of a specification, as Vega-Lite writes it: Altair's classes for these are slow, with a hundred fields each."""
_NARROW_BELOW: Final = 500
_STEPS: Final = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
_TICKS: Final[dict[Scale, tuple[float, ...]]] = {Scale.PERCENTILE: (0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999)}
_LOGARITHMIC_STEPS: Final = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
_LABEL_ROOM: Final = 48
_LABEL_GAP: Final = 8
_TICK_STEPS: Final = ((10, math.sqrt(50)), (5, math.sqrt(10)), (2, math.sqrt(2)), (1, 0.0))
_TINY: Final = 1e-9
_MILLISECONDS: Final = (
    "datum.value >= 1000 ? format(datum.value / 1000, '~g') + ' s' : format(datum.value, '~g') + ' ms'"
)
_PERCENTILES: Final = "format(100 - 100 / datum.value, '~r') + ' %'"


@dataclass(frozen=True, slots=True)
class Canvas:
    """The paper and the paints of a single drawing."""

    width: int
    """Of the whole drawing, in pixels."""
    theme: Theme
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """What is drawn on it, by the names under which the drawing speaks of it."""
    short: dict[str, str] = field(default_factory=dict)
    """What names read as that would be cut to the same."""

    @property
    def characters(self) -> int:
        """How many characters of a name there is room for in any chart."""
        return 14 if self.narrow else 20

    @property
    def narrow(self) -> bool:
        """Whether it is as narrow as a phone."""
        return self.width < _NARROW_BELOW

    def colour(self, chart: Chart, names: Sequence[str], *, legend: Part | None = None) -> Part:
        """Return the colour of each name."""
        colours = self.theme.stepped(len(names)) if chart.ordered else self.theme.colours(names, chart.colours)
        scale = {"domain": [self.text(name) for name in names], "range": colours}
        # A legend of nothing is infinitely wide.
        return named("name", scale=scale, legend=legend if names else None)

    def text(self, text: str) -> str:
        """Make a text fit to be drawn: what it says of a subject can do nothing to whoever opens the drawing."""
        return without_controls(self.short.get(text, text))

    def data(self, rows: Sequence[dict[str, Any]]) -> alt.NamedData:
        """Return rows to be drawn; Altair sees their name only, for it would look at every single value."""
        name = f"rows-{len(self.rows)}"
        self.rows[name] = [
            {key: self.text(cell) if isinstance(cell, str) else cell for key, cell in row.items()} for row in rows
        ]
        return alt.NamedData(name=name)

    def marks(self, kind: str, rows: Sequence[dict[str, Any]], encoding: Part, **looks: Any) -> Any:  # noqa: ANN401
        """Draw a mark for each row; ``encoding`` says what its place, its colour and its words come from."""
        return alt.Chart(self.data(rows), **unit(kind, encoding, looks))

    def axis(
        self, axis: Axis, extent: tuple[float, float], pixels: int, *, grid: bool = True, upright: bool = False
    ) -> Part:
        """Describe how an axis is labelled: few values, no line of its own.

        ``upright``: its labels stand one below another.
        """
        settings: Part = {"grid": grid, "tickCount": _ticks(pixels), "title": _title(axis)}
        settings["titleLimit"] = pixels
        if axis.scale is not Scale.LINEAR:
            settings["values"] = _values(axis, extent, pixels)
        if axis.scale is Scale.PERCENTILE:
            settings["labelExpr"] = _PERCENTILES
        elif axis.unit == "ms":
            settings["labelExpr"] = _MILLISECONDS
        elif axis.unit == "%":
            settings["labelExpr"] = "datum.label + ' %'"
        if axis.scale is Scale.LINEAR and not upright and (between := _crowded(axis, extent, pixels)):
            low, high = between
            label = settings.get("labelExpr", "datum.label")
            settings["labelExpr"] = f"datum.value > {low:g} && datum.value < {high:g} ? '' : {label}"
        return settings

    def above(self, axis: Axis, extent: tuple[float, float], pixels: int) -> Part:
        """Describe a vertical axis: its title stands above it, where it can be read without turning the head."""
        turned = {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleBaseline": "bottom"}
        return {**self.axis(axis, extent, pixels, upright=True), **turned, "titleX": 0, "titleY": -8}

    def names(self, names: Sequence[str], width: float, **spread: float) -> Part:
        """Encode rows by their names, which stand at the left and have that width, whatever face they come to have."""
        labels = [self.text(name) for name in names]
        axis = {
            "title": None,
            "labelColor": self.theme.ink,
            "labelFontSize": LABEL_SIZE + 1,
            "labelLimit": int(FACE * (width - 10)),
            "labelPadding": 10,
            "minExtent": int(width),
            "maxExtent": int(width),
        }
        return named("name", sort=labels, scale={"domain": labels, **spread}, axis=axis)

    def configured(self, drawing: Any) -> Any:  # noqa: ANN401  # Altair's many kinds of charts
        """Set the looks of a drawing that all charts share."""
        theme = self.theme
        text = {"labelColor": theme.quiet, "titleColor": theme.quiet, "labelFontSize": LABEL_SIZE}
        return drawing.configure(
            background=theme.surface,
            font="system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif",
            padding={"left": 2, "right": 4, "top": 4, "bottom": 4},
            view={"stroke": None},
            axis={
                "domain": False,
                "ticks": False,
                "gridColor": theme.line,
                "labelPadding": 6,
                "titleFontWeight": "normal",
                "titleFontSize": LABEL_SIZE,
                "titlePadding": 8,
                "labelOverlap": True,
                **text,
            },
            legend={"orient": "top", "title": None, "symbolType": "square", "columnPadding": 14, "offset": 8, **text},
            title={
                "anchor": "start",
                "color": theme.ink,
                "fontSize": 13,
                "fontWeight": 600,
                "offset": 6,
                "limit": self.width,
            },
        )


def unit(kind: str, encoding: Part, looks: Part) -> Part:
    """Describe a mark and its encoding; one that has no words of its own is silent, or Vega makes some up."""
    silent = {} if "description" in encoding else {"aria": False}
    return {"mark": {"type": kind, **silent, **looks}, "encoding": alt.FacetedEncoding(**encoding)}


def number(field: str, **how: Any) -> Part:  # noqa: ANN401
    """Encode a number of each row."""
    return {"field": field, "type": "quantitative", **how}


def named(field: str, **how: Any) -> Part:  # noqa: ANN401
    """Encode a text of each row."""
    return {"field": field, "type": "nominal", **how}


def domain(axis: Axis, values: Iterable[float | None]) -> tuple[float, float]:
    """Find where an axis begins and ends so that all values are on it and the ends are round.

    A linear axis holds zero: lengths on it are then as the values. A logarithmic one spans half a decade at least.
    """
    known = [value for value in values if value is not None and fits(axis, value)]
    if axis.scale is Scale.PERCENTILE:
        return 1.0, max([2.0, *map(stretched, known)])
    if axis.scale is Scale.LOGARITHMIC:
        low, high = min(known, default=1.0), max(known, default=1.0)
        middle = math.sqrt(low * high)
        return min(low / 1.04, middle / 1.8), max(high * 1.04, middle * 1.8)
    low, high = min([0.0, *known]), max([0.0, *known])
    return -_round_up(-low), _round_up(high) or 1.0


def stretched(percentile: float) -> float:
    """Place a percentile on its axis: 0 at 1, 90 at 10, 99 at 100, so that a logarithmic axis spreads the tail."""
    return 100 / (100 - percentile)


def scale(axis: Axis, extent: tuple[float, float]) -> Part:
    """Describe the scale of an axis."""
    kind = "linear" if axis.scale is Scale.LINEAR else "log"
    return {"type": kind, "domain": list(extent), "nice": False, "zero": False}


def placed(axis: Axis, value: float) -> float:
    """Return the value by which a scale places a figure: the stretched one of a percentile."""
    return stretched(value) if axis.scale is Scale.PERCENTILE else value


def fits(axis: Axis, value: float | str | None) -> bool:
    """Return whether a value has a place on the axis."""
    if value is None or isinstance(value, str):
        return value is not None
    if axis.scale is Scale.PERCENTILE:
        return 0 <= value < 100  # percent
    return math.isfinite(value) and (value > 0 or axis.scale is Scale.LINEAR)


def share(axis: Axis, extent: tuple[float, float], value: float) -> float:
    """Return how far along the axis a value stands, 0 to 1."""
    low, high = extent
    value = placed(axis, value)
    if axis.scale is Scale.LINEAR:
        return (value - low) / (high - low)
    return math.log(value / low) / math.log(high / low)


def drawn(chart: Chart) -> list[str]:
    """List the names of the chart's series, each once, in their order."""
    return list(dict.fromkeys(series.name for series in chart.series))


def _title(axis: Axis) -> str:
    shown = axis.unit and axis.unit not in {"ms", "%"}
    return f"{axis.label}, {axis.unit}" if shown else axis.label


def _round_up(value: float) -> float:
    if value <= 0:
        return 0.0
    decade = 10.0 ** math.floor(math.log10(value))
    return next(step * decade for step in _STEPS if step * decade >= value * (1 - 1e-9))


def _ticks(pixels: int) -> int:
    return max(2, pixels // 70)


def _crowded(axis: Axis, extent: tuple[float, float], pixels: int) -> tuple[float, float] | None:
    """Return between which values a label of a linear axis has no room beside that of its end; None where all have.

    That of the end is moved inwards by half of its width. Steps are those of d3, which Vega labels by:
    https://github.com/d3/d3-array#ticks.
    """
    low, high = extent
    wanted = (high - low) / _ticks(pixels)
    decade = 10.0 ** math.floor(math.log10(wanted))
    step = decade * next(size for size, least in _TICK_STEPS if wanted / decade >= least)
    room = 1.5 * text_width(f"{high:g} {axis.unit}".rstrip(), LABEL_SIZE) + _LABEL_GAP
    ends_with_a_label = abs(high / step - round(high / step)) < _TINY
    if not ends_with_a_label or step / (high - low) * pixels >= room:
        return None
    return high - 1.5 * step, high - 0.5 * step


def _values(axis: Axis, extent: tuple[float, float], pixels: int) -> list[float]:
    """Choose the values that are labelled on an axis that is not linear: as many as have room for their labels."""
    if axis.scale is Scale.PERCENTILE:
        return [stretched(tick) for tick in _TICKS[axis.scale] if stretched(tick) <= extent[1]]
    decades = range(math.floor(math.log10(extent[0])), math.ceil(math.log10(extent[1])) + 1)
    shown: list[float] = []
    for steps in _LOGARITHMIC_STEPS:
        values = [step * 10.0**decade for decade in decades for step in steps]
        shown = [value for value in values if extent[0] <= value <= extent[1]]
        places = [share(axis, extent, value) * pixels for value in shown]
        if all(after - before >= _LABEL_ROOM for before, after in pairwise(places)):
            break
    return shown
