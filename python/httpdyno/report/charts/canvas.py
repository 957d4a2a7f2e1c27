"""The canvas of all charts: colours, labels, and the scales that all kinds share."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, TypeGuard

import numpy as np

from httpdyno.model import Axis, Chart, Scale, Series
from httpdyno.report.cell import figure_text, without_controls


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by purpose, as CSS writes them."""

    surface: str
    """Background."""
    ink: str
    """Text and main marks."""
    quiet: str
    """Labels, and secondary marks."""
    line: str
    """Grids and rules."""
    others: str
    """Series that are shown for comparison only."""
    on_fill: str
    """Text on a bar."""
    series: tuple[str, ...]
    """One colour for each subject, in the order of the report; distinct with every kind of colour blindness."""
    outcomes: Mapping[str, str]
    """Colours by the name of a verdict or of a class of status codes."""
    ramp: tuple[str, ...]
    """Steps of one scale, for names that are ascending values; they differ in lightness, also in black and white."""
    tones: Mapping[str, str]
    """Colours by the result at a point of a grid; ``held`` differs from all others in black and white, too."""
    on_tones: Mapping[str, str]
    """Colours of the text on each of ``tones``."""

    @property
    def every(self) -> tuple[str, ...]:
        """All colours, in the same order in every theme."""
        roles = (self.surface, self.ink, self.quiet, self.line, self.others, self.on_fill)
        named = (colour for colours in (self.outcomes, self.tones, self.on_tones) for colour in colours.values())
        return (*roles, *self.series, *self.ramp, *named)

    def stepped(self, count: int) -> list[str]:
        """Return the colours of ``count`` ascending values, as far apart on the scale as possible."""
        last = len(self.ramp) - 1
        return [self.ramp[round(place * last / max(count - 1, 1))] for place in range(count)]

    def colours(self, names: Sequence[str], order: Sequence[str]) -> list[str]:
        """Return the colour of each name: by its place in the order, else by its meaning, else that of a label."""
        places = dict(zip(order, self.series, strict=False))
        return [places.get(name) or self.outcomes.get(name, self.quiet) for name in names]


# Each with the colour on light, then on dark.
_ROLES: Final = (
    ("surface", "#ffffff", "#14161a"),
    ("ink", "#1b1e23", "#e8eaed"),
    ("quiet", "#646b75", "#9aa2ad"),
    ("line", "#e4e6ea", "#2b2f36"),
    ("others", "#c3c8cf", "#4a515b"),
    ("on_fill", "#16181b", "#ffffff"),
)
_SERIES: Final = (
    ("#3899ed", "#3d7cd9"),
    ("#a65305", "#e98c3b"),
    ("#337d7c", "#46dce1"),
    ("#72193a", "#9f5a64"),
    ("#bd8b21", "#eec535"),
    ("#521e97", "#a09bf4"),
    ("#744469", "#b77fa7"),
    ("#869873", "#b7cb95"),
    ("#2c3f55", "#6c768f"),
    ("#a77347", "#c7a18d"),
    ("#398dac", "#74b6cc"),
    ("#880f15", "#d96657"),
)
_OUTCOMES: Final = (
    ("right", "#8cbfb0", "#417c6f"),
    ("explained", "#d8c79a", "#7d7149"),
    ("wrong_status", "#eda96b", "#b4602a"),
    ("wrong_length", "#dd8a63", "#b8562a"),
    ("late", "#ecc878", "#947026"),
    ("false_error", "#d87c7c", "#b35252"),
    ("missed_error", "#c18ba6", "#93486a"),
    ("wrong_time", "#a794c6", "#7c5a94"),
    ("not_reached", "#b4b9c1", "#5d646e"),
    ("unverified", "#d3d7dc", "#474d56"),
    ("2xx", "#8cbfb0", "#417c6f"),
    ("3xx", "#a9cbdc", "#4c788d"),
    ("4xx", "#ecc878", "#947026"),
    ("5xx", "#dd8a63", "#b8562a"),
    ("exception", "#b1a7cf", "#75699a"),
)
_RAMP: Final = (
    ("#c58622", "#7c64c4"),
    ("#5c8a4e", "#4f8ad6"),
    ("#157a78", "#31acb4"),
    ("#27598c", "#5fc977"),
    ("#45307e", "#bddc4a"),
    ("#2f0a38", "#fff3a0"),
)
_TONES: Final = (
    # fill and text on light, then on dark
    ("held", "#1f5fa8", "#ffffff", "#6db1f5", "#0d0f12"),
    ("doubtful", "#a9cbee", "#16181b", "#2c5784", "#ffffff"),
    ("near", "#fbe0b4", "#16181b", "#4a3a20", "#ffffff"),
    ("part", "#f7c183", "#16181b", "#7a5120", "#ffffff"),
    ("little", "#e08a4a", "#16181b", "#b05f17", "#ffffff"),
    ("unknown", "#e6e9ed", "#51575f", "#23272d", "#a9b0ba"),
)


