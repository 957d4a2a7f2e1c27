"""Charts of a report that several experiments share: outcomes, rankings, response times, and the course of a trial."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from httpdyno.judge import counting_trials, placing_trials
from httpdyno.model import (
    Axis,
    Chart,
    ChartKind,
    Comparison,
    Metric,
    Outcome,
    Ranking,
    Scale,
    Series,
    Trial,
    Verdict,
)
from httpdyno.stats import FloatArray, Int64Array, median, percentile


@dataclass(frozen=True, slots=True)
class ConditionTrials:
    """The trials of one condition."""

    condition: str
    """Empty when the experiment has one only."""
    trials: Mapping[str, Sequence[Trial]]
    """By the name of their subject, in the order of the report."""
    colours: tuple[str, ...]
    """The names of all subjects of the report, in its order."""

    @property
    def well(self) -> Iterator[tuple[str, Sequence[Trial]]]:
        """Return each subject that has trials that went well, with those."""
        for name, trials in self.trials.items():
            well = [trial for trial in trials if trial.outcome is Outcome.OK]
            if well:
                yield name, well


_OUTCOMES: Final = "Outcomes"
_EXPLAINED: Final = "explained"
_WRONG: Final = tuple(verdict.value for verdict in Verdict if verdict.wrong)
_NO_ANSWER: Final = (Verdict.NOT_REACHED.value, Verdict.UNVERIFIED.value)
_CLASSES: Final = (
    ("2xx", "status_2xx"),
    ("3xx", "status_3xx"),
    ("4xx", "status_4xx"),
    ("5xx", "status_5xx"),
    ("exception", "exceptions"),
)


def verdict_counts(samples: pl.LazyFrame) -> dict[int, dict[str, int]]:
    """Count the verdicts of each trial; wrong answers that a known failure explains are one kind of their own.

    The samples have the columns of ``model.Sample``, and are counted without being read into memory.
    """
    verdict = pl.when("explained").then(pl.lit(_EXPLAINED)).otherwise(pl.col("verdict").cast(pl.String))
    counted = samples.group_by("trial", verdict=verdict).agg(count=pl.len()).collect(engine="streaming")
    counts: dict[int, dict[str, int]] = {}
    for trial, name, count in counted.iter_rows():
        counts.setdefault(trial, {})[name] = count
    return counts


def verdict_chart(of: ConditionTrials, verdicts: Mapping[int, Mapping[str, int]]) -> Chart | None:
    """Draw the shares of verdicts; None when nothing was judged."""
    order = (Verdict.RIGHT.value, *_WRONG, _EXPLAINED, *_NO_ANSWER)
    return _stacked_chart(
        "verdicts",
        "Verdicts on the answers",
        {
            name: {kind: sum(verdicts.get(trial.trial, {}).get(kind, 0) for trial in trials) for kind in order}
            for name, trials in of.trials.items()
        },
        caption="Each answer compared with what the web serves. An error is right where the web is faulty.",
    )


def status_chart(of: ConditionTrials) -> Chart | None:
    """Draw the shares of status codes and errors; None when nothing was reported."""
    counts = {
        name: {label: sum(getattr(t.summary, field) for t in trials if t.summary) for label, field in _CLASSES}
        for name, trials in of.trials.items()
    }
    return _stacked_chart(
        "statuses",
        "Reported results",
        counts,
        caption="Status codes after redirects; an exception is whatever a client reports that is no status code.",
    )


def _stacked_chart(name: str, title: str, counts: Mapping[str, Mapping[str, int]], *, caption: str) -> Chart | None:
    """Draw counts by subject and outcome; subjects and outcomes without any are left out."""
    subjects = tuple(subject for subject, counted in counts.items() if sum(counted.values()))
    if not subjects:
        return None
    outcomes = [outcome for outcome in counts[subjects[0]] if any(counts[subject][outcome] for subject in subjects)]
    return Chart(
        name=name,
        title=title,
        kind=ChartKind.STACKED_BARS,
        x=Axis("subject"),
        y=Axis("share of URLs", "%"),
        series=tuple(
            Series(outcome, subjects, tuple(float(counts[subject][outcome]) for subject in subjects))
            for outcome in outcomes
        ),
        caption=caption,
        section=_OUTCOMES,
    )


_RANKING: Final = "Ranking"


def ranking_chart(of: ConditionTrials, ranking: Ranking, metric: Metric, names: Mapping[str, str]) -> Chart | None:
    """Draw the median of each ranked subject with its interval, over the single trials; None without such subjects."""
    series: list[Series] = []
    for standing in ranking.standings:
        name = names[standing.subject]
        figures = _figures(placing_trials(of.trials[name], metric.aspect), metric)
        value = standing.value
        middle = value.estimate if value else median(figures)
        series.append(Series(name, (name,) * len(figures), tuple(figures), faint=True))
        low, high = (value.low, value.high) if value else (None, None)
        series.append(Series(name, (name,), (middle,), (low,), (high,)))
    levels = {standing.value.level for standing in ranking.standings if standing.value}
    interval = f", the line its {_percent(levels)} interval" if levels else ""
    return _interval_chart(
        "ranking",
        _sentence(metric.phrase or metric.name),
        series,
        Axis(metric.phrase or metric.name, "" if metric.phrase else metric.column.unit),
        of,
        caption=f"The large dot is the median of a subject's trials{interval}; the small dots are the trials.",
    )


def ratio_chart(of: ConditionTrials, ranking: Ranking, names: Mapping[str, str]) -> Chart | None:
    """Draw each subject as a multiple of the first; None when no ratio can be stated."""
    if not ranking.standings:
        return None
    first = ranking.standings[0].subject
    against = [_against(comparison, first) for comparison in ranking.comparisons]
    series = [
        Series(names[subject], (names[subject],), (middle,), (low,), (high,))
        for subject, middle, low, high in filter(None, against)
    ]
    return _interval_chart(
        "ratios",
        f"As a multiple of {names[first]}",
        series,
        Axis(f"multiple of {names[first]}", scale=Scale.LOGARITHMIC),
        of,
        caption=(
            "Trials of one block shared what the machine was like, so subjects are compared block by block. "
            "An interval that holds 1 leaves open which of the two is better."
        ),
        reference=1.0,
    )


def cost_chart(of: ConditionTrials, pace: Metric, cost: Metric) -> Chart | None:
    """Draw the cost of each subject against its pace; None when no subject has both.

    The figures are those of the table: each median is taken over the trials that count for its metric. The small dots
    are the trials that count for both.
    """
    series: list[Series] = []
    for name, trials in of.well:
        chosen = [counting_trials(trials, metric.aspect, disturbed=True) for metric in (pace, cost)]
        medians = [median(map(metric.figure, own)) for metric, own in zip((pace, cost), chosen, strict=True)]
        if None in medians:
            continue
        points = [
            (across, up)
            for trial in chosen[0]
            if trial in chosen[1]
            and (across := pace.figure(trial)) is not None
            and (up := cost.figure(trial)) is not None
        ]
        if points:
            series.append(Series(name, tuple(x for x, _ in points), tuple(y for _, y in points), faint=True))
        series.append(Series(name, (medians[0] or 0.0,), (medians[1],)))
    if not series:
        return None
    return Chart(
        name="cpu",
        title="CPU time against throughput",
        kind=ChartKind.POINTS,
        x=Axis(pace.phrase or pace.name, "" if pace.phrase else pace.column.unit),
        y=Axis(cost.phrase or cost.name, "" if cost.phrase else cost.column.unit),
        series=tuple(series),
        caption="Fast and cheap is at the lower right; the large dot is the median, as the table has it.",
        section="Cost",
        colours=of.colours,
    )


def _interval_chart(
    name: str,
    title: str,
    series: Sequence[Series],
    axis: Axis,
    of: ConditionTrials,
    *,
    caption: str,
    reference: float | None = None,
) -> Chart | None:
    if not series:
        return None
    return Chart(
        name=name,
        title=title,
        kind=ChartKind.INTERVALS,
        x=Axis("subject"),
        y=axis,
        series=tuple(series),
        caption=caption,
        section=_RANKING,
        colours=of.colours,
        reference=reference,
    )


def _figures(trials: Sequence[Trial], metric: Metric) -> list[float]:
    return [figure for trial in trials if (figure := metric.figure(trial)) is not None]


def _against(comparison: Comparison, first: str) -> tuple[str, float, float, float] | None:
    """Return the other subject of a pair as a multiple of the first one; None for a pair of others."""
    ratio = comparison.ratio
    if ratio is None or first not in {comparison.subject, comparison.baseline}:
        return None
    if comparison.baseline == first:
        return comparison.subject, ratio.estimate, ratio.low, ratio.high
    # Seen from the other side, the upper end of the interval is its lower one.
    return comparison.baseline, 1 / ratio.estimate, 1 / ratio.high, 1 / ratio.low


def _percent(levels: set[float]) -> str:
    low, high = 100 * min(levels), 100 * max(levels)
    return f"{high:.4g} %" if low == high else f"{low:.4g} % to {high:.4g} %"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


_RESPONSE_TIME: Final = "Response time"
_POINTS_A_HALVING: Final = 5
"""Points between a percentile and the one half as far from 100, as HdrHistogram prints its distributions."""
_SHARES: Final = 200
_MS: Final = 1e-6


@dataclass(frozen=True, slots=True)
class ResponseTimes:
    """Response times of a subject, over all of its trials that went well, as far as they are drawn."""

    count: int
    percentiles: tuple[tuple[float, ...], tuple[float, ...]]
    """Percentiles up to the one of a single sample, and the duration of each in ms."""
    distribution: tuple[tuple[float, ...], tuple[float, ...]]
    """Durations in ms, and the percentage of samples that took no longer."""


def response_times(of: ConditionTrials, samples: pl.LazyFrame) -> dict[str, ResponseTimes]:
    """Read the response times of each subject that has any, from all samples of its trials that went well.

    The samples have the columns of ``model.Sample``; two columns of them are read, one subject at a time, so that
    memory stays small however many there are.
    """
    times = {}
    for name, trials in of.well:
        numbers = [trial.trial for trial in trials]
        durations = samples.filter(pl.col("trial").is_in(numbers) & pl.col("line").is_not_null()).select("duration_ns")
        values = durations.collect(engine="streaming")["duration_ns"].drop_nulls()
        if len(values):
            # A client can claim any number: a negative one has no place among durations.
            times[name] = _times(np.maximum(values.sort().to_numpy(), 0))
    return times


def percentile_chart(of: ConditionTrials, times: Mapping[str, ResponseTimes]) -> Chart | None:
    """Draw response time over percentile, as HdrHistogram does; None when there are no samples."""
    if not times:
        return None
    series = [Series(name, *subject.percentiles) for name, subject in times.items()]
    return _line_chart(
        "percentiles",
        "Response time by percentile",
        series,
        Axis("percentile of URLs", "%", Scale.PERCENTILE),
        Axis("response time", "ms", Scale.LOGARITHMIC),
        of,
        caption=(
            "So many per cent of the URLs took no longer than this. Every URL counts, failed ones too, with the time "
            f"that the client reports; the samples of all trials are put together ({_count_text(times)})."
        ),
    )


def distribution_chart(of: ConditionTrials, times: Mapping[str, ResponseTimes]) -> Chart | None:
    """Draw the empirical distribution function; None when there are no samples."""
    if not times:
        return None
    series = [Series(name, *subject.distribution) for name, subject in times.items()]
    return _line_chart(
        "distribution",
        "Share of URLs by response time",
        series,
        Axis("response time", "ms", Scale.LOGARITHMIC),
        Axis("share of URLs", "%"),
        of,
        caption="The share of all URLs that had ended after this time. A step is a time at which many ended at once.",
    )


def _line_chart(
    name: str, title: str, series: list[Series], x: Axis, y: Axis, of: ConditionTrials, caption: str
) -> Chart:
    return Chart(name, title, ChartKind.LINES, x, y, tuple(series), caption, _RESPONSE_TIME, of.colours)


def _times(ordered: Int64Array) -> ResponseTimes:
    count = len(ordered)
    last = 100 * (1 - 1 / count)
    halvings = int(np.ceil(np.log2(count) * _POINTS_A_HALVING))
    ranks = [100 * (1 - 2.0 ** (-step / _POINTS_A_HALVING)) for step in range(1, halvings)]
    ranks = [*(rank for rank in ranks if rank < last), *([last] if last > 0 else [])]
    shares = [100 * step / _SHARES for step in range(1, _SHARES + 1)]
    return ResponseTimes(count, ((0.0, *ranks), _ms(ordered, ranks)), (_ms(ordered, shares), (0.0, *shares)))


def _ms(ordered: Int64Array, ranks: Sequence[float]) -> tuple[float, ...]:
    """Return the shortest time in ms, and that of each rank."""
    return (int(ordered[0]) * _MS, *(float(f"{percentile(ordered, rank) * _MS:.5g}") for rank in ranks))


def _count_text(times: Mapping[str, ResponseTimes]) -> str:
    counts = sorted({subject.count for subject in times.values()})
    return f"{counts[0]:,} each" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,} each"


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
    """Draw the answers a second over time, as the origin counted them; None without counts."""
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
    """Draw the memory in use over time; None without measurements."""
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
