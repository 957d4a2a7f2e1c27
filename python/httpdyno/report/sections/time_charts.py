"""Charts over the time of a trial: answers a second, and memory."""

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from httpdyno.model import Axis, Chart, ChartKind, Series, Trial
from httpdyno.report.sections.condition import ConditionTrials
from httpdyno.stats import FloatArray, Int64Array

__all__ = ["memory_chart", "throughput_chart"]

_BINS: Final = 60
"""Points of a line: more cannot be seen in a panel."""
_COUNTED_EVERY_NS: Final = 200_000_000
"""The engine counts answers in bins of 200 ms; wider ones are made of whole ones."""
_MIB: Final = 1024 * 1024
_CAPTION: Final = (
    "The bold line is the median of the trials, the thin ones are the trials, the grey ones everybody else."
)

_Binned = Callable[[Trial, Int64Array], FloatArray]


def throughput_chart(of: ConditionTrials) -> Chart | None:
    """Draw the answers a second over time, as the origin saw them; None when nobody counted."""
    series = _over_time(of, lambda trial: bool(trial.counters.throughput), _answers_a_second)
    if not series:
        return None
    return Chart(
        name="throughput",
        title="Answers a second over time",
        kind=ChartKind.PANELS,
        x=Axis("time", "s"),
        y=Axis("answers a second"),
        series=series,
        caption=f"Seconds since the subject was started; answers that the origin completed, redirects too. {_CAPTION}",
        section="Over time",
        colours=of.colours,
    )


def memory_chart(of: ConditionTrials) -> Chart | None:
    """Draw the memory in use over time; None when nobody measured it."""
    series = _over_time(of, lambda trial: bool(trial.counters.memory), _memory_mib)
    if not series:
        return None
    return Chart(
        name="memory",
        title="Memory over time",
        kind=ChartKind.PANELS,
        x=Axis("time", "s"),
        y=Axis("memory", "MiB"),
        series=series,
        caption=f"MiB in use by the whole process tree, over seconds since it was started. {_CAPTION}",
        section="Over time",
        colours=of.colours,
    )


def _over_time(of: ConditionTrials, known: Callable[[Trial], bool], binned: _Binned) -> tuple[Series, ...]:
    trials = {name: [trial for trial in well if known(trial)] for name, well in of.well}
    longest_ns = max((_lasted_ns(trial) for well in trials.values() for trial in well), default=0)
    if longest_ns <= 0:
        return ()
    width_ns = _COUNTED_EVERY_NS * -(-longest_ns // (_BINS * _COUNTED_EVERY_NS))
    edges = np.arange(0, longest_ns + width_ns, width_ns)
    middles = tuple(round(float(edge + width_ns / 2) / 1e9, 3) for edge in edges[:-1])
    series: list[Series] = []
    for name, well in trials.items():
        if not well:
            continue
        lines = [_until_its_end(trial, binned(trial, edges), edges) for trial in well]
        if len(lines) > 1:
            series += [Series(name, middles, _points(line), faint=True) for line in lines]
        series.append(Series(name, middles, _points(_middle(np.array(lines)))))
    return tuple(series)


def _answers_a_second(trial: Trial, edges: Int64Array) -> FloatArray:
    points = trial.counters.throughput or ()
    # A bin is named by its end; its middle says into which wider one it falls.
    at_ns = np.array([point.elapsed_ns for point in points], dtype=np.int64) - _COUNTED_EVERY_NS // 2
    answers = np.array([point.answers for point in points], dtype=np.float64)
    counted, _ = np.histogram(at_ns, bins=edges, weights=answers)
    rates: FloatArray = counted * 1e9 / np.diff(edges)
    return rates


def _memory_mib(trial: Trial, edges: Int64Array) -> FloatArray:
    """Return the highest reading of each bin; a bin without a reading has that of the one before."""
    readings = np.full(len(edges) - 1, np.nan)
    for point in trial.counters.memory or ():
        place = min(int(np.searchsorted(edges, point.elapsed_ns, side="right")) - 1, len(readings) - 1)
        readings[place] = np.fmax(readings[place], point.bytes / _MIB)
    for place in range(1, len(readings)):
        if np.isnan(readings[place]):
            readings[place] = readings[place - 1]
    return readings


def _until_its_end(trial: Trial, line: FloatArray, edges: Int64Array) -> FloatArray:
    """Cut off what lies beyond the end of the trial: it is over, not idle."""
    cut: FloatArray = np.where(edges[:-1] < _lasted_ns(trial), line, np.nan)
    return cut


def _middle(lines: FloatArray) -> FloatArray:
    """Median over trials, as far as most of them last."""
    running = np.sum(~np.isnan(lines), axis=0)
    middle = np.full(lines.shape[1], np.nan)
    enough = 2 * running > len(lines)
    middle[enough] = np.nanmedian(lines[:, enough], axis=0)
    return middle


def _points(line: Sequence[float] | FloatArray) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(f"{value:.4g}") for value in line)


def _lasted_ns(trial: Trial) -> int:
    return trial.counters.wall_ns or 0