def _theme(choose: Callable[[str, str, str], str]) -> Theme:
    """Make a theme; ``choose`` gets the name of each colour, the colour on light and the colour on dark."""
    return Theme(
        **{role: choose(role.replace("_", "-"), *colours) for role, *colours in _ROLES},
        series=tuple(choose(f"series-{place}", *colours) for place, colours in enumerate(_SERIES)),
        outcomes={name: choose(f"outcome-{name}", *colours) for name, *colours in _OUTCOMES},
        ramp=tuple(choose(f"ramp-{place}", *colours) for place, colours in enumerate(_RAMP)),
        tones={name: choose(f"tone-{name}", light, dark) for name, light, _, dark, _ in _TONES},
        on_tones={name: choose(f"on-tone-{name}", light, dark) for name, _, light, _, dark in _TONES},
    )


LIGHT: Final = _theme(lambda _name, light, _dark: light)
DARK: Final = _theme(lambda _name, _light, dark: dark)
VARIABLES: Final = _theme(lambda name, _light, _dark: f"var(--{name})")
"""Names of CSS variables in place of colours: the page defines them, so one drawing serves light, dark and print."""


def style(theme: Theme) -> str:
    """Write the declarations that give the names of ``VARIABLES`` the colours of a theme."""
    pairs = zip(VARIABLES.every, theme.every, strict=True)
    return "".join(f"{name.removeprefix('var(').removesuffix(')')}:{colour};" for name, colour in pairs)


_CHARACTER: Final = 0.62
"""Mean width of a character as a share of its size, in the widest font that readers have."""
_POINTS: Final = 160
"""Number of a chart's points with a tooltip: enough for every place of the pointer, few enough for a small page."""
_FEWEST_POINTS: Final = 12
_THOUSAND: Final = 1000


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions as little as their order allows until neighbours are ``gap`` apart.

    ``wanted`` may be in any order; the result is in the same order. The labels stay within ``low`` and ``high``
    if there is room for all; else they continue below ``high``.
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    # After the subtraction of the gaps, positions that are far enough apart ascend.
    rising = np.maximum.accumulate(np.asarray(wanted, dtype=np.float64)[order] - steps)
    placed = np.empty(len(wanted))
    placed[order] = np.clip(rising, low, max(low, high - gap * (len(wanted) - 1))) + steps
    return [float(position) for position in placed]


def distinct_short_forms(names: Sequence[str], most: int) -> dict[str, str]:
    """Shorten names to ``most`` characters, if they would look the same when cut at that length.

    A short form has the beginning of the name, and the part that begins where the names differ. The result is by name,
    without names that need no short form, or have no distinct one.
    """
    unique = list(dict.fromkeys(names))
    head = (most - 1) // 2
    tail = most - 1 - head
    short: dict[str, str] = {}
    for name in unique:
        alike = [other for other in unique if other[: most - 1] == name[: most - 1]]
        if len(alike) > 1 and len(name) > most:
            letters = enumerate(zip(*alike, strict=False))
            differ = next((place for place, column in letters if len({*column}) > 1), min(map(len, alike)))
            begin = max(head, min(differ, len(name) - tail))
            short[name] = f"{name[:head]}\u2026{name[begin : begin + tail]}"
    shown = Counter(short.get(name, name) for name in unique)
    return {name: text for name, text in short.items() if shown[text] == 1}


