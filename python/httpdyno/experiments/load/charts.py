"""Charts of a load: response and service time by percentile and over time, throughput, send lag, phases."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from httpdyno.experiments.load.figures import LoadSecond, LoadSummary
from httpdyno.model import Axis, Chart, ChartKind, Scale, Series, Trial, records_of

__all__ = ["load_charts"]

_MS: Final = 1e-6
_TIMES: Final = "Response time"
_OVER_TIME: Final = "Over time"
_PHASES: Final = "Phases"
_RESPONSE, _SERVICE, _LAG = "response time", "service time", "send lag"
_COLOURS: Final = (_RESPONSE, _SERVICE, _LAG)
_PHASE_NAMES: Final = {
    "dns": "DNS",
    "connect": "connect",
    "tls": "TLS",
    "first_byte": "first byte",
    "content": "content",
}
_POINTS: Final = 300
"""Of a line over time: more cannot be seen."""
_SEVERAL: Final = " The bold line is the first trial, the thin ones are the others."

Reports = Sequence[Mapping[str, Any]]


def load_charts(trials: Sequence[Trial], reports: Reports) -> Iterator[Chart]:
    """Draw the trials of a load.

    ``reports`` are the generator's own, of those trials that have one.
    """
    drawn = (
        _percentile_chart(reports),
        _phase_chart(reports),
        _throughput_chart(trials),
        _times_chart(trials),
        _lag_chart(trials),
        _outcome_chart(trials),
    )
    return (chart for chart in drawn if chart is not None)


def _percentile_chart(reports: Reports) -> Chart | None:
    lines = {_RESPONSE: "response_time", _SERVICE: "service_time", _LAG: "send_lag"}
    series = [line for name, field in lines.items() for line in _curves(name, [of.get(field) for of in reports])]
    return _chart(
        "percentiles",
        "Response time and service time by percentile",
        _TIMES,
        Axis("percentile of answers", "%", Scale.PERCENTILE),
        Axis("time", "ms", Scale.LOGARITHMIC),
        series,
        "So many per cent of the answers took no longer than this. Response time counts from when a request was due, "
        "service time from when it was sent: where the two part, requests waited before they were sent. The send lag "
        "is the generator's own part of that." + (_SEVERAL if len(reports) > 1 else ""),
    )


def _phase_chart(reports: Reports) -> Chart | None:
    series = [
        line
        for phase, name in _PHASE_NAMES.items()
        for line in _curves(name, [(of.get("phases") or {}).get(phase) for of in reports])
    ]
    return _chart(
        "phases",
        "What a request spends its time on",
        _PHASES,
        Axis("percentile", "%", Scale.PERCENTILE),
        Axis("time", "ms", Scale.LOGARITHMIC),
        series,
        "DNS, connection and TLS handshake of every connection that was made; of every answer the time until its first "
        "byte, and from there to its last." + (_SEVERAL if len(reports) > 1 else ""),
        tuple(_PHASE_NAMES.values()),
    )


def _throughput_chart(trials: Sequence[Trial]) -> Chart | None:
    counts: dict[str, Callable[[LoadSecond], float | None]] = {
        "answers": lambda second: second.requests,
        "sent": lambda second: second.sent,
        "errors": lambda second: second.errors,
    }
    loads = records_of(LoadSummary, trials)
    if not any(second.errors for load in loads for second in load.series):
        del counts["errors"]
    if not any(load.open_loop for load in loads):
        del counts["sent"]  # in a closed loop the same as the answers
    series = [line for name, figure in counts.items() for line in _over_time(name, trials, figure)]
    return _chart(
        "throughput",
        "Answers a second over time",
        _OVER_TIME,
        Axis("time", "s"),
        Axis("a second"),
        series,
        "Each point is a second of the load." + (_SEVERAL if len(trials) > 1 else ""),
        tuple(counts),
    )


def _times_chart(trials: Sequence[Trial]) -> Chart | None:
    figures: dict[str, Callable[[LoadSecond], float | None]] = {
        "response p99": lambda second: _ms(second.response_p99_ns),
        "service p99": lambda second: _ms(second.service_p99_ns),
        "response p50": lambda second: _ms(second.response_p50_ns),
        "response max": lambda second: _ms(second.response_max_ns),
    }
    series = [line for name, figure in figures.items() for line in _over_time(name, trials, figure)]
    return _chart(
        "times",
        "Response time over time",
        _OVER_TIME,
        Axis("time", "s"),
        Axis("time", "ms", Scale.LOGARITHMIC),
        series,
        "Percentiles of the answers that ended within each second." + (_SEVERAL if len(trials) > 1 else ""),
        tuple(figures),
    )


def _lag_chart(trials: Sequence[Trial]) -> Chart | None:
    series = _over_time(_LAG, trials, lambda second: _ms(second.send_lag_p99_ns))
    return _chart(
        "lag",
        "Send lag over time",
        _OVER_TIME,
        Axis("time", "s"),
        Axis("99th percentile", "ms", Scale.LOGARITHMIC),
        series,
        "How much later than it could the generator itself sent: what it adds to the response time on its own account."
        + (_SEVERAL if len(trials) > 1 else ""),
    )


def _outcome_chart(trials: Sequence[Trial]) -> Chart | None:
    counts = {f"trial {trial.trial}": dict(_outcomes(trial)) for trial in trials}
    kinds = dict.fromkeys(kind for of in counts.values() for kind in of)
    rows = tuple(row for row, of in counts.items() if of)
    series = tuple(Series(kind, rows, tuple(float(counts[row].get(kind, 0)) for row in rows)) for kind in kinds)
    if not series:
        return None
    return Chart(
        "outcomes",
        "What became of the requests",
        ChartKind.STACKED_BARS,
        Axis("trial"),
        Axis("share of requests", "%"),
        series,
        "Answers by their status, failed requests by the name of the error, and those that were open or not yet sent "
        "when the load ended.",
        "Outcomes",
        tuple(kinds),
    )


def _outcomes(trial: Trial) -> Iterator[tuple[str, int]]:
    load = trial.get(LoadSummary)
    if load is None:
        return
    yield from ((f"status {count.name}", count.count) for count in load.statuses)
    yield from ((count.name, count.count) for count in load.failures)
    if load.censored:
        yield "open at the end", load.censored
    if load.unsent:
        yield "never sent", load.unsent


def _chart(
    name: str,
    title: str,
    section: str,
    x: Axis,
    y: Axis,
    series: Sequence[Series],
    caption: str,
    colours: tuple[str, ...] = _COLOURS,
) -> Chart | None:
    """Put lines into one frame; None when there are none."""
    # A logarithmic axis has no place for lines that are zero all along.
    seen = {
        line.name for line in series if any(value for value in line.y) or (y.scale is Scale.LINEAR and _known(line))
    }
    kept = tuple(line for line in series if line.name in seen)
    return Chart(name, title, ChartKind.LINES, x, y, kept, caption, section, colours) if kept else None


def _known(line: Series) -> bool:
    return any(value is not None for value in line.y)


def _curves(name: str, histograms: Sequence[Mapping[str, Any] | None]) -> list[Series]:
    """Draw the percentiles of a histogram of each trial: the first bold, and last, so that it lies on top."""
    known = [histogram["quantiles"] for histogram in histograms if histogram and histogram.get("quantiles")]
    lines = []
    for number, quantiles in enumerate(known):
        points = [(100 * quantile, value * _MS) for quantile, value in quantiles if quantile < 1]
        x, y = tuple(_short(rank, 9) for rank, _ in points), tuple(_short(value, 5) for _, value in points)
        lines.append(Series(name, x, y, faint=number > 0))
    return lines


def _over_time(name: str, trials: Sequence[Trial], figure: Callable[[LoadSecond], float | None]) -> list[Series]:
    lines = []
    for number, load in enumerate(load for load in records_of(LoadSummary, trials) if load.series):
        # The last second is one in part only: its counts would look like a fall.
        whole = [second for second in load.series if (second.at_s + 1) * 1e9 <= load.elapsed_ns * 1.001]
        seconds = whole or load.series
        step = -(-len(seconds) // _POINTS)
        shown = seconds[::step]
        lines.append(
            Series(
                name,
                tuple(float(second.at_s) for second in shown),
                tuple(None if (value := figure(second)) is None else _short(value, 5) for second in shown),
                faint=number > 0,
            )
        )
    return lines


def _ms(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds * _MS


def _short(value: float, digits: int) -> float:
    """Keep as many digits as a drawing can show."""
    return float(f"{value:.{digits}g}")
