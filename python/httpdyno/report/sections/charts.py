"""Charts of a report that several experiments share: outcomes, rankings, response times, and the course of a trial."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl

from httpdyno.judge import counting_trials, placing_trials
from httpdyno.model import (
    Axis,
    Chart,
    ChartKind,
    Metric,
    Outcome,
    Ranking,
    Scale,
    Series,
    Trial,
    Verdict,
)
from httpdyno.report.sections.headline import ratio_of
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


def _chart(of: ConditionTrials, series: Sequence[Series], **fields: Any) -> Chart | None:  # noqa: ANN401
    """Return a chart in the colours of a condition; None without series."""
    return Chart(series=tuple(series), colours=of.colours, **fields) if series else None


def _axis(metric: Metric) -> Axis:
    return Axis(metric.phrase or metric.name, "" if metric.phrase else metric.column.unit)


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
    counts = {
        name: {kind: sum(verdicts.get(trial.trial, {}).get(kind, 0) for trial in trials) for kind in order}
        for name, trials in of.trials.items()
    }
    return _outcome_chart(
        counts,
        name="verdicts",
        title="Verdicts on the answers",
        caption="Each answer compared with what the web serves. An error is right where the web is faulty.",
    )


def status_chart(of: ConditionTrials) -> Chart | None:
    """Draw the shares of status codes and errors; None when nothing was reported."""
    counts = {
        name: {label: sum(getattr(t.summary, field) for t in trials if t.summary) for label, field in _CLASSES}
        for name, trials in of.trials.items()
    }
    return _outcome_chart(
        counts,
        name="statuses",
        title="Reported results",
        caption="Status codes after redirects; an exception is whatever a client reports that is not a status code.",
    )


def _outcome_chart(counts: Mapping[str, Mapping[str, int]], *, name: str, title: str, caption: str) -> Chart | None:
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
        section="Outcomes",
    )


def ranking_chart(of: ConditionTrials, ranking: Ranking, metric: Metric, names: Mapping[str, str]) -> Chart | None:
    """Draw the median of each ranked subject with its interval, over the single trials; None without such subjects."""
    series: list[Series] = []
    for standing in ranking.standings:
        name = names[standing.subject]
        trials = placing_trials(of.trials[name], metric.aspect)
        figures = [figure for trial in trials if (figure := metric.figure(trial)) is not None]
        value = standing.value
        middle, low, high = (value.estimate, value.low, value.high) if value else (median(figures), None, None)
        series.append(Series(name, (name,) * len(figures), tuple(figures), faint=True))
        series.append(Series(name, (name,), (middle,), (low,), (high,)))
    interval = ""
    if levels := sorted(100 * standing.value.level for standing in ranking.standings if standing.value):
        percents = dict.fromkeys(f"{level:.4g} %" for level in (levels[0], levels[-1]))
        interval = f", the line its {' to '.join(percents)} interval"
    axis = _axis(metric)
    return _chart(
        of,
        series,
        name="ranking",
        title=axis.label[:1].upper() + axis.label[1:],
        kind=ChartKind.INTERVALS,
        x=Axis("subject"),
        y=axis,
        caption=f"The large dot is the median of a subject's trials{interval}; the small dots are the trials.",
        section="Ranking",
    )


def ratio_chart(of: ConditionTrials, ranking: Ranking, names: Mapping[str, str]) -> Chart | None:
    """Draw each subject as a multiple of the first; None when no ratio can be stated."""
    first = ranking.standings[0].subject if ranking.standings else None
    series = []
    for pair in ranking.comparisons:
        if first not in {pair.subject, pair.baseline}:
            continue
        other = pair.subject if pair.baseline == first else pair.baseline
        if ratio := ratio_of(pair, other):
            series.append(Series(names[other], (names[other],), (ratio.estimate,), (ratio.low,), (ratio.high,)))
    multiple = f"multiple of {names[first]}" if first else ""
    return _chart(
        of,
        series,
        name="ratios",
        title=f"As a {multiple}",
        kind=ChartKind.INTERVALS,
        x=Axis("subject"),
        y=Axis(multiple, scale=Scale.LOGARITHMIC),
        caption=(
            "Trials of one block shared what the machine was like, so subjects are compared block by block. "
            "An interval that holds 1 leaves open which of the two is better."
        ),
        section="Ranking",
        reference=1.0,
    )


def cost_chart(of: ConditionTrials, pace: Metric, cost: Metric) -> Chart | None:
    """Draw the cost of each subject against its pace; None when no subject has both.

    The figures are those of the table: each median is taken over the trials that count for its metric. The small dots
    are the trials that count for both.
    """
    series: list[Series] = []
    for name, trials in of.well:
        paced, costed = (counting_trials(trials, metric.aspect, disturbed=True) for metric in (pace, cost))
        across, up = median(map(pace.figure, paced)), median(map(cost.figure, costed))
        if across is None or up is None:
            continue
        both = [(pace.figure(trial), cost.figure(trial)) for trial in paced if trial in costed]
        points = [(x, y) for x, y in both if x is not None and y is not None]
        if points:
            series.append(Series(name, tuple(x for x, _ in points), tuple(y for _, y in points), faint=True))
        series.append(Series(name, (across,), (up,)))
    return _chart(
        of,
        series,
        name="cpu",
        title="CPU time against throughput",
        kind=ChartKind.POINTS,
        x=_axis(pace),
        y=_axis(cost),
        caption="Fast and cheap is at the lower right; the large dot is the median, as the table has it.",
        section="Cost",
    )


_POINTS_A_HALVING: Final = 5
"""Points between a percentile and the one half as far from 100, as HdrHistogram prints its distributions."""
_SHARES: Final = 200
_MS: Final = 1e-6
_TIME: Final = Axis("response time", "ms", Scale.LOGARITHMIC)


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
    counts = sorted({subject.count for subject in times.values()})
    samples = " to ".join(dict.fromkeys(f"{count:,}" for count in (*counts[:1], *counts[-1:])))
    return _chart(
        of,
        [Series(name, *subject.percentiles) for name, subject in times.items()],
        name="percentiles",
        title="Response time by percentile",
        kind=ChartKind.LINES,
        x=Axis("percentile of URLs", "%", Scale.PERCENTILE),
        y=_TIME,
        caption=(
            "So many per cent of the URLs took no longer than this. Every URL counts, failed ones too, with the time "
            f"that the client reports; the samples of all trials are put together ({samples} each)."
        ),
        section="Response time",
    )


def distribution_chart(of: ConditionTrials, times: Mapping[str, ResponseTimes]) -> Chart | None:
    """Draw the empirical distribution function; None when there are no samples."""
    return _chart(
        of,
        [Series(name, *subject.distribution) for name, subject in times.items()],
        name="distribution",
        title="Share of URLs by response time",
        kind=ChartKind.LINES,
        x=_TIME,
        y=Axis("share of URLs", "%"),
        caption="The share of all URLs that had ended after this time. A step is a time at which many ended at once.",
        section="Response time",
    )


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


_BINS: Final = 60
"""Points of a line: more cannot be seen in a panel."""
_COUNTED_EVERY_NS: Final = 200_000_000
"""The engine counts answers in bins of 200 ms; wider ones are made of whole ones."""
_MIB: Final = 1024 * 1024
_CAPTION: Final = (
    "The bold line is the median of the trials, the thin ones are the trials, the grey ones everybody else."
)


def throughput_chart(of: ConditionTrials) -> Chart | None:
    """Draw the answers a second over time, as the origin counted them; None without counts."""
    return _chart(
        of,
        _over_time(of, "throughput", _answers_a_second),
        name="throughput",
        title="Answers a second over time",
        kind=ChartKind.PANELS,
        x=Axis("time", "s"),
        y=Axis("answers a second"),
        caption=f"Seconds since the subject was started; answers that the origin completed, redirects too. {_CAPTION}",
        section="Over time",
    )


def memory_chart(of: ConditionTrials) -> Chart | None:
    """Draw the memory in use over time; None without measurements."""
    return _chart(
        of,
        _over_time(of, "memory", _memory_mib),
        name="memory",
        title="Memory over time",
        kind=ChartKind.PANELS,
        x=Axis("time", "s"),
        y=Axis("memory", "MiB"),
        caption=f"MiB in use by the whole process tree, over seconds since it was started. {_CAPTION}",
        section="Over time",
    )


def _over_time(of: ConditionTrials, counter: str, binned: Callable[[Trial, Int64Array], FloatArray]) -> list[Series]:
    """Return the course of each trial that has a counter, and of each subject the median over its trials."""
    trials = {name: [trial for trial in well if getattr(trial.counters, counter)] for name, well in of.well}
    longest_ns = max((trial.counters.wall_ns or 0 for well in trials.values() for trial in well), default=0)
    if longest_ns <= 0:
        return []
    width_ns = _COUNTED_EVERY_NS * -(-longest_ns // (_BINS * _COUNTED_EVERY_NS))
    edges = np.arange(0, longest_ns + width_ns, width_ns)
    middles = tuple(round(float(edge + width_ns / 2) / 1e9, 3) for edge in edges[:-1])
    series: list[Series] = []
    for name, well in trials.items():
        if not well:
            continue
        # Beyond its end a trial is over, not idle.
        lines = np.array(
            [np.where(edges[:-1] < (trial.counters.wall_ns or 0), binned(trial, edges), np.nan) for trial in well]
        )
        if len(lines) > 1:
            series += [Series(name, middles, _points(line), faint=True) for line in lines]
        # The median goes as far as most of the trials last.
        lasting = 2 * np.sum(~np.isnan(lines), axis=0) > len(lines)
        middle = np.full(len(middles), np.nan)
        middle[lasting] = np.nanmedian(lines[:, lasting], axis=0)
        series.append(Series(name, middles, _points(middle)))
    return series


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
    points = trial.counters.memory or ()
    readings = np.full(len(edges) - 1, np.nan)
    places = np.searchsorted(edges, [point.elapsed_ns for point in points], side="right") - 1
    np.fmax.at(readings, np.minimum(places, len(readings) - 1), [point.bytes / _MIB for point in points])
    filled: FloatArray = pl.Series(readings).fill_nan(None).forward_fill().to_numpy()
    return filled


def _points(line: FloatArray) -> tuple[float | None, ...]:
    return tuple(None if np.isnan(value) else float(f"{value:.4g}") for value in line)


def stacked_chart(
    name: str,
    title: str,
    rows: Mapping[str, Sequence[float | None]],
    parts: Sequence[str],
    axis: Axis,
    *,
    caption: str,
    section: str,
) -> Chart | None:
    """Draw a bar for each subject, divided into parts; None without subjects.

    ``rows`` has the values of ``parts``, in the unit of ``axis``, by the name of the subject.
    """
    if not rows:
        return None
    values = zip(*rows.values(), strict=True)
    return Chart(
        name=name,
        title=title,
        kind=ChartKind.STACKED_BARS,
        x=Axis("subject"),
        y=axis,
        series=tuple(Series(part, tuple(rows), of_part) for part, of_part in zip(parts, values, strict=True)),
        caption=caption,
        section=section,
        colours=tuple(parts),
    )