def text_width(text: str, size: float) -> float:
    """Estimate the width of a text, in pixels; the font is unknown."""
    return _CHARACTER * size * len(text)


def with_unit(value: float, axis: Axis) -> str:
    """Write a figure with the unit of its axis; a thousand milliseconds are a second."""
    if axis.unit == "ms" and abs(value) >= _THOUSAND:
        return f"{value / _THOUSAND:.3g} s"
    # High percentiles differ only in their nines, so they need more digits.
    number = f"{value:.6g}" if axis.unit == "%" else figure_text(value)
    return f"{number} {axis.unit}".strip()


def bounds(series: Series, place: int) -> tuple[float | None, float | None]:
    """Return both ends of a point's interval; None without an interval."""
    return (series.low[place], series.high[place]) if series.low else (None, None)


def point_words(chart: Chart, series: Series, place: int) -> str:
    """Describe a point in one line: its series, its place and its interval."""
    x, y = chart.x, chart.y
    across, up = series.x[place], series.y[place]
    low, high = bounds(series, place)
    words = [series.name] if isinstance(across, str) else [series.name, f"{x.label} {with_unit(across, x)}"]
    if up is not None:
        words.append(f"{y.label} {with_unit(up, y)}")
    if low is not None and high is not None:
        words.append(f"interval {with_unit(low, y)} to {with_unit(high, y)}")
    return ", ".join(words)


LABEL_SIZE: Final = 12
FACE: Final = 0.87
"""Texts are cut to this share of their room, since some readers' fonts are wider than the assumed one."""
Part = dict[str, Any]
"""Part of a specification, as Vega-Lite writes it."""
SIDE: Final = 62
"""Room for the labels of the vertical axis."""
ABOVE: Final = 28
"""A legend stands above the title of the vertical axis."""
LEGEND_GAP: Final = 24
"""Gap between the names of a legend, because a page's font draws long names wider than estimated."""
TITLE_ABOVE: Final[Part] = {
    "titleAngle": 0,
    "titleAlign": "left",
    "titleAnchor": "end",
    "titleBaseline": "bottom",
    "titleX": 0,
    "titleY": -8,
}
"""Puts the title of a vertical axis above it, horizontally."""
_NARROW_BELOW: Final = 500
_STEPS: Final = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
_PERCENTILES: Final = (0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999)
_LOGARITHMIC_STEPS: Final = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
_LABEL_ROOM: Final = 48
_LABEL_GAP: Final = 8
_TICK_STEPS: Final = ((10, math.sqrt(50)), (5, math.sqrt(10)), (2, math.sqrt(2)), (1, 0.0))
_TINY: Final = 1e-9
_MILLISECONDS: Final = (
    "datum.value >= 1000 ? format(datum.value / 1000, '~g') + ' s' : format(datum.value, '~g') + ' ms'"
)
_PERCENTILE_LABEL: Final = "format(100 - 100 / datum.value, '~r') + ' %'"


