"""The canvas of all charts: colours, labels, and the scales that all kinds share."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import altair as alt

from httpdyno.model import Axis, Chart, Scale, Series
from httpdyno.report.cell import without_controls


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by what they are for, as CSS writes them."""

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
    """One for each subject, in the order of the report; distinguishable with every kind of colour blindness."""
    outcomes: Mapping[str, str]
    """By the name of a verdict or of a class of status codes."""
    ramp: tuple[str, ...]
    """Steps of one scale, for names that are values in their order: lighter and darker also without any colour."""
    tones: Mapping[str, str]
    """By the result at a point of a grid: ``held`` differs from all others in black and white, too."""
    on_tones: Mapping[str, str]
    """Text on each of them."""

    def stepped(self, count: int) -> list[str]:
        """Return the colours of so many values in their order: as far apart on the scale as it allows."""
        last = len(self.ramp) - 1
        return [self.ramp[round(place * last / max(count - 1, 1))] for place in range(count)]

    def colours(self, names: Sequence[str], order: Sequence[str]) -> list[str]:
        """Return the colour of each name: that of its place in the order, else its meaning's, else that of a label."""
        places = dict(zip(order, self.series, strict=False))
        return [places.get(name) or self.outcomes.get(name, self.quiet) for name in names]


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

_TONES: Final = (
    # fill and text, first on light, then on dark
    ("held", "#1f5fa8", "#ffffff", "#6db1f5", "#0d0f12"),
    ("doubtful", "#a9cbee", "#16181b", "#2c5784", "#ffffff"),
    ("near", "#fbe0b4", "#16181b", "#4a3a20", "#ffffff"),
    ("part", "#f7c183", "#16181b", "#7a5120", "#ffffff"),
    ("little", "#e08a4a", "#16181b", "#b05f17", "#ffffff"),
    ("unknown", "#e6e9ed", "#51575f", "#23272d", "#a9b0ba"),
)

LIGHT: Final = Theme(
    surface="#ffffff",
    ink="#1b1e23",
    quiet="#646b75",
    line="#e4e6ea",
    others="#c3c8cf",
    on_fill="#16181b",
    series=(
        "#3899ed",
        "#a65305",
        "#337d7c",
        "#72193a",
        "#bd8b21",
        "#521e97",
        "#744469",
        "#869873",
        "#2c3f55",
        "#a77347",
        "#398dac",
        "#880f15",
    ),
    outcomes={name: light for name, light, _ in _OUTCOMES},
    ramp=("#c58622", "#5c8a4e", "#157a78", "#27598c", "#45307e", "#2f0a38"),
    tones={name: fill for name, fill, _, _, _ in _TONES},
    on_tones={name: text for name, _, text, _, _ in _TONES},
)
DARK: Final = Theme(
    surface="#14161a",
    ink="#e8eaed",
    quiet="#9aa2ad",
    line="#2b2f36",
    others="#4a515b",
    on_fill="#ffffff",
    series=(
        "#3d7cd9",
        "#e98c3b",
        "#46dce1",
        "#9f5a64",
        "#eec535",
        "#a09bf4",
        "#b77fa7",
        "#b7cb95",
        "#6c768f",
        "#c7a18d",
        "#74b6cc",
        "#d96657",
    ),
    outcomes={name: dark for name, _, dark in _OUTCOMES},
    ramp=("#7c64c4", "#4f8ad6", "#31acb4", "#5fc977", "#bddc4a", "#fff3a0"),
    tones={name: fill for name, _, _, fill, _ in _TONES},
    on_tones={name: text for name, _, _, _, text in _TONES},
)
VARIABLES: Final = Theme(
    surface="var(--surface)",
    ink="var(--ink)",
    quiet="var(--quiet)",
    line="var(--line)",
    others="var(--others)",
    on_fill="var(--on-fill)",
    series=tuple(f"var(--series-{place})" for place in range(len(LIGHT.series))),
    outcomes={name: f"var(--outcome-{name})" for name, _, _ in _OUTCOMES},
    ramp=tuple(f"var(--ramp-{place})" for place in range(len(LIGHT.ramp))),
    tones={name: f"var(--tone-{name})" for name, *_ in _TONES},
    on_tones={name: f"var(--on-tone-{name})" for name, *_ in _TONES},
)
"""Names in place of colours: a page decides what they are, so that one drawing serves light, dark and paper."""


def style(theme: Theme) -> str:
    """Write the declarations that give the names of ``VARIABLES`` the colours of a theme."""
    pairs = [
        (VARIABLES.surface, theme.surface),
        (VARIABLES.ink, theme.ink),
        (VARIABLES.quiet, theme.quiet),
        (VARIABLES.line, theme.line),
        (VARIABLES.others, theme.others),
        (VARIABLES.on_fill, theme.on_fill),
        *zip(VARIABLES.series, theme.series, strict=True),
        *zip(VARIABLES.ramp, theme.ramp, strict=True),
        *((VARIABLES.outcomes[name], theme.outcomes[name]) for name in theme.outcomes),
        *((VARIABLES.tones[name], theme.tones[name]) for name in theme.tones),
        *((VARIABLES.on_tones[name], theme.on_tones[name]) for name in theme.on_tones),
    ]
    return "".join(f"{name.removeprefix('var(').removesuffix(')')}:{colour};" for name, colour in pairs)


