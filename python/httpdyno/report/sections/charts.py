"""Charts of a report that several experiments share: outcomes, rankings, response times, and the course of a trial."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

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
    """The trials of one condition, and further data for their charts."""

    trials: Sequence[Trial]
    names: Mapping[str, str]
    """All subjects of the report by id, in its order: each has one colour in all charts."""
    samples: pl.LazyFrame = field(default_factory=pl.LazyFrame)
    """Samples of the run, with the columns of ``model.Sample``."""
    verdicts: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    """Counts of verdicts by trial, as ``verdict_counts`` returns them."""
    ranking: Ranking | None = None
    """None if subjects pass or fail instead."""
    metric: Metric | None = None
    """The metric of the ranking."""

    @property
    def by_name(self) -> dict[str, list[Trial]]:
        """The trials of each subject, by its name."""
        return {name: [t for t in self.trials if t.subject == subject] for subject, name in self.names.items()}

    @property
    def colours(self) -> tuple[str, ...]:
        """The names of all subjects of the report, in its order."""
        return tuple(self.names.values())

    @property
    def well(self) -> Iterator[tuple[str, Sequence[Trial]]]:
        """Yield each subject that has successful trials, with these trials."""
        for name, trials in self.by_name.items():
            well = [trial for trial in trials if trial.outcome is Outcome.OK]
            if well:
                yield name, well


def _axis(metric: Metric) -> Axis:
    return Axis(metric.phrase or metric.name, "" if metric.phrase else metric.column.unit)


_EXPLAINED: Final = "explained"
_WRONG: Final = tuple(verdict.value for verdict in Verdict if verdict.wrong)
_NO_ANSWER: Final = (Verdict.NOT_REACHED.value, Verdict.UNVERIFIED.value)
_CLASSES: Final = {
    "2xx": "status_2xx",
    "3xx": "status_3xx",
    "4xx": "status_4xx",
    "5xx": "status_5xx",
    "exception": "exceptions",
}


def verdict_counts(samples: pl.LazyFrame) -> dict[int, dict[str, int]]:
    """Count the verdicts of each trial; wrong answers that a known failure explains are a separate kind.

    The samples have the columns of ``model.Sample``, and are counted without being read into memory.
    """
    verdict = pl.when("explained").then(pl.lit(_EXPLAINED)).otherwise(pl.col("verdict").cast(pl.String))
    counted = samples.group_by("trial", verdict=verdict).agg(count=pl.len()).collect(engine="streaming")
    counts: dict[int, dict[str, int]] = {}
    for trial, name, count in counted.iter_rows():
        counts.setdefault(trial, {})[name] = count
    return counts


def outcome_charts(of: ConditionTrials) -> Iterator[Chart]:
    """Draw the shares of verdicts on the answers, then those of reported status codes and errors."""
    order = (Verdict.RIGHT.value, *_WRONG, _EXPLAINED, *_NO_ANSWER)
    yield _outcome_chart(
        of,
        order,
        lambda trial, verdict: of.verdicts.get(trial.trial, {}).get(verdict, 0),
        name="verdicts",
        title="Verdicts on the answers",
        caption="Each answer compared with what the web serves. An error is right where the web is faulty.",
    )
    yield _outcome_chart(
        of,
        tuple(_CLASSES),
        lambda trial, label: getattr(trial.summary, _CLASSES[label]) if trial.summary else 0,
        name="statuses",
        title="Reported results",
        caption="Status codes after redirects; an exception is anything else that a client reports.",
    )


def _outcome_chart(
    of: ConditionTrials,
    kinds: Sequence[str],
    count: Callable[[Trial, str], int],
    *,
    name: str,
    title: str,
    caption: str,
) -> Chart:
    """Draw the sums of counts by subject and kind; subjects and kinds without any are left out."""
    counts = {
        subject: [sum(count(trial, kind) for trial in own) for kind in kinds] for subject, own in of.by_name.items()
    }
    sums = {subject: own for subject, own in counts.items() if any(own)}
    chart = stacked_chart(name, title, sums, kinds, Axis("share of URLs", "%"), caption=caption, section="Outcomes")
    # Kinds of outcomes have the colours of their meaning.
    return replace(chart, series=tuple(series for series in chart.series if any(series.y)), colours=())


def ranking_charts(of: ConditionTrials) -> Iterator[Chart]:
    """Draw the ranking, then each subject as a multiple of the first; nothing where subjects pass or fail."""
    if of.ranking is not None and of.metric is not None:
        yield ranking_chart(of, of.ranking, of.metric)
        yield _ratio_chart(of, of.ranking)


def ranking_chart(of: ConditionTrials, ranking: Ranking, metric: Metric) -> Chart:
    """Draw the median of each ranked subject with its interval, over the single trials."""
    series: list[Series] = []
    for standing in ranking.standings:
        name = of.names[standing.subject]
        trials = placing_trials([t for t in of.trials if t.subject == standing.subject], metric.aspect)
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
    return Chart(
        series=tuple(series),
        colours=of.colours,
        name="ranking",
        title=axis.label[:1].upper() + axis.label[1:],
        kind=ChartKind.INTERVALS,
        x=Axis("subject"),
        y=axis,
        caption=f"The large dot is the median of a subject's trials{interval}; the small dots are the trials.",
        section="Ranking",
    )


def _ratio_chart(of: ConditionTrials, ranking: Ranking) -> Chart:
    names = of.names
    first = ranking.standings[0].subject if ranking.standings else None
    series = []
    for pair in ranking.comparisons:
        if first not in {pair.subject, pair.baseline}:
            continue
        other = pair.subject if pair.baseline == first else pair.baseline
        if ratio := ratio_of(pair, other):
            series.append(Series(names[other], (names[other],), (ratio.estimate,), (ratio.low,), (ratio.high,)))
    multiple = f"multiple of {names[first]}" if first else ""
    return Chart(
        series=tuple(series),
        colours=of.colours,
        name="ratios",
        title=f"As a {multiple}",
        kind=ChartKind.INTERVALS,
        x=Axis("subject"),
        y=Axis(multiple, scale=Scale.LOGARITHMIC),
        caption=(
            "Trials of one block ran under similar conditions, so subjects are compared block by block. "
            "If an interval includes 1, it is not known which of the two is better."
        ),
        section="Ranking",
        reference=1.0,
    )


def cost_chart(of: ConditionTrials, pace: Metric, cost: Metric) -> Chart:
    """Draw the cost of each subject that has both against its pace.

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
    return Chart(
        series=tuple(series),
        colours=of.colours,
        name="cpu",
        title="CPU time against throughput",
        kind=ChartKind.POINTS,
        x=_axis(pace),
        y=_axis(cost),
        caption="Fast and cheap is at the lower right; the large dot is the median in the table.",
        section="Cost",
    )


