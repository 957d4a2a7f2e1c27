"""Comparison of two runs of the same experiment, and of the subjects of one run."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, Final

from httpdyno.errors import UsageError
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import compare_runs, rank_conditions, trial_notes
from httpdyno.judge.comparison import Threshold, compare_with_baseline
from httpdyno.judge.rankable import Group, grouped
from httpdyno.judge.wording import some_of
from httpdyno.model import Column, Comparison, Metric, Trial
from httpdyno.report.sections.headline import bound_notes
from httpdyno.report.sections.reservation import reservations
from httpdyno.runs.comparison_table import Compared, ComparedRow, Side, compared
from httpdyno.store import Difference, Manifest, Run, differences

_CONDITIONS: Final[dict[str, tuple[str, Callable[[Any], object]]]] = {
    "concurrency": ("concurrency", str),
    "urls_given": ("URLs", "{:,}".format),
    "timeout_ns": ("timeout", lambda nanoseconds: f"{nanoseconds / 1e9:g} s"),
    "link": ("link", str),
    "keepalive": ("keepalive", str),
    "check": ("check", str),
    "http_version": ("HTTP version", str),
}
"""Conditions of a trial, with their printed names and the texts of their values; every record has them."""
_SETTINGS_OF_CONDITIONS: Final = frozenset({*_CONDITIONS, "timeout_s", "against"})
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
    """Describe the differences of two runs that can change their figures, except those of the subjects.

    A setting that only one of the two runs has is not a difference: the other may be older than the setting.

    Each is a line, ``kernel: 6.1 in A, 6.12 in B``; only conditions that both runs have are compared.
    """
    of_runs = (
        difference
        for difference in differences(a, b)
        if difference.part != "instrument"
        and not difference.one_sided
        and not (difference.part == "settings" and difference.name in _SETTINGS_OF_CONDITIONS)
    )
    of_trials = _condition_differences(trials_a, trials_b, counted=a.urls is None or b.urls is None)
    return tuple(difference.side_by_side for found in (of_runs, of_trials) for difference in found)


def _condition_differences(
    trials_a: Sequence[Trial], trials_b: Sequence[Trial], *, counted: bool
) -> Iterator[Difference]:
    """Compare the conditions of the same subjects; ``counted``: compare the lengths of their lists, too."""
    # The first trial of each subject is enough: its conditions are the same in all blocks.
    first, second = ({group: own[0] for group, own in grouped(trials).items()} for trials in (trials_a, trials_b))
    common = [group for group in first if group in second]
    for field, (name, text) in _CONDITIONS.items():
        if field == "urls_given" and not counted:
            continue
        found: dict[tuple[object, object], list[str]] = defaultdict(list)
        for group in common:
            found[getattr(first[group], field), getattr(second[group], field)].append(group[1])
        for (one, other), subjects in found.items():
            if one != other:
                of_subjects = "" if len(subjects) == len(common) else f" of {some_of(subjects)}"
                yield Difference(
                    "trials", name + of_subjects, *(None if value is None else text(value) for value in (one, other))
                )


def compare_two_runs(
    a: Run, b: Run, metrics: Sequence[Metric], thresholds: Sequence[Threshold], *, anyway: bool
) -> Compared:
    """Compare run B with run A, the baseline.

    Raises ``UsageError`` if both are one run, or of different experiments. Runs whose machines, webs or settings differ
    are refused, too; with ``anyway`` the differences are noted under the table.
    """
    if a.folder.resolve() == b.folder.resolve():
        raise UsageError(
            f"{a.folder} and {b.folder} are one run; compare one run with httpdyno compare {a.folder.name}"
        )
    if a.manifest.experiment != b.manifest.experiment:
        raise UsageError(
            f"A is a run of {a.manifest.experiment}, B one of {b.manifest.experiment}; name two runs of one experiment,"
            " see: httpdyno runs"
        )
    trials_a, trials_b = a.records(), b.records()
    changes = run_differences(a.manifest, b.manifest, trials_a, trials_b)
    if changes and not anyway:
        raise UsageError(f"runs A and B are not comparable: {'; '.join(changes)}; compare them anyway with --anyway")
    rows = [row for metric in metrics for row in _rows(metric, trials_a, trials_b)]
    notes = [
        *(
            "; ".join([f"{name}: {_named(run)}", *(note.text for note in reservations(run.manifest, trials))])
            for name, run, trials in (("A", a, trials_a), ("B", b, trials_b))
        ),
        *(f"A and B differ in more than the subjects, which may explain a change: {change}" for change in changes),
        *(
            f"the instrument changed: {difference.side_by_side}"
            for difference in differences(a.manifest, b.manifest)
            if difference.part == "instrument"
        ),
    ]
    return compared(_COLUMNS, ("value_a", "value_b"), rows, notes, thresholds)


def _rows(metric: Metric, trials_a: Sequence[Trial], trials_b: Sequence[Trial]) -> Iterator[ComparedRow]:
    """Return a row for each subject and condition, unpaired rows last."""
    before, after = grouped(trials_a), grouped(trials_b)
    found = {(one.condition, one.subject): one for one in compare_runs(trials_a, trials_b, metric)}
    for group in sorted({**after, **before}, key=lambda group: group not in found):
        a, b = Side("A", before.get(group, ())), Side("B", after.get(group, ()))
        condition, subject = group
        label = f"{subject} ({condition})" if condition else subject
        yield ComparedRow(
            label,
            (subject, condition, _versions(a.trials), _versions(b.trials)),
            metric,
            a,
            b,
            found.get(group),
            reason=f"only in {'A' if a.trials else 'B'}",
            notes=_notes(a, b),
            sides=(f"{label} in B", "in A"),
        )


def _versions(trials: Sequence[Trial]) -> str | None:
    return ", ".join(dict.fromkeys(trial.version for trial in trials if trial.version)) or None


def _notes(a: Side, b: Side) -> tuple[str, ...]:
    notes = {side.name: trial_notes(side.trials) for side in (a, b)}
    texts = dict.fromkeys(text for of_side in notes.values() for text in of_side)
    return tuple(f"{' and '.join(name for name in notes if text in notes[name])}: {text}" for text in texts)


def _named(run: Run) -> str:
    return f"{run.folder.name}, {run.manifest.started_at:%Y-%m-%d %H:%M} UTC"


def compare_within_run(
    run: Run, metrics: Sequence[Metric], thresholds: Sequence[Threshold], *, baseline: str | None
) -> Compared:
    """Compare the subjects of a run, paired by the blocks that they share.

    Without a ``baseline`` each pair is compared, the better one first. Thresholds need one.
    """
    trials = run.records()
    names = {trial.subject: trial.subject for trial in trials}
    if thresholds and baseline is None:
        subjects = ", ".join(dict.fromkeys(subject for _, subject in grouped(trials)))
        raise UsageError(f"--fail-if inside one run needs --baseline, one of its subjects: {subjects}")
    rows = [row for metric in metrics for row in _pair_rows(metric, trials, baseline)]
    notes = [f"run: {_named(run)}; its trials are paired by block"]
    ranks = definition_of(run.manifest.experiment).presentation.tabulate is None
    bounds = [note for metric in metrics for note in bound_notes(trials, metric, names)] if ranks else []
    notes += [note.text for note in (*bounds, *reservations(run.manifest, trials))]
    return compared(_PAIR_COLUMNS, ("baseline_value", "value"), rows, notes, thresholds)


def _pair_rows(metric: Metric, trials: Sequence[Trial], baseline: str | None) -> Iterator[ComparedRow]:
    """Return a row for each comparison and for each subject without one; the notes of a subject once."""
    groups, noted = grouped(trials), set[Group]()
    comparisons: Iterable[Comparison] = (
        chain.from_iterable(ranking.comparisons for ranking in rank_conditions(trials, metric).values())
        if baseline is None
        else compare_with_baseline(trials, baseline, metric)
    )
    for comparison in comparisons:
        condition = comparison.condition
        pair = ((condition, comparison.subject), (condition, comparison.baseline))
        subject, other = (Side(group[1], groups.get(group, ())) for group in pair)
        new = [group for group in pair if group not in noted]
        noted.update(pair)
        at = f" ({condition})" if condition else ""
        yield ComparedRow(
            f"{subject.name} against {other.name}{at}",
            (subject.name, other.name, condition),
            metric,
            other,
            subject,
            comparison,
            notes=[f"{group[1]}: {note}" for group in new for note in trial_notes(groups.get(group, ()))],
            sides=(subject.name, other.name + at),
        )
    for group, own in groups.items():
        if group not in noted and group[1] != baseline:
            side = Side(group[1], own)
            reason = f"not judged, {side.caveat}" if side.caveat else "nothing to compare with"
            alone, notes = (group[1], None, group[0]), trial_notes(own)
            yield ComparedRow(side.name, alone, metric, None, side, reason=reason, notes=notes)
