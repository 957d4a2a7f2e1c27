"""The table of an experiment: one row a subject, the median of its trials, those that can be believed first."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from httpdyno.judge.metrics import find_metric
from httpdyno.judge.notes import trial_notes
from httpdyno.model import Cell, Column, ColumnKind, Direction, Metric, Note, Outcome, Table, Trial, Validity
from httpdyno.stats import median

__all__ = ["trial_table"]

_JUDGED: Final = (
    Column("wrong", ColumnKind.INTEGER, description="wrong answers that no known failure explains, in the worst trial"),
    Column("verdict", description="whether the figures can be trusted, or how the trial failed"),
)
_BELIEVED: Final = frozenset({Validity.VALID, None})


def trial_table(
    trials: Sequence[Trial], metrics: Sequence[Metric], ranked_by: str, identity: Sequence[Column]
) -> Table:
    """Put trials into one row for each subject and condition.

    Rows that can be believed come first, the best of them at the top; then those that cannot; then those without any
    trial that went well, by name. None is left out. Figures are medians over the trials that went well, ``wrong`` is
    that of the worst of them, ``verdict`` is how a trial failed if one did, else the worst validity. What was not
    measured is None.

    Parameters
    ----------
    trials : sequence of Trial
        Of one experiment; of any number of subjects, conditions and repeats.
    metrics : sequence of Metric
        The figures, in the order of their columns.
    ranked_by : str
        Name of the metric that says who is better.
    identity : sequence of Column
        What stands before the figures; each is named like the field of a trial that it shows.

    Returns
    -------
    Table
        Without rows when there are no trials.

    Raises
    ------
    UnknownName
        If ``ranked_by`` is none of the metrics.
    """
    ranking = find_metric(metrics, ranked_by)
    groups: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.condition, trial.subject), []).append(trial)
    conditions = list(dict.fromkeys(condition for condition, _ in groups))
    ordered = sorted(groups.values(), key=lambda group: (conditions.index(group[0].condition), *_place(group, ranking)))
    columns = (*identity, *(metric.column for metric in metrics), *_JUDGED)
    rows = tuple(
        (*(getattr(group[0], column.name) for column in identity), *_figures(group, metrics), *_judged(group))
        for group in ordered
    )
    notes = [Note(text, index) for index, group in enumerate(ordered) for text in trial_notes(group)]
    return Table(columns, rows, notes=tuple(notes))


def _place(group: Sequence[Trial], ranking: Metric) -> tuple[int, float, str]:
    well = [trial for trial in group if trial.outcome is Outcome.OK]
    believed = len(well) == len(group) and all(trial.validity in _BELIEVED for trial in well)
    value = median(map(ranking.figure, well)) or 0.0
    return (
        0 if believed else 1 if well else 2,
        -value if ranking.better is Direction.HIGHER else value,
        group[0].subject,
    )


def _figures(group: Sequence[Trial], metrics: Sequence[Metric]) -> list[Cell]:
    well = [trial for trial in group if trial.outcome is Outcome.OK]
    return [_rounded(median(map(metric.figure, well)), metric.digits) for metric in metrics]


def _judged(group: Sequence[Trial]) -> tuple[Cell, Cell]:
    well = [trial for trial in group if trial.outcome is Outcome.OK]
    verified = [trial.tally.wrong for trial in well if trial.tally and not trial.tally.unverified]
    return max(verified) if verified else None, _verdict(group)


def _rounded(value: float | None, digits: int) -> Cell:
    if value is None:
        return None
    return round(value, digits) if digits else round(value)


def _verdict(trials: Sequence[Trial]) -> str:
    failed = [trial.outcome.value for trial in trials if trial.outcome is not Outcome.OK]
    if failed:
        return Counter(failed).most_common(1)[0][0]
    worst = [validity for validity in reversed(Validity) if any(trial.validity is validity for trial in trials)]
    return worst[0].value if worst else ""
