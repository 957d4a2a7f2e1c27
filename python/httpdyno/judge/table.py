"""The table of an experiment: a row for each subject, with the medians of its trials, ranked ones first."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from operator import attrgetter
from typing import Final

import numpy as np

from httpdyno.judge import notes
from httpdyno.judge.comparison import find_metric
from httpdyno.judge.limit import ceiling_notes, ceiling_over
from httpdyno.judge.rankable import counting_trials, grouped, rankable, verdict_of
from httpdyno.judge.ranking import rank_conditions
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
"""Function that describes a trial in one word."""

MAY_BE_CHANCE: Final = "may be chance"
PROVISIONAL: Final = "provisional"

_RANK: Final = "rank"
RANK_NOTE: Final = "rank_note"
_NOT_TRIED: Final = frozenset({Outcome.INTERRUPTED, Outcome.UNAVAILABLE, Outcome.REFUSED})
_LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class _Row:
    """The trials of one subject under one condition, and its rank."""

    trials: Sequence[Trial]
    standing: Standing | None = None
    """None: the subject is not ranked."""
    alone: bool = False
    """Whether it is the only ranked subject, which makes a rank meaningless."""
    disturbed: bool = False
    """Whether its figures may include disturbed trials, if too few others count."""

    def counting(self, aspect: Aspect) -> Sequence[Trial]:
        """Return the trials from which its figures of an aspect are computed."""
        return counting_trials(self.trials, aspect, disturbed=self.disturbed)

    def figures(self, metric: Metric) -> list[float]:
        """Return the figures of its trials that count."""
        return [figure for trial in self.counting(metric.aspect) if (figure := metric.figure(trial)) is not None]


_Shown = tuple[Column, Callable[[_Row], Cell]]
"""A column, and the function that reads its cell from a row."""


def _column(
    name: str,
    read: Callable[[_Row], Cell],
    description: str,
    kind: ColumnKind = ColumnKind.TEXT,
    unit: str = "",
    *,
    shown: bool = True,
) -> _Shown:
    return Column(name, kind, unit, description, shown), read


def rank_note(standing: Standing) -> str | None:
    """Return the doubt about a rank: it may be chance, or it is provisional; None if it is certain."""
    return PROVISIONAL if standing.provisional else MAY_BE_CHANCE if standing.open else None


def _of_standing(read: Callable[[Standing], Cell]) -> Callable[[_Row], Cell]:
    return lambda row: None if row.standing is None or row.alone else read(row.standing)


_RANK_MEANS: Final = "place by the median of the ranking metric"
_RANK_NOTE_MEANS: Final = (
    f"{MAY_BE_CHANCE}: the difference from the row above is not certain; {PROVISIONAL}: disturbed trials, or too few "
    "blocks in common with others"
)
_RANKS: Final = (
    _column(_RANK, _of_standing(attrgetter("rank")), _RANK_MEANS, ColumnKind.INTEGER),
    _column(RANK_NOTE, _of_standing(rank_note), _RANK_NOTE_MEANS, shown=False),
    _column("rank_best", _of_standing(attrgetter("best")), "first possible rank", ColumnKind.INTEGER, shown=False),
    _column("rank_worst", _of_standing(attrgetter("worst")), "last possible rank", ColumnKind.INTEGER, shown=False),
)


def _wrong(row: _Row) -> int | None:
    well = (trial.tally for trial in row.trials if trial.outcome is Outcome.OK)
    return max((tally.wrong for tally in well if tally and not tally.unverified), default=None)


def _ceiling_per_s(row: _Row) -> float | None:
    ceiling, _ = ceiling_over(row.trials)
    return None if ceiling is None else round(ceiling, 1)


def _ceiling_limit(row: _Row) -> str | None:
    _, limit = ceiling_over(row.trials)
    return limit.value if limit else None


_WRONG_MEANS: Final = "wrong answers that no known failure explains, in the worst trial"
_VERDICT_MEANS: Final = "whether the figures can be trusted, or how the trial failed"
_CEILING_MEANS: Final = "right answers a second that the fetcher native reached on the same web"
_LIMIT_MEANS: Final = "limit of the fetcher: web, fetcher, origin, link, instrument, machine"
_JUDGED: Final = (
    _column("wrong", _wrong, _WRONG_MEANS, ColumnKind.INTEGER),
    _column("verdict", lambda row: verdict_of(row.trials, disturbed=row.disturbed), _VERDICT_MEANS),
    _column("ceiling_per_s", _ceiling_per_s, _CEILING_MEANS, ColumnKind.DECIMAL, "1/s", shown=False),
    _column("ceiling_limit", _ceiling_limit, _LIMIT_MEANS, shown=False),
)


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

    Ranked rows come first, the best at the top; then unranked ones; then those without a successful trial, by name. No
    subject is left out. Each figure is the median over the trials that count for it (``rankable_trials``), else over
    the successful ones. ``wrong`` is that of the worst successful trial. ``verdict`` is how a trial failed if one did,
    else the worst validity of the trials behind the ranking figure. Unmeasured figures are None.

    The rank, empty for unranked rows and for a single one, precedes the ranking metric. After that metric, and after
    those of ``intervals``, come the ends of the interval of the median, named like the metric with ``_low`` and
    ``_high``. Each column of ``identity`` has the name of the field of a trial that it shows. The most frequent word of
    each of ``words`` comes after the figures. ``disturbed``: a subject with too few undisturbed trials is also ranked
    by its disturbed ones, provisionally.
    """
    ranking_metric = find_metric(metrics, ranked_by)
    rankings = rank_conditions(trials, ranking_metric, level=_LEVEL, disturbed=disturbed)
    rows = [
        row
        for condition, ranking in rankings.items()
        for row in _rows([t for t in trials if t.condition == condition], ranking, ranking_metric, disturbed=disturbed)
    ]
    shown = [_identity(column) for column in identity]
    for metric in metrics:
        is_ranking = metric.name == ranked_by
        shown += _RANKS if is_ranking else ()
        shown.append(_median(metric))
        shown += _bounds(metric) if is_ranking or metric.name in intervals else ()
    shown += [(column, partial(_most_frequent_word, word, ranking_metric.aspect)) for column, word in words]
    standings = [row.standing.value for row in rows if row.standing and row.standing.value]
    doubts = (
        *map(Note, (*notes.missing_notes(trials), *notes.unverified_notes(trials))),
        *map(Note, notes.rank_notes(rankings.values())),
        *notes.level_notes(ranking_metric, standings, level=_LEVEL),
        *map(Note, (*notes.disturbed_notes(trials), *notes.crowded_notes(trials)) if disturbed else ()),
        *map(Note, (*notes.disturbance_notes(rankings.values()), *ceiling_notes(trials))),
        *map(Note, (*notes.asked_version_notes(trials), *notes.version_notes(trials))),
    )
    return _table(rows, shown, doubts)


