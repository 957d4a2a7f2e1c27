"""The two published figures of the capacity question: a run of a published grid, with the published values behind."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Final

from httpdyno.experiments.capacity.presets import CapacityPreset, Place, find_capacity_preset
from httpdyno.experiments.capacity.published_form import Measurement, measurements
from httpdyno.experiments.published import PRESET_SETTING, SCALE_SETTING
from httpdyno.model import Axis, Chart, ChartKind, Series, Trial, format_exact
from httpdyno.published import parse_scale
from httpdyno.store import Manifest

__all__ = ["published_charts"]

_PANELS: Final = 6
_LINES: Final = 5
"""More of them nobody tells apart: of a larger grid some are drawn, spread evenly."""
_MS: Final = 1000.0
_Value = tuple[Place, float]


@dataclass(frozen=True, slots=True)
class _Figure:
    """What a chart shows of each point."""

    suffix: str
    """Of the chart's name."""
    title: str
    axis: Axis
    measured: Callable[[Measurement], float | None]
    published: Callable[[float | None, float], float | None]
    """From the published latency in seconds and the published rate, brought to the scale of the run."""
    scaled: bool
    """Whether a published value is not the one that was printed."""


_RATE: Final = _Figure(
    "", "Requests a second", Axis("right answers", "1/s"), lambda one: one.per_s, lambda _, per_s: per_s, scaled=True
)
_LATENCY: Final = _Figure(
    "-latency",
    "Mean time of an answer",
    Axis("mean time", "ms"),
    lambda one: None if one.latency_s is None else _MS * one.latency_s,
    lambda latency_s, _: None if latency_s is None else _MS * latency_s,
    scaled=False,
)


def published_charts(trials: Sequence[Trial], manifest: Manifest) -> tuple[Chart, ...]:
    """Draw what the publication draws: rate and latency against the size of answers, or against the rate of the link.

    Parameters
    ----------
    trials : sequence of Trial
        Of a run.
    manifest : Manifest
        Of the same run.

    Returns
    -------
    tuple of Chart
        Two for each subject; none of a run that is no published grid.

    Raises
    ------
    UnknownName
        If this version does not know the preset.
    """
    name = manifest.settings.get(PRESET_SETTING)
    if not isinstance(name, str):
        return ()
    preset = find_capacity_preset(name)
    scale = parse_scale(str(manifest.settings.get(SCALE_SETTING) or "1"))
    found = measurements(trials, preset)
    subjects = dict.fromkeys(one.subject for one in found)
    return tuple(
        _chart(figure, [one for one in found if one.subject == subject], len(subjects) > 1, preset, scale)
        for subject, figure in product(subjects, (_RATE, _LATENCY))
    )


def _chart(
    figure: _Figure, found: Sequence[Measurement], named: bool, preset: CapacityPreset, scale: Fraction
) -> Chart:
    subject = found[0].subject if named else ""
    panels = _spread({one.place[0] for one in found}, _PANELS)
    lines = _spread({one.place[2] for one in found}, _LINES)
    frames = list(product(panels, lines))
    measured = [(one.place, value) for one in found if (value := figure.measured(one)) is not None]
    published = list(_published(figure, {one.place for one in found}, preset, scale))
    series = (
        *(_series(published, panel, line, faint=True) for panel, line in frames),
        *(_series(measured, panel, line) for panel, line in frames),
    )
    target = max((one.target_per_s or 0.0 for one in found), default=0.0) if figure is _RATE else 0.0
    what = "the rate of the link" if preset.has_rates else "the size of answers"
    return Chart(
        name=f"{preset.name}{f'-{subject}' if subject else ''}{figure.suffix}",
        title=f"{figure.title} against {what}{f': {subject}' if subject else ''}",
        kind=ChartKind.TRENDS,
        x=Axis("link", "Gbit/s") if preset.has_rates else Axis("size", "KiB"),
        y=figure.axis,
        series=tuple(one for one in series if one.x),
        caption=_caption(figure, found, preset, scale),
        section="As published",
        reference=target or None,
        reference_name=f"{target:,g} a second" if target else "",
        ordered=True,
    )


def _caption(figure: _Figure, found: Sequence[Measurement], preset: CapacityPreset, scale: Fraction) -> str:
    scaled = figure.scaled and scale != 1
    parts = ["Measured, and dashed what was published" + (f", times {scale}." if scaled else ".")]
    if preset.has_rates and any(one.round_trip_ns for one in found):
        parts.append(
            "A frame for each published 'Delay', which is the round trip of the link here, and was none there."
        )
    elif preset.has_rates:
        parts.append(
            "A frame for each published 'Delay', which bounded a queue and added no distance: the frames are alike."
        )
    else:
        parts.append("A frame for each think time of the server, a line for each number of requests in flight.")
    shown = [len({one.place[at] for one in found}) > most for at, most in ((0, _PANELS), (2, _LINES))]
    if any(shown):
        parts.append("Of a large grid some frames and lines are drawn; the table has all.")
    return " ".join(parts)


def _series(points: Iterable[_Value], panel: float, line: float, *, faint: bool = False) -> Series:
    """Join the points of one frame and one number of requests in flight, in the order of the axis."""
    found = sorted((place[1], value) for place, value in points if (place[0], place[2]) == (panel, line))
    xs, ys = tuple(x for x, _ in found), tuple(y for _, y in found)
    return Series(f"{line:g} in flight", xs, ys, faint=faint, panel=f"{format_exact(panel)} ms")


def _published(figure: _Figure, wanted: set[Place], preset: CapacityPreset, scale: Fraction) -> Iterator[_Value]:
    """Return the published values at the places that are drawn, brought to the scale of the run."""
    for row in preset.table.rows:
        first, second, concurrency, latency_s, per_s = row.cells
        assert isinstance(first, int)
        assert isinstance(second, int)
        assert isinstance(concurrency, int)
        published = (first, second, concurrency)
        if (place := preset.scaled(published, scale)) not in wanted or not isinstance(per_s, int | float):
            continue
        latency = float(latency_s) if isinstance(latency_s, int | float) else None
        if (value := figure.published(latency, per_s * preset.share(published, scale))) is not None:
            yield place, value


def _spread(values: Iterable[float], most: int) -> list[float]:
    """Pick so many of the values at most, the first and the last among them."""
    ordered = sorted(values)
    if len(ordered) <= most:
        return ordered
    return [ordered[round(place * (len(ordered) - 1) / (most - 1))] for place in range(most)]
