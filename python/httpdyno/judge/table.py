"""The table of an experiment: one row a subject, ranked, the median of its trials, those that can be believed first."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Final

from httpdyno.judge.caveats import crowded_notes, disturbance_notes, disturbed_notes, level_notes, rank_notes
from httpdyno.judge.ceiling import ceiling_notes, ceiling_over
from httpdyno.judge.group import grouped
from httpdyno.judge.http_versions import asked_version_notes, version_notes
from httpdyno.judge.metrics import find_metric
from httpdyno.judge.notes import missing_notes, trial_notes, unverified_notes
from httpdyno.judge.rankable import counting_trials, rankable, verdict_of
from httpdyno.judge.ranking import rank
from httpdyno.model import (
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
)
from httpdyno.stats import median

__all__ = ["Word", "trial_table"]

Word = Callable[[Trial], str | None]
"""Says something of a trial in a word."""

_RANK: Final = Column(
    "rank",
    description="1-2: cannot be told apart from others that share a rank; ~: disturbed by other programs",
)
_JUDGED: Final = (
    Column("wrong", ColumnKind.INTEGER, description="wrong answers that no known failure explains, in the worst trial"),
    Column("verdict", description="whether the figures can be trusted, or how the trial failed"),
    Column(
        "ceiling_per_s",
        ColumnKind.DECIMAL,
        "1/s",
        "right answers a second that the fetcher native got out of the same web",
        shown=False,
    ),
    Column(
        "ceiling_limit",
        description="what kept it from more: web, fetcher, origin, link, instrument, machine",
        shown=False,
    ),
)
_LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class _Row:
    """The trials of one subject under one condition, and where they put it."""

    trials: Sequence[Trial]
    standing: Standing | None
    """None: it is not ranked."""
    alone: bool
    """Whether nobody else is ranked, so that a rank says nothing."""

    @property
    def disturbed(self) -> bool:
        """Whether it has its place by trials that other programs disturbed."""
        return self.standing is not None and self.standing.disturbed

    @property
    def counting(self) -> Sequence[Trial]:
        """Those that its figures come from."""
        return counting_trials(self.trials, disturbed=self.disturbed)


def trial_table(
    trials: Sequence[Trial],
    metrics: Sequence[Metric],
    ranked_by: str,
    identity: Sequence[Column],
    words: Sequence[tuple[Column, Word]] = (),
    *,
    disturbed: bool = False,
) -> Table:
    """Put trials into one row for each subject and condition.

    Rows that can be believed come first, the best of them at the top; then those that cannot; then those without any
    trial that went well, by name. None is left out. Figures are medians over the trials that count
    (``rankable_trials``), else over those that went well; ``wrong`` is that of the worst of those that went well;
    ``verdict`` is how a trial failed if one did, else the worst validity of those that the figures come from. What was
    not measured is None.

    Before the metric that ranks stands ``rank``, empty for rows that are not ranked and for one that is alone; after it
    stand the ends of the interval of its median, under its name with ``Low`` and ``High``. Each column of ``identity``
    is named like the field of a trial that it shows. Of ``words`` stands behind the figures what is said most often.
    ``disturbed``: whether who has too few trials that other programs left alone is ranked by those that they did not.
    """
    ranking_metric = find_metric(metrics, ranked_by)
    conditions: dict[str, list[Trial]] = {}
    for trial in trials:
        conditions.setdefault(trial.condition, []).append(trial)
    rankings = {
        condition: rank(own, ranking_metric, level=_LEVEL, disturbed=disturbed) for condition, own in conditions.items()
    }
    rows = [row for condition, own in conditions.items() for row in _rows(own, rankings[condition], ranking_metric)]
    standings = [row.standing.value for row in rows if row.standing and row.standing.value]
    notes = [Note(text, index) for index, row in enumerate(rows) for text in trial_notes(row.trials)]
    doubts = (
        *missing_notes(trials),
        *unverified_notes(trials),
        *rank_notes(rankings.values()),
        *level_notes(ranking_metric, standings, level=_LEVEL),
        *((*disturbed_notes(trials), *crowded_notes(trials)) if disturbed else ()),
        *disturbance_notes(rankings.values()),
        *ceiling_notes(trials),
        *asked_version_notes(trials),
        *version_notes(trials),
    )
    return Table(
        (
            *identity,
            *(column for metric in metrics for column in _columns(metric, ranked_by)),
            *(column for column, _ in words),
            *_JUDGED,
        ),
        tuple(_cells(row, metrics, ranked_by, identity, words) for row in rows),
        notes=(*notes, *map(Note, doubts)),
    )


def _rows(trials: Sequence[Trial], ranking: Ranking, metric: Metric) -> list[_Row]:
    """Return the rows of the trials of one condition, in their order."""
    places = {standing.subject: place for place, standing in enumerate(ranking.standings)}
    alone = len(places) == 1
    rows = [
        _Row(group, ranking.standings[places[subject]] if subject in places else None, alone)
        for (_, subject), group in grouped(trials).items()
    ]

    def order(row: _Row) -> tuple[int, float, str]:
        subject = row.trials[0].subject
        if rankable(row.trials) or row.standing:
            return 0, places.get(subject, len(places)), subject
        value = median(map(metric.figure, row.counting))
        if value is None:
            return 1 if row.counting else 2, inf, subject
        return 1 if row.counting else 2, -value if metric.better is Direction.HIGHER else value, subject

    return sorted(rows, key=order)


def _columns(metric: Metric, ranked_by: str) -> tuple[Column, ...]:
    column = metric.column
    if metric.name != ranked_by:
        return (column,)
    ends = (("_low", "lower"), ("_high", "upper"))
    bounds = (
        replace(column, name=column.name + suffix, description=f"{which} end of the interval of its median")
        for suffix, which in ends
    )
    return (_RANK, column, *bounds)


def _cells(
    row: _Row,
    metrics: Sequence[Metric],
    ranked_by: str,
    identity: Sequence[Column],
    words: Sequence[tuple[Column, Word]],
) -> tuple[Cell, ...]:
    cells: list[Cell] = [getattr(row.trials[0], column.name) for column in identity]
    for metric in metrics:
        figure = metric.rounded(median(map(metric.figure, row.counting)))
        cells += [figure] if metric.name != ranked_by else [*_ranked(row, figure, metric)]
    cells += [_most_often(map(word, row.counting)) for _, word in words]
    well = (trial for trial in row.trials if trial.outcome is Outcome.OK)
    verified = [trial.tally.wrong for trial in well if trial.tally and not trial.tally.unverified]
    ceiling, limit = ceiling_over(row.trials)
    wrong = max(verified) if verified else None
    verdict = verdict_of(row.trials, disturbed=row.disturbed)
    return (*cells, wrong, verdict, None if ceiling is None else round(ceiling, 1), limit.value if limit else None)


def _ranked(row: _Row, figure: Cell, metric: Metric) -> tuple[Cell, ...]:
    """Return the rank, the figure, and the interval of its median."""
    standing = row.standing
    shown = None if standing is None or row.alone else standing.text
    value = standing.value if standing else None
    low, high = (value.low, value.high) if value else (None, None)
    return shown, figure, metric.rounded(low), metric.rounded(high)


def _most_often(words: Iterable[str | None]) -> str | None:
    found = Counter(word for word in words if word is not None).most_common(1)
    return str(found[0][0]) if found else None
