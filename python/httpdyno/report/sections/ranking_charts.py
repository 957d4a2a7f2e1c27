"""Charts of who is better: each subject's figure with its interval, ratios to the first, cost against figure."""

from collections.abc import Mapping, Sequence
from typing import Final

from httpdyno.judge import counting_trials, placing_trials
from httpdyno.model import Axis, Chart, ChartKind, Comparison, Metric, Ranking, Scale, Series, Trial
from httpdyno.report.sections.condition import ConditionTrials
from httpdyno.stats import median

__all__ = ["cost_chart", "ranking_chart", "ratio_chart"]

_SECTION: Final = "Ranking"


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
    return _chart(
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
    return _chart(
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


def _chart(
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
        section=_SECTION,
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