_POINTS_A_HALVING: Final = 5
"""Points from each percentile to the one half as far from 100, as in the distributions of HdrHistogram."""
_SHARES: Final = [step / 2 for step in range(1, 201)]
"""Percentages at which the distribution is drawn."""
_MS: Final = 1e-6
_TIME: Final = Axis("response time", "ms", Scale.LOGARITHMIC)


def response_time_charts(of: ConditionTrials) -> tuple[Chart, Chart]:
    """Draw response time over percentile, as HdrHistogram does, and the empirical distribution function.

    The samples are those of all trials that ended well. Two columns of them are read, one subject at a time, so that
    memory stays small however many there are.
    """
    percentiles, distribution, counts = [], [], set()
    for name, trials in of.well:
        numbers = [trial.trial for trial in trials]
        rows = of.samples.filter(pl.col("trial").is_in(numbers) & pl.col("line").is_not_null()).select("duration_ns")
        values = rows.collect(engine="streaming")["duration_ns"].drop_nulls()
        if count := len(values):
            # A client can claim any number: a negative one has no place among durations.
            ordered = np.maximum(values.sort().to_numpy(), 0)
            last = 100 * (1 - 1 / count)
            halvings = int(np.ceil(np.log2(count) * _POINTS_A_HALVING))
            ranks = [100 * (1 - 2.0 ** (-step / _POINTS_A_HALVING)) for step in range(1, halvings)]
            ranks = [*(rank for rank in ranks if rank < last), *([last] if last > 0 else [])]
            percentiles.append(Series(name, (0.0, *ranks), _ms(ordered, ranks)))
            distribution.append(Series(name, _ms(ordered, _SHARES), (0.0, *_SHARES)))
            counts.add(count)
    samples = " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)})) if counts else ""
    draw = partial(Chart, kind=ChartKind.LINES, colours=of.colours, section="Response time")
    return draw(
        *("percentiles", "Response time by percentile"),
        series=tuple(percentiles),
        x=Axis("percentile of URLs", "%", Scale.PERCENTILE),
        y=_TIME,
        caption=(
            "This percentage of the URLs took at most this time. Every URL counts, failed ones too, with the time "
            f"that the client reports; the samples of all trials are put together ({samples} each)."
        ),
    ), draw(
        *("distribution", "Share of URLs by response time"),
        series=tuple(distribution),
        x=_TIME,
        y=Axis("share of URLs", "%"),
        caption="Share of all URLs that had ended after this time. A step is a time at which many URLs ended.",
    )


