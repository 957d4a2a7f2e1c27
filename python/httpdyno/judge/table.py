"""The table of an experiment: a row for each subject, with the medians of its trials, ranked ones first."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

import numpy as np

from httpdyno.judge import notes
from httpdyno.judge.comparison import find_metric
from httpdyno.judge.limit import ceiling_notes, ceiling_over
from httpdyno.judge.rankable import counting_trials, grouped, rankable, verdict_of
from httpdyno.judge.ranking import rank
from httpdyno.model import (
    OPEN_MARK,
    PROVISIONAL_MARK,
    Aspect,
    Cell,
    Column,
    ColumnKind,
    Direction,
    Metric,
    Note,
    Outcome,
    Ranking,
    Standing,
    Table,
    Trial,
    Validity,
)
from httpdyno.stats import median, median_interval

Word = Callable[[Trial], str | None]
"""Function that describes a trial in a word."""

MAY_BE_CHANCE: Final = "may be chance"
PROVISIONAL: Final = "provisional"

_RANK: Final = "rank"
RANK_NOTE: Final = "rank_note"
_RANKS: Final = (
    Column(_RANK, ColumnKind.INTEGER, description="place by the median of the metric that ranks"),
    Column(
        RANK_NOTE,
        description=f"{MAY_BE_CHANCE}: the difference from the row above is not certain; {PROVISIONAL}: disturbed "
        "trials, or too few blocks in common with others",
        shown=False,
    ),
    Column("rank_best", ColumnKind.INTEGER, description="first possible rank", shown=False),
    Column("rank_worst", ColumnKind.INTEGER, description="last possible rank", shown=False),
)
_JUDGED: Final = (
    Column("wrong", ColumnKind.INTEGER, description="wrong answers that no known failure explains, in the worst trial"),
    Column("verdict", description="whether the figures can be trusted, or how the trial failed"),
    Column(
        "ceiling_per_s",
        ColumnKind.DECIMAL,
        "1/s",
        "right answers a second that the fetcher native reached on the same web",
        shown=False,
    ),
    Column(
        "ceiling_limit",
        description="limit of the fetcher: web, fetcher, origin, link, instrument, machine",
        shown=False,
    ),
)
_PASSED: Final = Column("passed", ColumnKind.BOOLEAN, description="whether no trial failed; empty: unknown")
_NOT_TRIED: Final = frozenset({Outcome.INTERRUPTED, Outcome.UNAVAILABLE, Outcome.REFUSED})
_LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class _Row:
    """The trials of one subject under one condition, and its rank."""

    trials: Sequence[Trial]
    standing: Standing | None
    """None: it is not ranked."""
    alone: bool
    """Whether it is the only ranked subject, so that a rank has no meaning."""
    disturbed: bool
    """Whether its figures may come from trials that other programs disturbed, where too few others count."""

    def counting(self, aspect: Aspect) -> Sequence[Trial]:
        """Return the trials behind its figures of an aspect."""
        return counting_trials(self.trials, aspect, disturbed=self.disturbed)

    def figures(self, metric: Metric) -> list[float]:
        """Return the figures of its trials that count."""
        return [figure for trial in self.counting(metric.aspect) if (figure := metric.figure(trial)) is not None]


def trial_table(
    trials: Sequence[Trial],
    metrics: Sequence[Metric],
    ranked_by: str,
    identity: Sequence[Column],
    words: Sequence[tuple[Column, Word]] = (),
    *,
    disturbed: bool = False,
    intervals: Collection[str] = (),
) -> Table:
    """Put trials into one row for each subject and condition.

    Ranked rows come first, the best of them at the top; then those that cannot be ranked; then those without any trial
    that went well, by name. None is left out. Each figure is the median over the trials that count for it
    (``rankable_trials``), else over those that went well; ``wrong`` is that of the worst of those that went well;
    ``verdict`` is how a trial failed if one did, else the worst validity of those that the ranking figure comes from.
    What was not measured is None.

    The rank, empty for rows that are not ranked and for one that is alone, stands before the metric that ranks. After
    that metric, and after those of ``intervals``, stand the ends of the interval of the median, under the metric's name
    with ``_low`` and ``_high``. Each column of ``identity`` is named like the field of a trial that it shows. Of
    ``words`` stands behind the figures what is said most often. ``disturbed``: a subject with too few trials that other
    programs left alone is ranked by the others too, provisionally.
    """
    ranking_metric = find_metric(metrics, ranked_by)
    conditions: dict[str, list[Trial]] = {}
    for trial in trials:
        conditions.setdefault(trial.condition, []).append(trial)
    rankings = {
        condition: rank(own, ranking_metric, level=_LEVEL, disturbed=disturbed) for condition, own in conditions.items()
    }
    rows = [
        row
        for condition, own in conditions.items()
        for row in _rows(own, rankings[condition], ranking_metric, disturbed=disturbed)
    ]
    standings = [row.standing.value for row in rows if row.standing and row.standing.value]
    explained = [Note(text, index) for index, row in enumerate(rows) for text in notes.trial_notes(row.trials)]
    doubts = (
        *map(Note, (*notes.missing_notes(trials), *notes.unverified_notes(trials))),
        *map(Note, notes.rank_notes(rankings.values())),
        *notes.level_notes(ranking_metric, standings, level=_LEVEL),
        *map(Note, (*notes.disturbed_notes(trials), *notes.crowded_notes(trials)) if disturbed else ()),
        *map(Note, (*notes.disturbance_notes(rankings.values()), *ceiling_notes(trials))),
        *map(Note, (*notes.asked_version_notes(trials), *notes.version_notes(trials))),
    )
    return Table(
        (
            *identity,
            *(column for metric in metrics for column in _columns(metric, ranked_by, intervals)),
            *(column for column, _ in words),
            *_JUDGED,
        ),
        tuple(_cells(row, metrics, (ranked_by, intervals), identity, words) for row in rows),
        notes=(*explained, *doubts),
    )


def answers_right(trial: Trial) -> bool | None:
    """Return whether a subject ended well without wrong answers; None: the trial does not show it."""
    if trial.outcome is not Outcome.OK:
        return None if trial.outcome in _NOT_TRIED else False
    if trial.tally is None or trial.tally.unverified:
        return None
    if trial.tally.wrong == 0:
        return True
    return False if trial.validity in {Validity.VALID, Validity.INCORRECT} else None


def passes_all(trials: Iterable[Trial], passes: Callable[[Trial], bool | None]) -> bool | None:
    """Return whether a subject passed in all trials with a result; None: no trial has one."""
    known = [passed for trial in trials if (passed := passes(trial)) is not None]
    return all(known) if known else None


def pass_table(
    trials: Sequence[Trial],
    metrics: Sequence[Metric],
    identity: Sequence[Column],
    passes: Callable[[Trial], bool | None],
) -> Table:
    """Put trials into one row for each subject and condition, with whether it passed, and without a rank.

    Subjects that failed come first. Figures are medians, as in ``trial_table``; one failed trial is a failure.
    """
    groups = sorted(grouped(trials).items(), key=lambda one: (passes_all(one[1], passes) is not False, one[0]))
    rows = [_Row(group, None, alone=True, disturbed=False) for _, group in groups]
    return Table(
        (*identity, _PASSED, *(metric.column for metric in metrics), *_JUDGED),
        tuple(
            (
                *(getattr(row.trials[0], column.name) for column in identity),
                passes_all(row.trials, passes),
                *(metric.rounded(median(row.figures(metric))) for metric in metrics),
                *_judged(row),
            )
            for row in rows
        ),
        notes=tuple(Note(text, index) for index, row in enumerate(rows) for text in notes.trial_notes(row.trials)),
    )


def _rows(trials: Sequence[Trial], ranking: Ranking, metric: Metric, *, disturbed: bool) -> list[_Row]:
    """Return the rows of the trials of one condition, in their order."""
    places = {standing.subject: place for place, standing in enumerate(ranking.standings)}
    alone = len(places) == 1
    rows = [
        _Row(group, ranking.standings[places[subject]] if subject in places else None, alone, disturbed)
        for (_, subject), group in grouped(trials).items()
    ]

    def order(row: _Row) -> tuple[int, float, str]:
        subject, counting = row.trials[0].subject, row.counting(metric.aspect)
        if rankable(row.trials, metric.aspect) or row.standing:
            return 0, places.get(subject, len(places)), subject
        value = median(map(metric.figure, counting))
        if value is None:
            return 1 if counting else 2, inf, subject
        return 1 if counting else 2, -value if metric.better is Direction.HIGHER else value, subject

    return sorted(rows, key=order)


def marked_ranks(table: Table) -> Table:
    """Mark uncertain ranks: ``2?`` may be chance, ``2~`` is provisional."""
    names = [column.name for column in table.columns]
    if not {_RANK, RANK_NOTE} <= set(names):
        return table
    rank, note = names.index(_RANK), names.index(RANK_NOTE)
    marks = {MAY_BE_CHANCE: OPEN_MARK, PROVISIONAL: PROVISIONAL_MARK}
    rows = tuple(
        row if row[rank] is None else (*row[:rank], f"{row[rank]}{marks.get(str(row[note]), '')}", *row[rank + 1 :])
        for row in table.rows
    )
    return replace(table, rows=rows)


def _columns(metric: Metric, ranked_by: str, intervals: Collection[str]) -> tuple[Column, ...]:
    column = metric.column
    ranks = _RANKS if metric.name == ranked_by else ()
    if metric.name != ranked_by and metric.name not in intervals:
        return (column,)
    bounds = (
        replace(column, name=column.name + end, label="", description=f"{which} end of the interval of its median")
        for end, which in (("_low", "lower"), ("_high", "upper"))
    )
    return (*ranks, column, *bounds)


def _cells(
    row: _Row,
    metrics: Sequence[Metric],
    of: tuple[str, Collection[str]],
    identity: Sequence[Column],
    words: Sequence[tuple[Column, Word]],
) -> tuple[Cell, ...]:
    ranked_by, intervals = of
    aspect = find_metric(metrics, ranked_by).aspect
    cells: list[Cell] = [getattr(row.trials[0], column.name) for column in identity]
    for metric in metrics:
        figures = row.figures(metric)
        if metric.name == ranked_by:
            cells += _ranks(row)
        cells.append(metric.rounded(median(figures)))
        if metric.name == ranked_by or metric.name in intervals:
            value = median_interval(np.array(figures), level=_LEVEL) if row.standing else None
            cells += [metric.rounded(value.low if value else None), metric.rounded(value.high if value else None)]
    cells += [_most_often(map(word, row.counting(aspect))) for _, word in words]
    return (*cells, *_judged(row))


def _judged(row: _Row) -> tuple[Cell, ...]:
    """Return the cells of ``_JUDGED``."""
    well = (trial for trial in row.trials if trial.outcome is Outcome.OK)
    verified = [trial.tally.wrong for trial in well if trial.tally and not trial.tally.unverified]
    ceiling, limit = ceiling_over(row.trials)
    wrong = max(verified) if verified else None
    verdict = verdict_of(row.trials, disturbed=row.disturbed)
    return (wrong, verdict, None if ceiling is None else round(ceiling, 1), limit.value if limit else None)


def _ranks(row: _Row) -> tuple[Cell, ...]:
    standing = row.standing
    if standing is None or row.alone:
        return (None,) * len(_RANKS)
    return standing.rank, rank_note(standing), standing.best, standing.worst


def rank_note(standing: Standing) -> str | None:
    """Return the doubt about a rank: it may be chance, or it is provisional; None when certain."""
    return PROVISIONAL if standing.provisional else MAY_BE_CHANCE if standing.open else None


def _most_often(words: Iterable[str | None]) -> str | None:
    found = Counter(word for word in words if word is not None).most_common(1)
    return str(found[0][0]) if found else None
