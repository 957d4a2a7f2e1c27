"""Words beside the marks of a chart: where they stand, so that none covers another, and how figures are written."""

from collections import Counter
from collections.abc import Sequence

from httpdyno.model import Axis, Chart, Series

__all__ = ["apart", "figure", "point_words", "pointed_at", "text_width", "told_apart", "with_unit"]

_CHARACTER: float = 0.62
"""Mean width of a character as a share of its size, in the widest of the faces that readers have."""
_POINTS = 160
"""How many points of a chart say what they are: enough to find one near a pointer, few enough for a small page."""
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
    """Write a figure with three digits that matter: ``0.0123``, ``178``, ``12,967``."""
    return f"{value:,.0f}" if abs(value) >= _DIGITS else f"{value:.3g}"


def with_unit(value: float, axis: Axis) -> str:
    """Write a figure with the unit of its axis; a thousand milliseconds are a second."""
    if axis.unit == "ms" and abs(value) >= _THOUSAND:
        return f"{value / _THOUSAND:.3g} s"
    # Percentiles tell themselves apart by their nines.
    number = f"{value:.6g}" if axis.unit == "%" else figure(value)
    return f"{number} {axis.unit}".strip()


def pointed_at(chart: Chart, series: Series) -> range:
    """Choose the points of a series that say what they are when they are pointed at."""
    drawn = sum(not one.faint for one in chart.series)
    return range(0, len(series.x), max(1, len(series.x) // max(_FEWEST_POINTS, _POINTS // max(drawn, 1))))


def point_words(series: Series, place: int, x: Axis, y: Axis) -> str:
    """Describe in one line what a point is: its series, where it stands, and its interval."""
    across, up = series.x[place], series.y[place]
    low, high = (bounds[place] if bounds else None for bounds in (series.low, series.high))
    words = [series.name] if isinstance(across, str) else [series.name, f"{x.label} {with_unit(across, x)}"]
    if up is not None:
        words.append(f"{y.label} {with_unit(up, y)}")
    if low is not None and high is not None:
        words.append(f"interval {with_unit(low, y)} to {with_unit(high, y)}")
    return ", ".join(words)