def answers_right(trial: Trial) -> bool | None:
    """Return whether a subject ended normally without wrong answers; None: the trial does not show it."""
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
    passed = Column("passed", ColumnKind.BOOLEAN, description="whether no trial failed; empty: unknown")
    shown = [*map(_identity, identity), (passed, lambda row: passes_all(row.trials, passes)), *map(_median, metrics)]
    return _table([_Row(group) for _, group in groups], shown)


def _table(rows: Sequence[_Row], shown: Sequence[_Shown], doubts: Iterable[Note] = ()) -> Table:
    """Return the table of these columns and those of ``_JUDGED``; notes on trials come before notes on doubts."""
    columns, readers = zip(*shown, *_JUDGED, strict=True)
    cells = tuple(tuple(read(row) for read in readers) for row in rows)
    explained = [Note(text, index) for index, row in enumerate(rows) for text in notes.trial_notes(row.trials)]
    return Table(columns, cells, notes=(*explained, *doubts))


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


def _identity(column: Column) -> _Shown:
    return column, lambda row: getattr(row.trials[0], column.name)


def _median(metric: Metric) -> _Shown:
    return metric.column, lambda row: metric.rounded(median(row.figures(metric)))


def _bounds(metric: Metric) -> Iterator[_Shown]:
    """Return the columns for the ends of the interval of a median; only ranked rows have one."""

    def bound(end: str, row: _Row) -> Cell:
        interval = median_interval(np.array(row.figures(metric)), level=_LEVEL) if row.standing else None
        return metric.rounded(getattr(interval, end) if interval else None)

    for end, which in (("low", "lower"), ("high", "upper")):
        description = f"{which} end of the interval of its median"
        column = replace(metric.column, name=f"{metric.name}_{end}", label="", description=description)
        yield column, partial(bound, end)


def _most_frequent_word(word: Word, aspect: Aspect, row: _Row) -> str | None:
    found = Counter(said for said in map(word, row.counting(aspect)) if said is not None).most_common(1)
    return found[0][0] if found else None
