"""The subjects of one run against each other, or against one of them."""

from collections.abc import Mapping, Sequence
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import rank, trial_notes
from httpdyno.judge.comparison import Threshold, compare_with_baseline
from httpdyno.judge.rankable import Group, grouped
from httpdyno.model import Column, Comparison, Metric, Trial
from httpdyno.report.sections.headline import bound_notes
from httpdyno.report.sections.reservation import reservations
from httpdyno.runs.comparison_table import Compared, ComparedRow, Side, compared, row_of
from httpdyno.store import Run

__all__ = ["compare_within_run"]

_NAMES: Final = (
    Column("subject", description="name of the subject's folder"),
    Column("baseline", description="the subject that it is compared with"),
    Column("condition", description="point of the experiment's grid; empty when there is one"),
)


def compare_within_run(
    run: Run, metrics: Sequence[Metric], thresholds: Sequence[Threshold], *, baseline: str | None
) -> Compared:
    """Compare the subjects of a run, paired by the blocks that they share.

    Without a ``baseline`` each pair is compared, the better one first. Thresholds need one.
    """
    trials = run.records()
    names = {trial.subject: trial.subject for trial in trials}
    groups = grouped(trials)
    if thresholds and baseline is None:
        subjects = ", ".join(dict.fromkeys(subject for _, subject in groups))
        raise UsageError(f"--fail-if inside one run needs --baseline, one of its subjects: {subjects}")
    rows = [
        row
        for metric in metrics
        for row in _rows(
            metric,
            groups,
            _comparisons(trials, metric, baseline),
            thresholds,
            baseline=baseline,
            first=metric is metrics[0],
        )
    ]
    notes = [f"run: {run.folder.name}, {run.manifest.started_at:%Y-%m-%d %H:%M} UTC; its trials are paired by block"]
    ranks = definition_of(run.manifest.experiment).tabulate is None
    bounds = [note for metric in metrics for note in bound_notes(trials, metric, names)] if ranks else []
    notes += [note.text for note in (*bounds, *reservations(run.manifest, trials))]
    return compared(_NAMES, ("baseline_value", "value"), rows, notes, thresholds)


def _comparisons(trials: Sequence[Trial], metric: Metric, baseline: str | None) -> tuple[Comparison, ...]:
    if baseline is not None:
        return compare_with_baseline(trials, baseline, metric)
    conditions = dict.fromkeys(trial.condition for trial in trials)
    return tuple(
        comparison
        for condition in conditions
        for comparison in rank([trial for trial in trials if trial.condition == condition], metric).comparisons
    )


def _rows(
    metric: Metric,
    groups: Mapping[Group, Sequence[Trial]],
    comparisons: Sequence[Comparison],
    thresholds: Sequence[Threshold],
    *,
    baseline: str | None,
    first: bool,
) -> list[ComparedRow]:
    """Return a row for each comparison and for each subject without one; only the first metric's have notes."""
    rows = []
    noted: set[Group] = set()
    for comparison in comparisons:
        condition = comparison.condition
        pair = ((condition, comparison.subject), (condition, comparison.baseline))
        subject, other = (Side(group[1], groups.get(group, ())) for group in pair)
        # What has to be said of a subject is said once, under the first row that it is in.
        new = [group for group in pair if first and group not in noted]
        said = [f"{group[1]}: {note}" for group in new for note in trial_notes(groups.get(group, ()))]
        noted.update(pair)
        names = (comparison.subject, comparison.baseline, condition)
        at = f" ({condition})" if condition else ""
        label = f"{subject.name} against {other.name}{at}"
        sides = subject.name, other.name + at
        rows.append(row_of(label, names, metric, other, subject, comparison, thresholds, said, sides))
    for group, trials in groups.items():
        if group not in noted and group[1] != baseline:
            side = Side(group[1], trials)
            verdict = f"not judged, {side.caveat}" if side.caveat else "nothing to compare with"
            notes = trial_notes(trials) if first else ()
            alone = (group[1], None, group[0])
            rows.append(ComparedRow(side.name, alone, metric, (None, side.value(metric)), verdict, notes=notes))
    return rows
