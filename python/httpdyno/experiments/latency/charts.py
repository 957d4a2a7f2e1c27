"""Charts of a latency run: what a loop takes at each point, timed in both ways, and whose time a call is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.latency.figures import LatencyPoint, LatencySummary
from httpdyno.experiments.latency.table import of_timeit
from httpdyno.experiments.published import preset_of
from httpdyno.judge import rankable_trials
from httpdyno.model import Axis, Chart, ChartKind, Series, Trial, records_of
from httpdyno.published import PublishedTable
from httpdyno.report.sections.charts import ConditionTrials, percentile_chart, response_times
from httpdyno.stats import median
from httpdyno.store import Run

__all__ = ["ITSELF", "latency_charts"]

ITSELF: Final = "in process"
"""What is said of a client that timed its own calls."""
_LOOPS: Final = "What a loop takes"
_SHARES: Final = "Whose time it is"
_MS: Final = 1e-6


def latency_charts(run: Run, blocks: Mapping[str, Sequence[Trial]], names: Mapping[str, str]) -> Iterator[Chart]:
    """Draw each point: its loops, whose time its calls are, and how far their times spread.

    ``blocks`` has the trials of each point, by the point in words; ``names`` maps ids of subjects to their names. Both
    are in the order of the report.
    """
    for number, (point, trials) in enumerate(blocks.items()):
        drawn = (
            _loops(trials, names, preset_of(run.manifest)),
            _shares(trials, names),
            _percentiles(run, trials, names),
        )
        for chart in filter(None, drawn):
            yield _of_point(chart, point, number)


def _of_point(chart: Chart, point: str, number: int) -> Chart:
    return replace(chart, name=f"{chart.name}-{number}", title=f"{chart.title}: {point}")


def _loops(trials: Sequence[Trial], names: Mapping[str, str], published: PublishedTable | None) -> Chart | None:
    """Draw the mean of the runs of each client, over the runs: from outside, as it timed itself, as published."""
    series: list[Series] = []
    for subject, name in names.items():
        own = [trial for trial in trials if trial.subject == subject]
        for itself in (False, True):
            series += _runs([trial for trial in own if of_timeit(trial) is itself], name, itself=itself)
        if published is not None and own and own[0].get(LatencyPoint) is not None:
            series += _as_published(published, own[0], own[0][LatencyPoint])
    if not series:
        return None
    return Chart(
        name="loops",
        title="Time of a loop",
        kind=ChartKind.INTERVALS,
        x=Axis("subject"),
        y=Axis("time of a loop", "ms"),
        series=tuple(series),
        caption=(
            "The large dot is the mean, the line one standard deviation of the runs to either side, as timeit has it; "
            f"the small dots are the runs. A row for the client's lines, and one {ITSELF}, as it timed its own calls"
            f"{'; beside them what was published.' if published is not None else '.'}"
        ),
        section=_LOOPS,
        colours=tuple(names.values()),
    )


def _runs(trials: Sequence[Trial], name: str, *, itself: bool) -> Iterator[Series]:
    known = _known(trials)
    mean = median([one.mean_ns for one in known])
    if mean is None:
        return
    deviation = median([one.deviation_ns for one in known]) or 0.0
    row = f"{ITSELF}: {name.removeprefix(trials[0].language).strip()}" if itself else name
    runs = tuple(run.loop_ns * _MS for one in known for run in one.runs)
    yield Series(row, (row,) * len(runs), runs, faint=True)
    ends = max(mean - deviation, 0.0) * _MS, (mean + deviation) * _MS
    yield Series(row, (row,), (mean * _MS,), (ends[0],), (ends[1],))


def _as_published(published: PublishedTable, of: Trial, point: LatencyPoint) -> Iterator[Series]:
    """Draw what was published of a client at a point: the first time that it was printed, over each of them."""
    wanted = (of.subject, point.workload.value, point.parallel)
    there = [row for row in published.rows if (row["subject"], row["workload"], row["parallel"]) == wanted]
    if not there:
        return
    row = f"published: {of.method}"
    means = [float(str(one["mean"])) for one in there]
    deviation = float(str(there[0]["deviation"])) / 1000
    yield Series(row, (row,) * len(means), tuple(means), faint=True)
    yield Series(row, (row,), (means[0],), (means[0] - deviation,), (means[0] + deviation,))


def _shares(trials: Sequence[Trial], names: Mapping[str, str]) -> Chart | None:
    """Draw of what the mean duration of a call consists; None where nobody stamped the server's part."""
    lines = {
        name: _known([t for t in trials if t.subject == subject and not of_timeit(t)])
        for subject, name in names.items()
    }
    whole = {name: known for name, known in lines.items() if any(one.client_ns is not None for one in known)}
    if not whole:
        return None
    parts = (
        ("client", lambda one: one.client_ns),
        ("wire", lambda one: one.wire_ns),
        ("server", lambda one: one.server_ns),
    )
    series = [
        Series(part, tuple(whole), tuple((median(map(read, known)) or 0.0) * _MS for known in whole.values()))
        for part, read in parts
    ]
    return Chart(
        name="shares",
        title="Time of a call",
        kind=ChartKind.STACKED_BARS,
        x=Axis("subject"),
        y=Axis("time of a call", "ms"),
        series=tuple(series),
        caption=(
            "server: from the arrival of the request at the origin to the end of its answer; wire: the round trips of "
            "a call through the bare network, as measured; client: all else of the duration that the client claims."
        ),
        section=_SHARES,
        colours=tuple(part for part, _ in parts),
    )


def _percentiles(run: Run, trials: Sequence[Trial], names: Mapping[str, str]) -> Chart | None:
    lines = [trial for trial in trials if not of_timeit(trial)]
    by_name = {name: [trial for trial in lines if trial.subject == subject] for subject, name in names.items()}
    of = ConditionTrials("", by_name, tuple(names.values()))
    return percentile_chart(of, response_times(of, run.samples())) if lines else None


def _known(trials: Sequence[Trial]) -> list[LatencySummary]:
    believed = rankable_trials(trials) or trials
    return [summary for summary in records_of(LatencySummary, believed) if summary.mean_ns is not None]
