"""Comparison of two runs of the same experiment, and of the subjects of one run."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from httpdyno.errors import UsageError
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import compare_runs, rank, trial_notes
from httpdyno.judge.comparison import Threshold, compare_with_baseline
from httpdyno.judge.rankable import Group, grouped
from httpdyno.judge.wording import some_of
from httpdyno.model import Column, Comparison, Metric, Trial
from httpdyno.report.sections.headline import bound_notes
from httpdyno.report.sections.reservation import reservations
from httpdyno.runs.comparison_table import Compared, ComparedRow, Side, compared, row_of
from httpdyno.store import Difference, Manifest, Run, differences

_CONDITIONS: Final = (
    "concurrency",
    "urls_given",
    "timeout_ns",
    "link",
    "keepalive",
    "check",
    "http_version",
)
"""Conditions of a trial. Every record has them, also one older than their settings."""
_CONDITION_NAMES: Final = {"urls_given": "URLs", "timeout_ns": "timeout", "http_version": "HTTP version"}
_SETTINGS_OF_CONDITIONS: Final = frozenset(
    {"concurrency", "timeout_s", "link", "against", "keepalive", "check", "http_version"}
)
_COLUMNS: Final = (
    Column("subject", description="name of the subject's folder"),
    Column("condition", description="point of the experiment's grid; empty when there is one"),
    Column("version_a", description="version of the subject in A"),
    Column("version_b", description="version of the subject in B"),
)
_PAIR_COLUMNS: Final = (
    Column("subject", description="name of the subject's folder"),
    Column("baseline", description="the subject that it is compared with"),
    Column("condition", description="point of the experiment's grid; empty when there is one"),
)


def run_differences(a: Manifest, b: Manifest, trials_a: Sequence[Trial], trials_b: Sequence[Trial]) -> tuple[str, ...]:
    """Describe the differences of two runs that can move their figures, except those of the subjects.

    A setting that only one of them has (a run may be older than a setting) is no difference.

    One line each, ``kernel: 6.1 in A, 6.12 in B``; of the trials, only the conditions in both runs are compared.
    """
    of_runs = (
        difference
        for difference in differences(a, b)
        if difference.part != "instrument"
        and not difference.one_sided
        and not (difference.part == "settings" and difference.name in _SETTINGS_OF_CONDITIONS)
    )
    of_trials = _conditions(trials_a, trials_b, counted=a.urls is None or b.urls is None)
    return tuple(difference.side_by_side for found in (of_runs, of_trials) for difference in found)


def instrument_differences(a: Manifest, b: Manifest) -> tuple[str, ...]:
    """Describe the differences of the instrument: an update of httpdyno can move figures."""
    return tuple(change.side_by_side for change in differences(a, b) if change.part == "instrument")


def _conditions(trials_a: Sequence[Trial], trials_b: Sequence[Trial], *, counted: bool) -> Iterator[Difference]:
    """Compare the conditions of the same subjects; ``counted``: compare the lengths of their lists, too."""
    first, second = _given(trials_a), _given(trials_b)
    common = [group for group in first if group in second]
    for place, field in enumerate(_CONDITIONS):
        if field == "urls_given" and not counted:
            continue
        found: dict[tuple[object, object], list[str]] = defaultdict(list)
        for group in common:
            found[first[group][place], second[group][place]].append(group[1])
        for (one, other), subjects in found.items():
            if one != other:
                whose = "" if len(subjects) == len(common) else f" of {some_of(subjects)}"
                yield Difference("trials", _CONDITION_NAMES.get(field, field) + whose, *_shown(field, one, other))


def _given(trials: Sequence[Trial]) -> dict[tuple[str, str], list[object]]:
    """Return the conditions of each subject; those of its first trial: a plan changes none from block to block."""
    given: dict[tuple[str, str], list[object]] = {}
    for trial in trials:
        given.setdefault((trial.condition, trial.subject), [getattr(trial, field) for field in _CONDITIONS])
    return given


def _shown(field: str, *values: object) -> list[object]:
    if field == "timeout_ns":
        return [f"{value / 1e9:g} s" for value in values if isinstance(value, int)]
    return [f"{value:,}" if field == "urls_given" else value for value in values]


def compare_two_runs(
    a: Run, b: Run, metrics: Sequence[Metric], thresholds: Sequence[Threshold], *, anyway: bool
) -> Compared:
    """Compare run B with run A, the baseline; they must be two, of the same experiment.

    Runs whose machines, webs or settings differ are refused; with ``anyway`` the differences are noted under the table.
    """
    _comparable(a, b)
    trials_a, trials_b = a.records(), b.records()
    changes = run_differences(a.manifest, b.manifest, trials_a, trials_b)
    if changes and not anyway:
        raise UsageError(f"runs A and B are not comparable: {'; '.join(changes)}; compare them anyway with --anyway")
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
        *(f"A and B differ in more than the subjects, which may explain a change: {change}" for change in changes),
        *(f"the instrument changed: {difference}" for difference in instrument_differences(a.manifest, b.manifest)),
    ]
    return compared(_COLUMNS, ("value_a", "value_b"), rows, notes, thresholds)


def _comparable(a: Run, b: Run) -> None:
    if a.folder.resolve() == b.folder.resolve():
        raise UsageError(
            f"{a.folder} and {b.folder} are one run; compare one run with httpdyno compare {a.folder.name}"
        )
    first, second = a.manifest.experiment, b.manifest.experiment
    if first != second:
        raise UsageError(
            f"A is a run of {first}, B one of {second}; name two runs of one experiment, see: httpdyno runs"
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
    """Return a row for each subject and condition, unpaired rows last; only the first metric's have notes."""
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
    """Return the notes on the trials of both sides, equal notes once."""
    said = {side.name: trial_notes(side.trials) for side in (a, b)}
    texts = dict.fromkeys(note for notes in said.values() for note in notes)
    return tuple(f"{' and '.join(name for name in said if text in said[name])}: {text}" for text in texts)


def _origins(*runs: tuple[Run, Sequence[Trial]]) -> list[str]:
    """Return the names of the two runs, each with its reservations."""
    notes = []
    for name, (run, trials) in zip("AB", runs, strict=True):
        of = [note.text for note in reservations(run.manifest, trials)]
        started = f"{run.manifest.started_at:%Y-%m-%d %H:%M} UTC"
        notes.append("; ".join([f"{name}: {run.folder.name}, {started}", *of]))
    return notes


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
        for row in _pair_rows(
            metric,
            groups,
            _comparisons(trials, metric, baseline),
            thresholds,
            baseline=baseline,
            first=metric is metrics[0],
        )
    ]
    notes = [f"run: {run.folder.name}, {run.manifest.started_at:%Y-%m-%d %H:%M} UTC; its trials are paired by block"]
    ranks = definition_of(run.manifest.experiment).presentation.tabulate is None
    bounds = [note for metric in metrics for note in bound_notes(trials, metric, names)] if ranks else []
    notes += [note.text for note in (*bounds, *reservations(run.manifest, trials))]
    return compared(_PAIR_COLUMNS, ("baseline_value", "value"), rows, notes, thresholds)


def _comparisons(trials: Sequence[Trial], metric: Metric, baseline: str | None) -> tuple[Comparison, ...]:
    if baseline is not None:
        return compare_with_baseline(trials, baseline, metric)
    conditions = dict.fromkeys(trial.condition for trial in trials)
    return tuple(
        comparison
        for condition in conditions
        for comparison in rank([trial for trial in trials if trial.condition == condition], metric).comparisons
    )


def _pair_rows(
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
        # The notes of a subject stand once, under its first row.
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
