"""Charts of a service run: overhead, CPU and memory for each server, against the number of connections."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from httpdyno.experiments.service.figures import HELD_WITHIN, ServicePoint, ServiceSummary
from httpdyno.experiments.service.reach import telling_trials
from httpdyno.judge import rankable_trials
from httpdyno.model import Axis, Chart, ChartKind, Outcome, Scale, Series, Trial, records_of
from httpdyno.stats import median

__all__ = ["service_charts"]

_MS: Final = 1e-6
_KIB: Final = 1024
_SECTION: Final = "Against the number of connections"
_ACROSS: Final = Axis("connections", "", Scale.LOGARITHMIC)
_FEWEST_MS: Final = 0.01
"""Of an overhead on a logarithmic scale: what is less is the clock's."""


def service_charts(trials: Sequence[Trial], names: Mapping[str, str]) -> Iterator[Chart]:
    """Draw what each server adds to the ideal, and what a request costs it.

    Trials without figures are left out. ``names`` maps ids of subjects to their names, in the order of the report.
    """
    drawn = [
        trial
        for trial in trials
        if trial.get(ServiceSummary) and trial.get(ServicePoint) and trial.outcome is Outcome.OK
    ]
    limits = {(HELD_WITHIN - 1) * point.ideal_ns * _MS for trial in drawn if (point := trial.get(ServicePoint))}
    limit = limits.pop() if len(limits) == 1 else None
    charts = (
        _chart(
            "overhead-p99",
            "What each server adds to the longest wait, at p99",
            Axis("p99 beyond the ideal", "ms", Scale.LOGARITHMIC),
            lambda one: _at_least(one.overhead_p99_ns),
            "Beyond the dashed line p99 is more than 1.1 times the ideal. Medians are drawn; a point is held where "
            "every trial that counts stays below the line. Both scales are logarithmic.",
            (drawn, names),
            limit=limit,
        ),
        _chart(
            "overhead-p50",
            "What each server adds to the longest wait, in the middle",
            Axis("median beyond the ideal", "ms", Scale.LOGARITHMIC),
            lambda one: _at_least(one.overhead_p50_ns),
            "Half of the requests took longer than this beyond the ideal.",
            (drawn, names),
        ),
        _chart(
            "cpu-per-request",
            "CPU time of the server for each answer",
            Axis("CPU time for each answer", "ms", Scale.LOGARITHMIC),
            lambda one: None if not one.cpu_per_request_ns else one.cpu_per_request_ns * _MS,
            "With few requests a second, what a server does besides counts as theirs: timers, collections of garbage.",
            (drawn, names),
        ),
        _chart(
            "memory-per-open-request",
            "Memory that the load adds, for each request in flight",
            Axis("memory for each request in flight", "KiB", Scale.LOGARITHMIC),
            lambda one: None if not one.memory_per_open_bytes else one.memory_per_open_bytes / _KIB,
            "Memory under load less that before it. Few connections share what grows but once, such as a pool.",
            (drawn, names),
        ),
    )
    return (chart for chart in charts if chart is not None)


def _at_least(overhead_ns: float | None) -> float | None:
    return None if overhead_ns is None else max(overhead_ns * _MS, _FEWEST_MS)


def _chart(
    name: str,
    title: str,
    up: Axis,
    figure: Callable[[ServiceSummary], float | None],
    caption: str,
    of: tuple[Sequence[Trial], Mapping[str, str]],
    *,
    limit: float | None = None,
) -> Chart | None:
    trials, names = of
    panels = dict.fromkeys(_panel(trial) for trial in trials)
    series = [
        line
        for panel in panels
        for subject, shown in names.items()
        if (line := _line(shown, panel, figure, [one for one in trials if _is_of(one, subject, panel)])) is not None
    ]
    if not series:
        return None
    if len(panels) == 1:
        series = [Series(line.name, line.x, line.y) for line in series]
    return Chart(
        name=name,
        title=title,
        kind=ChartKind.TRENDS,
        x=_ACROSS,
        y=up,
        series=tuple(series),
        caption=caption,
        section=_SECTION,
        colours=tuple(names.values()),
        reference=limit,
        reference_name="1.1 times the ideal" if limit else "",
    )


def _line(
    name: str, panel: str, figure: Callable[[ServiceSummary], float | None], trials: Sequence[Trial]
) -> Series | None:
    """Join the medians of a server's trials at each number of connections; None where there is none."""
    by_connections: dict[int, list[Trial]] = {}
    for trial in trials:
        if trial.get(ServicePoint):
            by_connections.setdefault(trial[ServicePoint].connections, []).append(trial)
    found = [(count, _median(figure, group)) for count, group in sorted(by_connections.items())]
    points = [(float(count), value) for count, value in found if value is not None]
    if not points:
        return None
    return Series(name, tuple(x for x, _ in points), tuple(y for _, y in points), panel=panel)


def _median(figure: Callable[[ServiceSummary], float | None], trials: Sequence[Trial]) -> float | None:
    counting = rankable_trials(trials) or telling_trials(trials)
    return median(map(figure, records_of(ServiceSummary, counting)))


def _is_of(trial: Trial, subject: str, panel: str) -> bool:
    return trial.subject == subject and _panel(trial) == panel


def _panel(trial: Trial) -> str:
    """Name the loop, threads and CPUs of a trial: points that differ in nothing but their connections share a frame."""
    point = trial.get(ServicePoint)
    return "" if point is None else _words(point, trial.condition)


def _words(point: ServicePoint, condition: str) -> str:
    asked = [part for part in condition.split(", ") if part.endswith(("thread", "threads", "CPU", "CPUs"))]
    return ", ".join([f"{point.loop} loop", *asked])
