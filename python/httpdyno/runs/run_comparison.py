"""Two runs of the same experiment against each other, subject by subject."""

from collections.abc import Mapping, Sequence
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.judge import compare_runs, trial_notes
from httpdyno.judge.comparison import Threshold
from httpdyno.judge.rankable import Group, grouped
from httpdyno.model import Column, Comparison, Metric, Trial
from httpdyno.report.sections.reservation import reservations
from httpdyno.runs.comparability import instrument_differences, run_differences
from httpdyno.runs.comparison_table import Compared, ComparedRow, Side, compared, row_of
from httpdyno.store import Run

__all__ = ["compare_two_runs"]

_NAMES: Final = (
    Column("subject", description="name of the subject's folder"),
    Column("condition", description="point of the experiment's grid; empty when there is one"),
    Column("version_a", description="version of the subject in A"),
    Column("version_b", description="version of the subject in B"),
)


def compare_two_runs(
    a: Run, b: Run, metrics: Sequence[Metric], thresholds: Sequence[Threshold], *, anyway: bool
) -> Compared:
    """Compare run B with run A, the baseline; they must be two, of the same experiment.

    Runs whose machines, webs or settings differ are refused; with ``anyway`` the differences are noted under the table.
    """
    _comparable(a, b)
    trials_a, trials_b = a.records(), b.records()
    differences = run_differences(a.manifest, b.manifest, trials_a, trials_b)
    if differences and not anyway:
        raise UsageError(
            f"runs A and B are not comparable: {'; '.join(differences)}; to compare them despite that: --anyway"
        )
    sides = grouped(trials_a), grouped(trials_b)
    rows = [
        row
        for metric in metrics
        for row in _rows(
            metric, *sides, compare_runs(trials_a, trials_b, metric), thresholds, first=metric is metrics[0]
        )
    ]
    notes = [
        *_origins((a, trials_a), (b, trials_b)),
        *(
            f"A and B differ in more than the subjects, which may explain a change: {difference}"
            for difference in differences
        ),
        *(f"the instrument changed: {difference}" for difference in instrument_differences(a.manifest, b.manifest)),
    ]
    return compared(_NAMES, ("value_a", "value_b"), rows, notes, thresholds)


def _comparable(a: Run, b: Run) -> None:
    if a.folder.resolve() == b.folder.resolve():
        raise UsageError(
            f"{a.folder} and {b.folder} are one run; compare one run with httpdyno compare {a.folder.name}"
        )
    first, second = a.manifest.experiment, b.manifest.experiment
    if first != second:
        raise UsageError(
            f"A is a run of {first}, B one of {second}; name two that answer the same question, see: httpdyno runs"
        )


def _rows(
    metric: Metric,
    before: Mapping[Group, Sequence[Trial]],
    after: Mapping[Group, Sequence[Trial]],
    comparisons: Sequence[Comparison],
    thresholds: Sequence[Threshold],
    *,
    first: bool,
) -> list[ComparedRow]:
    """Return a row for each subject and condition, those of one run only at the end; notes for the first metric."""
    found = {(comparison.condition, comparison.subject): comparison for comparison in comparisons}
    rows = []
    for group in sorted({**after, **before}, key=lambda group: group not in found):
        a, b = Side("A", before.get(group, ())), Side("B", after.get(group, ()))
        condition, subject = group
        names = (subject, condition, _versions(a.trials), _versions(b.trials))
        notes = _notes(a, b) if first else ()
        label = f"{subject} ({condition})" if condition else subject
        if group in found:
            rows.append(row_of(label, names, metric, a, b, found[group], thresholds, notes, (f"{label} in B", "in A")))
        else:
            verdict = f"only in {'A' if a.trials else 'B'}"
            rows.append(ComparedRow(label, names, metric, (a.value(metric), b.value(metric)), verdict, notes=notes))
    return rows


def _versions(trials: Sequence[Trial]) -> str | None:
    return ", ".join(dict.fromkeys(trial.version for trial in trials if trial.version)) or None


def _notes(a: Side, b: Side) -> tuple[str, ...]:
    """Describe what has to be said of the trials of either side, once where it is the same of both."""
    said = {side.name: trial_notes(side.trials) for side in (a, b)}
    texts = dict.fromkeys(note for notes in said.values() for note in notes)
    return tuple(f"{' and '.join(name for name in said if text in said[name])}: {text}" for text in texts)


def _origins(*runs: tuple[Run, Sequence[Trial]]) -> list[str]:
    """Name the two runs, with the reservations with which each has to be read."""
    notes = []
    for name, (run, trials) in zip("AB", runs, strict=True):
        of = [note.text for note in reservations(run.manifest, trials)]
        started = f"{run.manifest.started_at:%Y-%m-%d %H:%M} UTC"
        notes.append("; ".join([f"{name}: {run.folder.name}, {started}", *of]))
    return notes