def _ms(ordered: Int64Array, ranks: Sequence[float]) -> tuple[float, ...]:
    return (int(ordered[0]) * _MS, *(float(f"{percentile(ordered, rank) * _MS:.5g}") for rank in ranks))


_BINS: Final = 60
"""Points of a line; a panel cannot show more."""
_COUNTED_EVERY_NS: Final = 200_000_000
"""The engine counts answers in bins of 200 ms; wider bins consist of whole ones."""
_MIB: Final = 1024 * 1024


def throughput_chart(of: ConditionTrials) -> Chart:
    """Draw the answers a second over time, as the origin counted them."""
    caption = "Seconds since the subject was started; answers that the origin completed, including redirects."
    title = "Answers a second over time"
    return _course_chart(of, "throughput", _answers_a_second, Axis("answers a second"), title, caption)


def memory_chart(of: ConditionTrials) -> Chart:
    """Draw the memory in use over time."""
    caption = "MiB in use by the whole process tree, over seconds since it was started."
    return _course_chart(of, "memory", _memory_mib, Axis("memory", "MiB"), "Memory over time", caption)


def _course_chart(
    of: ConditionTrials,
    name: str,
    binned: Callable[[Trial, Int64Array], FloatArray],
    axis: Axis,
    title: str,
    caption: str,
) -> Chart:
    """Draw a counter over time, in a panel for each subject."""
    explained = (
        "The bold line is the median of the trials, the thin ones are the trials, the grey ones all other subjects."
    )
    return Chart(
        series=tuple(_over_time(of, name, binned)),
        colours=of.colours,
        name=name,
        title=title,
        kind=ChartKind.PANELS,
        x=Axis("time", "s"),
        y=axis,
        caption=f"{caption} {explained}",
        section="Over time",
    )


def _over_time(of: ConditionTrials, counter: str, binned: Callable[[Trial, Int64Array], FloatArray]) -> list[Series]:
    """Return a counter over time for each trial that has it, and for each subject the median over its trials."""
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
        # After its end a trial has no values, not zeros.
        lines = np.array(
            [np.where(edges[:-1] < (trial.counters.wall_ns or 0), binned(trial, edges), np.nan) for trial in well]
        )
        if len(lines) > 1:
            series += [Series(name, middles, _points(line), faint=True) for line in lines]
        # The median ends when fewer than half of the trials still run.
        lasting = 2 * np.sum(~np.isnan(lines), axis=0) > len(lines)
        middle = np.full(len(middles), np.nan)
        middle[lasting] = np.nanmedian(lines[:, lasting], axis=0)
        series.append(Series(name, middles, _points(middle)))
    return series


def _answers_a_second(trial: Trial, edges: Int64Array) -> FloatArray:
    points = trial.counters.throughput or ()
    # A bin is named by its end; its middle decides the wider bin that it falls into.
    at_ns = np.array([point.elapsed_ns for point in points], dtype=np.int64) - _COUNTED_EVERY_NS // 2
    answers = np.array([point.answers for point in points], dtype=np.float64)
    counted, _ = np.histogram(at_ns, bins=edges, weights=answers)
    rates: FloatArray = counted * 1e9 / np.diff(edges)
    return rates


def _memory_mib(trial: Trial, edges: Int64Array) -> FloatArray:
    """Return the highest reading of each bin; a bin without a reading has the value of the bin before."""
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
    row: str = "subject",
) -> Chart:
    """Draw a bar for each subject, divided into parts.

    ``rows`` has the values of ``parts``, in the unit of ``axis``, by the name of the subject; ``row`` names what
    a bar stands for.
    """
    values = zip(*rows.values(), strict=True)
    return Chart(
        name=name,
        title=title,
        kind=ChartKind.STACKED_BARS,
        x=Axis(row),
        y=axis,
        series=tuple(Series(part, tuple(rows), of_part) for part, of_part in zip(parts, values, strict=bool(rows))),
        caption=caption,
        section=section,
        colours=tuple(parts),
    )