_CHARACTER: float = 0.62
"""Mean width of a character as a share of its size, in the widest of the faces that readers have."""
_POINTS = 160
"""Points of a chart with a tooltip: enough to find one near a pointer, few enough for a small page."""
_FEWEST_POINTS = 12
_THOUSAND = 1000
_DIGITS = 100


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions as little as their order allows until neighbours are ``gap`` apart.

    ``wanted`` may be in any order, and the result is in the same one. The labels stay within ``low`` and ``high``
    unless there is no room for all: then they go on below ``high``.
    """
    order = sorted(range(len(wanted)), key=lambda place: wanted[place])
    placed = list(wanted)
    edge = low
    for place in order:
        placed[place] = max(wanted[place], edge)
        edge = placed[place] + gap
    edge = max(high, low + gap * (len(wanted) - 1))
    for place in reversed(order):
        placed[place] = min(placed[place], edge)
        edge = placed[place] - gap
    return placed


def told_apart(names: Sequence[str], most: int) -> dict[str, str]:
    """Shorten those names to so many characters that would read the same if they were cut at that length.

    The beginning is kept, and what begins where they differ. The result is by name; names that can be cut, or that
    nothing so short tells apart, are not in it.
    """
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        alike.setdefault(name[: most - 1], []).append(name)
    head = (most - 1) // 2
    tail = most - 1 - head
    short: dict[str, str] = {}
    for group in alike.values():
        differ = next(
            (place for place, letters in enumerate(zip(*group, strict=False)) if len({*letters}) > 1),
            min(map(len, group)),
        )
        for name in group if len(group) > 1 else ():
            begin = max(head, min(differ, len(name) - tail))
            if len(name) > most:
                short[name] = f"{name[:head]}\u2026{name[begin : begin + tail]}"
    shown = Counter(short.get(name, name) for name in dict.fromkeys(names))
    return {name: text for name, text in short.items() if shown[text] == 1}


def text_width(text: str, size: float) -> float:
    """Estimate how wide a text is, in pixels; no font is known yet."""
    return _CHARACTER * size * len(text)


def figure(value: float) -> str:
    """Write a figure with three significant digits: ``0.0123``, ``178``, ``12,967``."""
    return f"{value:,.0f}" if abs(value) >= _DIGITS else f"{value:.3g}"


def with_unit(value: float, axis: Axis) -> str:
    """Write a figure with the unit of its axis; a thousand milliseconds are a second."""
    if axis.unit == "ms" and abs(value) >= _THOUSAND:
        return f"{value / _THOUSAND:.3g} s"
    # Percentiles tell themselves apart by their nines.
    number = f"{value:.6g}" if axis.unit == "%" else figure(value)
    return f"{number} {axis.unit}".strip()


def pointed_at(chart: Chart, series: Series) -> range:
    """Choose the points of a series that have a tooltip."""
    drawn = sum(not one.faint for one in chart.series)
    return range(0, len(series.x), max(1, len(series.x) // max(_FEWEST_POINTS, _POINTS // max(drawn, 1))))


def point_words(series: Series, place: int, x: Axis, y: Axis) -> str:
    """Describe a point in one line: its series, its place and its interval."""
    across, up = series.x[place], series.y[place]
    low, high = (bounds[place] if bounds else None for bounds in (series.low, series.high))
    words = [series.name] if isinstance(across, str) else [series.name, f"{x.label} {with_unit(across, x)}"]
    if up is not None:
        words.append(f"{y.label} {with_unit(up, y)}")
    if low is not None and high is not None:
        words.append(f"interval {with_unit(low, y)} to {with_unit(high, y)}")
    return ", ".join(words)


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
    """Width, colours and data of a single drawing."""

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
        """Escape a text for the drawing: text from a subject must not inject anything."""
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
        """Describe a vertical axis with a horizontal title above it."""
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
    """Describe a mark and its encoding; one without a description has no tooltip."""
    silent = {} if "description" in encoding else {"aria": False}
    return {"mark": {"type": kind, **silent, **looks}, "encoding": alt.FacetedEncoding(**encoding)}


def number(field: str, **how: Any) -> Part:  # noqa: ANN401
    """Encode a number of each row."""
    return {"field": field, "type": "quantitative", **how}


def named(field: str, **how: Any) -> Part:  # noqa: ANN401
    """Encode a text of each row."""
    return {"field": field, "type": "nominal", **how}


def domain(axis: Axis, values: Iterable[float | None]) -> tuple[float, float]:
    """Return the ends of an axis: round numbers around all values.

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
    """Return the values between which a label of a linear axis collides with that of its end; None where none does.

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
    """Choose the labelled values of an axis that is not linear: as many as fit."""
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
