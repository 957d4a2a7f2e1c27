"""Charts of a cost run: the published four, what a document cost, and where the CPU time went."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from httpdyno.experiments.cost.figures import CostSummary
from httpdyno.experiments.cost.metrics import COST_METRICS
from httpdyno.judge import find_metric, rankable_trials
from httpdyno.model import Axis, Chart, ChartKind, Metric, Ranking, Scale, Series, Tile, Tone, Trial
from httpdyno.report.sections.charts import ConditionTrials, memory_chart, ranking_chart, ratio_chart
from httpdyno.stats import median
from httpdyno.store import Run

__all__ = ["cost_charts"]

PUBLISHED: Final = "As published"
_SPENT: Final = "What was spent"
_PARTS: Final = ("documents", "start", "warm-up")
_COLUMNS: Final = ("user", "system", "total", "real", "mbPerSec")
_MS: Final = 1e-6
_US: Final = 1e-3
_TONES: Final = (
    (Tone.HELD, "within 1.5x of the best"),
    (Tone.NEAR, "within 3x"),
    (Tone.PART, "within 10x"),
    (Tone.LITTLE, "more"),
)
_REACH: Final = (1.5, 3.0, 10.0)
_TOOLS: Final = "Load tools stand among the clients, though they verify nothing."

_Figure = Callable[[Trial], float | None]


def cost_charts(
    run: Run,
    of: ConditionTrials,
    ranking: Ranking,
    metric: Metric,
    names: Mapping[str, str],
    verdicts: Mapping[int, Mapping[str, int]],
) -> Iterator[Chart]:
    """Draw the trials of one setting.

    ``verdicts`` are counts of verdicts by the number of a trial.
    """
    del run, verdicts
    drawn = (
        ranking_chart(of, ranking, metric, names),
        ratio_chart(of, ranking, names),
        _figures(of, "mbPerSec", "throughput", "Throughput", "throughput", "10^6 bytes of content a second."),
        _figures(of, "real", "real-time", "Real time", "real time", "From exec to the end of the process."),
        _sums(of, "user-system-time", "User and system time", PUBLISHED, (("user", "user"), ("system", "system")), "s"),
        _all_data(of),
        _spending(of),
        _course(of),
        memory_chart(of),
    )
    yield from (chart for chart in drawn if chart is not None)


def _counting(trials: Sequence[Trial]) -> Sequence[Trial]:
    return rankable_trials(trials) or trials


def _values(trials: Sequence[Trial], figure: _Figure) -> list[float]:
    return [value for trial in _counting(trials) if (value := figure(trial)) is not None]


def _figures(of: ConditionTrials, metric_name: str, name: str, title: str, axis: str, caption: str) -> Chart | None:
    """Draw a figure of each subject: the median over its trials, which stand behind it."""
    metric = find_metric(COST_METRICS, metric_name)
    series: list[Series] = []
    for subject, trials in of.well:
        values = _values(trials, metric.figure)
        if values:
            series.append(Series(subject, (subject,) * len(values), tuple(values), faint=True))
            series.append(Series(subject, (subject,), (median(values),)))
    if not series:
        return None
    return Chart(
        name=name,
        title=f"{title} ({metric.column.unit})",
        kind=ChartKind.INTERVALS,
        x=Axis("subject"),
        y=Axis(axis, metric.column.unit),
        series=tuple(series),
        caption=f"{caption} The large dot is the median of a subject's trials. {_TOOLS}",
        section=PUBLISHED,
        colours=of.colours,
    )


def _sums(
    of: ConditionTrials, name: str, title: str, section: str, parts: Sequence[tuple[str, str]], unit: str
) -> Chart | None:
    """Draw what a sum consists of for each subject: medians over its trials."""
    rows = {
        subject: [median(_values(trials, find_metric(COST_METRICS, metric).figure)) for metric, _ in parts]
        for subject, trials in of.well
    }
    known = {subject: row for subject, row in rows.items() if None not in row}
    if not known:
        return None
    return Chart(
        name=name,
        title=f"{title} ({unit})",
        kind=ChartKind.STACKED_BARS,
        x=Axis("subject"),
        y=Axis("CPU time", unit),
        series=tuple(
            Series(label, tuple(known), tuple(row[place] for row in known.values()))
            for place, (_, label) in enumerate(parts)
        ),
        caption=f"CPU time of all of a subject's processes, as the kernel counted it; medians. {_TOOLS}",
        section=section,
        colours=tuple(label for _, label in parts),
    )


def _all_data(of: ConditionTrials) -> Chart | None:
    """Draw the figures themselves as a table, each in the tone of how far it is from the best."""
    metrics = [find_metric(COST_METRICS, name) for name in _COLUMNS]
    cells = {
        (subject, metric.name): value
        for subject, trials in of.well
        for metric in metrics
        if (value := median(_values(trials, metric.figure))) is not None
    }
    if not cells:
        return None
    best = {
        metric.name: (max if metric.name == "mbPerSec" else min)(
            value for (_, name), value in cells.items() if name == metric.name
        )
        for metric in metrics
        if any(name == metric.name for _, name in cells)
    }
    subjects = list(dict.fromkeys(subject for subject, _ in cells))
    tiles = [
        Tile(
            "",
            _heading(metric),
            subject,
            _tone(value, best[metric.name]),
            f"{value:,.2f}",
            f"{subject}, {metric.name}: {value:,.3f} {metric.column.unit}",
        )
        # Rows are stacked upwards: the first subject is to be at the top.
        for subject in reversed(subjects)
        for metric in metrics
        if (value := cells.get((subject, metric.name))) is not None
    ]
    return Chart(
        name="all-data",
        title="All data",
        kind=ChartKind.TILES,
        x=Axis(""),
        y=Axis(""),
        series=(),
        caption="The published columns, and throughput: medians over the trials of each subject.",
        section=PUBLISHED,
        tiles=tuple(tiles),
        tones=_TONES,
    )


def _heading(metric: Metric) -> str:
    unit = metric.column.unit
    return f"{metric.name} ({unit})" if unit == "s" else unit


def _tone(value: float, best: float) -> Tone:
    ratio = max(value / best, best / value) if value and best else 1.0
    return next((tone for (tone, _), reach in zip(_TONES, _REACH, strict=False) if ratio <= reach), Tone.LITTLE)


def _spending(of: ConditionTrials) -> Chart | None:
    """Draw how much of the CPU time was for the start, for the warm-up beyond the documents, and for documents."""
    rows: dict[str, tuple[float, float, float]] = {}
    for subject, trials in of.well:
        starts = _values(trials, _start_ms)
        excess = _values(trials, _warm_up_ms)
        totals = _values(trials, find_metric(COST_METRICS, "total").figure)
        start, warm_up, total = median(starts), median(excess), median(totals)
        if start is not None and total is not None:
            above = max(warm_up or 0.0, 0.0)
            rows[subject] = (max(1000 * total - start - above, 0.0), start, above)
    if not rows:
        return None
    return Chart(
        name="spending",
        title="Where the CPU time went",
        kind=ChartKind.STACKED_BARS,
        x=Axis("subject"),
        y=Axis("share of CPU time", "%"),
        series=tuple(
            Series(label, tuple(rows), tuple(row[place] for row in rows.values())) for place, label in enumerate(_PARTS)
        ),
        caption=(
            "Start: until the first request. Warm-up: what the first documents cost beyond as many in steady state, "
            "as MSER-5 finds it. Documents: all the rest."
        ),
        section=_SPENT,
        colours=_PARTS,
    )


def _start_ms(trial: Trial) -> float | None:
    value = trial[CostSummary].start_cpu_ns if trial.get(CostSummary) else None
    return None if value is None else value * _MS


def _warm_up_ms(trial: Trial) -> float | None:
    value = trial[CostSummary].warm_up_cpu_ns if trial.get(CostSummary) else None
    return None if value is None else value * _MS


def _course(of: ConditionTrials) -> Chart | None:
    """Draw what a document cost over the trial, of the trial of each subject that is nearest to its median."""
    series: list[Series] = []
    for subject, trials in of.well:
        trial = _typical(_counting(trials))
        steps = trial[CostSummary].steps if trial and trial.get(CostSummary) else None
        if steps:
            after = tuple(step.documents for step in steps)
            series.append(Series(subject, after, tuple(step.cpu_ns * _US or None for step in steps)))
    if not series:
        return None
    return Chart(
        name="course",
        title="The cost of a document over the trial",
        kind=ChartKind.LINES,
        x=Axis("documents"),
        y=Axis("CPU time for each document", "us", Scale.LOGARITHMIC),
        series=tuple(series),
        caption="Of each subject the trial nearest to its median. What warms up falls, and then runs level.",
        section=_SPENT,
        colours=of.colours,
    )


def _typical(trials: Sequence[Trial]) -> Trial | None:
    figure = find_metric(COST_METRICS, "cpu_per_document_ms").figure
    known = [(value, trial) for trial in trials if (value := figure(trial)) is not None]
    middle = median([value for value, _ in known])
    return None if middle is None else min(known, key=lambda one: abs(one[0] - middle))[1]