@dataclass(frozen=True, slots=True)
class Canvas:
    """Width, colours and data of a single drawing."""

    width: int
    """Width of the whole drawing, in pixels."""
    theme: Theme
    rows: dict[str, list[Part]] = field(default_factory=dict)
    """The rows of each mark, by the name under which the specification refers to them."""
    short: dict[str, str] = field(default_factory=dict)
    """Short forms of names that would look the same when cut, by name."""

    @property
    def characters(self) -> int:
        """The number of characters of a name that fit into every chart."""
        return 14 if self.narrow else 20

    @property
    def narrow(self) -> bool:
        """Whether it is as narrow as a phone."""
        return self.width < _NARROW_BELOW

    def colour(self, chart: Chart, *, legend: Part | None = None) -> Part:
        """Encode the colour of each series of a chart."""
        names = drawn(chart)
        colours = self.theme.stepped(len(names)) if chart.ordered else self.theme.colours(names, chart.colours)
        return self.coloured("name", dict(zip(names, colours, strict=True)), legend)

    def coloured(self, field: str, colours: Mapping[str, str], legend: Part | None) -> Part:
        """Encode a text of each row by its colour."""
        scale = {"domain": list(map(self.text, colours)), "range": list(colours.values())}
        # Vega draws a legend without entries infinitely wide.
        return named(field, scale=scale, legend=legend if colours else None)

    def text(self, text: str) -> str:
        """Escape a text for the drawing: text from a subject must not inject anything."""
        return without_controls(self.short.get(text, text))

    def data(self, rows: Iterable[Part]) -> Part:
        """Return a reference to rows to be drawn."""
        name = f"rows-{len(self.rows)}"
        self.rows[name] = [
            {key: self.text(cell) if isinstance(cell, str) else cell for key, cell in row.items()} for row in rows
        ]
        return {"name": name}

    def trials(self, rows: Iterable[Part], encoding: Part) -> Part:
        """Draw the points of single trials, behind the points of their summary."""
        return self.marks("point", rows, encoding, filled=True, size=34, opacity=0.32)

    def marks(self, kind: str, rows: Iterable[Part], encoding: Part, **looks: Any) -> Part:  # noqa: ANN401
        """Draw a mark for each row; ``encoding`` names the sources of its place, its colour and its words."""
        return {"data": self.data(rows), **mark(kind, encoding, **looks)}

    def names(self, names: Sequence[str], width: float, **spread: float) -> Part:
        """Encode rows by their names, which stand at the left and have this width in every font."""
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

    def configuration(self) -> Part:
        """Return the looks of a drawing that all charts share."""
        theme = self.theme
        text = {"labelColor": theme.quiet, "titleColor": theme.quiet, "labelFontSize": LABEL_SIZE}
        return {
            "background": theme.surface,
            "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', Arial, sans-serif",
            "padding": {"left": 2, "right": 4, "top": 4, "bottom": 4},
            "view": {"stroke": None},
            "axis": {
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
            "legend": {
                "orient": "top",
                "title": None,
                "symbolType": "square",
                "columnPadding": 14,
                "offset": 8,
                **text,
            },
        }


@dataclass(frozen=True, slots=True)
class Ruler:
    """An axis with both of its ends, drawn on so many pixels."""

    axis: Axis
    low: float
    high: float
    pixels: int

    @classmethod
    def around(cls, axis: Axis, values: Iterable[float | None], pixels: int, headroom: float = 1.0) -> "Ruler":
        """Return an axis that ends at round numbers around all values; the upper end is multiplied by ``headroom``.

        A linear axis holds zero: lengths on it are then as the values. A logarithmic one spans half a decade at least.
        """
        known = [placed(axis, value) for value in values if fits(value, axis)]
        if axis.scale is Scale.PERCENTILE:
            low, high = 1.0, max([2.0, *known])
        elif axis.scale is Scale.LOGARITHMIC:
            least, most = min(known, default=1.0), max(known, default=1.0)
            middle = math.sqrt(least * most)
            low, high = min(least / 1.04, middle / 1.8), max(most * 1.04, middle * 1.8)
        else:
            low, high = -_round_up(-min([0.0, *known])), _round_up(max([0.0, *known])) or 1.0
        return cls(axis, low, high * headroom, pixels)

    def share(self, value: float) -> float:
        """Return how far along the axis a placed value stands, 0 to 1."""
        if self.axis.scale is Scale.LINEAR:
            return (value - self.low) / (self.high - self.low)
        return math.log(value / self.low) / math.log(self.high / self.low)

    def encode(self, field: str, *, upright: bool = False) -> Part:
        """Encode a number of each row by its place; ``upright``: the axis is vertical, and its title above it."""
        kind = "linear" if self.axis.scale is Scale.LINEAR else "log"
        scale = {"type": kind, "domain": [self.low, self.high], "nice": False, "zero": False}
        return number(field, scale=scale, axis=self.labels(upright=upright) | (TITLE_ABOVE if upright else {}))

    def labels(self, *, upright: bool = False) -> Part:
        """Describe how the axis is labelled: few values, no line of its own.

        ``upright``: its labels stand one below another.
        """
        axis = self.axis
        title = axis.label if axis.unit in {"", "ms", "%"} else f"{axis.label}, {axis.unit}"
        settings: Part = {"grid": True, "tickCount": self._ticks, "title": title, "titleLimit": self.pixels}
        if axis.scale is not Scale.LINEAR:
            settings["values"] = self._values()
        if axis.scale is Scale.PERCENTILE:
            settings["labelExpr"] = _PERCENTILE_LABEL
        elif axis.unit == "ms":
            settings["labelExpr"] = _MILLISECONDS
        elif axis.unit == "%":
            settings["labelExpr"] = "datum.label + ' %'"
        if axis.scale is Scale.LINEAR and not upright and (between := self._crowded()):
            low, high = between
            label = settings.get("labelExpr", "datum.label")
            settings["labelExpr"] = f"datum.value > {low:g} && datum.value < {high:g} ? '' : {label}"
        return settings

    @property
    def _ticks(self) -> int:
        return max(2, self.pixels // 70)

    def _crowded(self) -> tuple[float, float] | None:
        """Return the values between which a label of a linear axis collides with that of its end; None where none does.

        That of the end is moved inwards by half of its width. Steps are those of d3, which Vega labels by:
        https://github.com/d3/d3-array#ticks.
        """
        length, high = self.high - self.low, self.high
        wanted = length / self._ticks
        decade = 10.0 ** math.floor(math.log10(wanted))
        step = decade * next(size for size, least in _TICK_STEPS if wanted / decade >= least)
        room = 1.5 * text_width(f"{high:g} {self.axis.unit}".rstrip(), LABEL_SIZE) + _LABEL_GAP
        ends_with_a_label = abs(high / step - round(high / step)) < _TINY
        if not ends_with_a_label or step / length * self.pixels >= room:
            return None
        return high - 1.5 * step, high - 0.5 * step

    def _values(self) -> list[float]:
        """Choose the labelled values of an axis that is not linear: as many as fit."""
        if self.axis.scale is Scale.PERCENTILE:
            return [placed(self.axis, tick) for tick in _PERCENTILES if placed(self.axis, tick) <= self.high]
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        shown: list[float] = []
        for steps in _LOGARITHMIC_STEPS:
            values = [step * 10.0**decade for decade in decades for step in steps]
            shown = [value for value in values if self.low <= value <= self.high]
            places = [self.share(value) * self.pixels for value in shown]
            if all(after - before >= _LABEL_ROOM for before, after in pairwise(places)):
                break
        return shown


@dataclass(frozen=True, slots=True)
class Frame:
    """Both axes of a chart."""

    chart: Chart
    canvas: Canvas
    across: Ruler
    up: Ruler

    @classmethod
    def around(cls, chart: Chart, canvas: Canvas, width: float, height: int, *, headroom: float = 1.0) -> "Frame":
        """Return the frame in which all series, marks and the reference of a chart fit.

        ``headroom`` is the height of the frame over the height of the largest value.
        """
        places = [x for series in chart.series for x in series.x if not isinstance(x, str)]
        values = [y for series in chart.series for y in (*series.y, *series.low, *series.high)]
        across = Ruler.around(chart.x, [*places, *(mark.x for mark in chart.marks)], int(width))
        return cls(chart, canvas, across, Ruler.around(chart.y, [*values, chart.reference], height, headroom))

    @property
    def size(self) -> Part:
        """Width and height, as a part of a specification."""
        return {"width": self.across.pixels, "height": self.up.pixels}

    def place(self) -> Part:
        """Encode both coordinates of each row."""
        return {"x": self.across.encode("x"), "y": self.up.encode("y", upright=True)}

    def points(self, series: Series, places: Iterable[int] | None = None, *, words: bool = False) -> list[Part]:
        """Return a row for each point of a series that has a place on both axes.

        ``places`` are the indices of the points, by default all; with ``words`` each point has a tooltip.
        """
        chart = self.chart
        return [
            {
                "x": placed(chart.x, x),
                "y": y,
                **dict(zip(("low", "high"), bounds(series, place), strict=True)),
                "name": series.name,
                "place": place,
                **({"words": point_words(chart, series, place)} if words else {}),
            }
            for place in (range(len(series.x)) if places is None else places)
            for x, y in [(series.x[place], series.y[place])]
            if fits(x, chart.x) and fits(y, chart.y)
        ]

    def hovered(self, series: Series) -> list[Part]:
        """Return those points of a series that have a tooltip: few enough to keep a page small."""
        shown = sum(not one.faint for one in self.chart.series)
        step = max(1, len(series.x) // max(_FEWEST_POINTS, _POINTS // max(shown, 1)))
        return self.points(series, range(0, len(series.x), step), words=True)

    def pixels(self, row: Part) -> tuple[float, float]:
        """Return the place of a point, in pixels from the top left."""
        across, up = self.across, self.up
        return across.share(row["x"]) * across.pixels, (1 - up.share(row["y"])) * up.pixels


def mark(kind: str, encoding: Part, **looks: Any) -> Part:  # noqa: ANN401
    """Describe a mark and its encoding; one without a description has no tooltip."""
    silent = {} if "description" in encoding else {"aria": False}
    return {"mark": {"type": kind, **silent, **looks}, "encoding": encoding}


def number(field: str, **how: Any) -> Part:  # noqa: ANN401
    """Encode a number of each row by the field's name."""
    return {"field": field, "type": "quantitative", **how}


def pixel(field: str) -> Part:
    """Encode a coordinate of each row, in pixels from the top left."""
    return number(field, scale=None, axis=None)


def named(field: str, **how: Any) -> Part:  # noqa: ANN401
    """Encode a text of each row by the field's name."""
    return {"field": field, "type": "nominal", **how}


def dot(canvas: Canvas, size: int, edge: float = 1.5) -> Part:
    """Return the looks of a point that is distinct from the marks below it."""
    return {"filled": True, "size": size, "opacity": 1, "stroke": canvas.theme.surface, "strokeWidth": edge}


def placed(axis: Axis, value: float) -> float:
    """Return the value that a scale uses for a figure.

    For percentiles it is 1 for 0, 10 for 90, 100 for 99, so that a logarithmic axis spreads the tail.
    """
    return 100 / (100 - value) if axis.scale is Scale.PERCENTILE else value


def fits(value: float | str | None, axis: Axis) -> TypeGuard[float]:
    """Return whether a value is a number with a place on the axis."""
    if value is None or isinstance(value, str):
        return False
    if axis.scale is Scale.PERCENTILE:
        return 0 <= value < 100  # percent
    return math.isfinite(value) and (value > 0 or axis.scale is Scale.LINEAR)


def drawn(chart: Chart) -> list[str]:
    """List the names of the chart's series, each once, in their order."""
    return list(dict.fromkeys(series.name for series in chart.series))


def _round_up(value: float) -> float:
    if value <= 0:
        return 0.0
    decade = 10.0 ** math.floor(math.log10(value))
    return next(step * decade for step in _STEPS if step * decade >= value * (1 - 1e-9))
