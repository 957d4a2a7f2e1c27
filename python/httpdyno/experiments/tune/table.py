"""The table of a search for the best concurrency: a row for each that was tried, the chosen one marked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.crawl.compact import rate_text
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.experiments.tune.tuning import concluded, law_of, law_words, searches_of
from httpdyno.judge import ceiling_notes, find_metric, trial_notes, worst_validity
from httpdyno.judge.limit import limited_by
from httpdyno.judge.notes import asked_version_notes
from httpdyno.model import Cell, Column, ColumnKind, Metric, Note, Outcome, Table, Trial
from httpdyno.stats import Point, Standing, median

__all__ = ["chosen_text", "tune_answer", "tune_table", "tune_views"]

_INTEGER: Final = ColumnKind.INTEGER
_RATE: Final = find_metric(CRAWL_METRICS, "right_per_s").column
_MEDIANS: Final = tuple(
    find_metric(CRAWL_METRICS, name)
    for name in ("p50_ms", "p99_ms", "cpu_user_ms", "cpu_system_ms", "peak_memory_bytes")
)
_COLUMNS: Final = (
    Column("subject", description="name of the subject's folder", shown=False),
    Column("concurrency", _INTEGER, description="requests in flight at most"),
    Column("http_version", description="HTTP version that was asked for; empty: the client's default", shown=False),
    Column("verdict", description="what the search says of it: chosen, no better, worse, raises faults, or failed"),
    Column("right_per_s", _RATE.kind, _RATE.unit, "right answers a second: geometric mean of the trials"),
    Column(
        "right_per_s_low", _RATE.kind, _RATE.unit, "lower end of its interval of 95 %, by the spread of all repeats"
    ),
    Column("right_per_s_high", _RATE.kind, _RATE.unit, "upper end"),
    Column("errors", _INTEGER, description="wrong answers, known failures included, of all its trials; not those late"),
    Column("late", _INTEGER, description="answers that came after the timeout, of all its trials"),
    Column("trials", _INTEGER),
    *(metric.column for metric in _MEDIANS),
    Column("limited_by", description="what held it up: concurrency, CPU, origin, link or web; of most of its trials"),
    Column("wrong", _INTEGER, description="wrong answers that no known failure explains, in the worst trial"),
    Column("validity", description="whether its figures say something about the subject: that of its worst trial"),
    Column("chosen", ColumnKind.BOOLEAN, description="whether it is the one that was found", shown=False),
)
_ANSWER: Final = "best with "
_VIEW: Final = (
    Column("subject"),
    Column("in flight", _INTEGER),
    Column("verdict"),
    Column("right/s", _RATE.kind),
    Column("errors", _INTEGER),
    Column("late", _INTEGER),
    Column("p50", ColumnKind.DURATION, dispensable=True),
    Column("p99", ColumnKind.DURATION, dispensable=True),
    Column("MiB", _INTEGER, dispensable=True),
    Column("limited_by"),
    Column("validity", toned=True),
)


def tune_table(trials: Sequence[Trial]) -> Table:
    """Put the trials into a row for each subject and concurrency; whose best brings most comes first."""
    searches = searches_of(trials)
    rows: list[tuple[Cell, ...]] = []
    notes: list[Note] = []
    for subject, own in searches.items():
        of = f"{subject}: " if len(searches) > 1 else ""
        conclusion = concluded(own)
        groups = [[trial for trial in own if trial.concurrency == point.load] for point in conclusion.points]
        rows += map(_row, conclusion.points, groups)
        found = (chosen_text(conclusion.best), law_words(law_of(own, conclusion), conclusion))
        notes += [Note(f"{of}{text}") for text in (*_reasons(conclusion.points, groups), *found)]
    notes += map(Note, (*asked_version_notes(trials), *ceiling_notes(trials)))
    columns = (replace(_COLUMNS[0], shown=len(searches) > 1), *_COLUMNS[1:])
    return Table(columns, tuple(rows), notes=tuple(notes))


def tune_answer(trials: Sequence[Trial], *, quick: bool = False) -> str:
    """Say which concurrency is best for each client; ``quick``: that it was a quick look."""
    if not trials:
        return "Nothing was measured: the run has no finished trial"
    found = "; ".join(f"{name}: {chosen_text(concluded(own).best)}" for name, own in searches_of(trials).items())
    return f"A quick look, with few and short trials: {found}" if quick else found


def tune_views(trials: Sequence[Trial], settings: Mapping[str, object]) -> tuple[Table, ...]:
    """Make the table that fits a terminal: what each concurrency brings, what it costs, and what held it up."""
    table = tune_table(trials).answering(tune_answer(trials, quick=settings.get("quick") is True))
    # The answer is said above.
    answers = {note for note in table.notes if note.row is None and _ANSWER in note.text}
    table = replace(table, notes=tuple(note for note in table.notes if note not in answers))
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    columns = (replace(_VIEW[0], shown=table.columns[0].shown), *_VIEW[1:])
    return (replace(table, columns=columns, rows=tuple(map(_cells, rows))),)


def _cells(row: Mapping[str, Cell]) -> tuple[Cell, ...]:
    memory = row["peak_memory_bytes"]
    return (
        row["subject"],
        row["concurrency"],
        row["verdict"],
        rate_text(row["right_per_s"], row["right_per_s_low"], row["right_per_s_high"]),
        row["errors"],
        row["late"],
        row["p50_ms"],
        row["p99_ms"],
        round(memory / 2**20) if isinstance(memory, int | float) else None,
        row["limited_by"],
        row["validity"],
    )


def chosen_text(best: Point | None) -> str:
    """Describe in words what was found."""
    if best is None:
        return "no concurrency was found at which it works"
    interval = best.interval
    spread = f" ({100 * interval.level:g} %: {interval.low:.1f} to {interval.high:.1f})" if interval else ""
    return f"{_ANSWER}{best.load} in flight: {best.value:.1f} right answers a second{spread}"


def _row(point: Point, trials: Sequence[Trial]) -> tuple[Cell, ...]:
    interval = point.interval
    tallies = [trial.tally for trial in trials if trial.tally]
    verified = [tally.wrong for tally in tallies if not tally.unverified]
    late = sum(tally.late for tally in tallies)
    return (
        trials[0].subject,
        point.load,
        trials[0].http_version,
        _verdict(point.standing, trials),
        round(point.value, 1),
        round(interval.low, 1) if interval else None,
        round(interval.high, 1) if interval else None,
        point.faults - late,
        late,
        point.trials,
        *(_median(trials, metric) for metric in _MEDIANS),
        _limit(trials),
        max(verified, default=None),
        worst_validity(trials),
        point.standing is Standing.CHOSEN,
    )


def _limit(trials: Sequence[Trial]) -> str | None:
    (limit, _), *_ = Counter(map(limited_by, trials)).most_common(1)
    return None if limit is None else limit.value


def _median(trials: Sequence[Trial], metric: Metric) -> Cell:
    return metric.rounded(median(map(metric.figure, trials)))


def _verdict(standing: Standing, trials: Sequence[Trial]) -> str:
    if standing is Standing.FAILED:
        return next((trial.outcome.value for trial in trials if trial.outcome is not Outcome.OK), standing.value)
    return standing.value


def _reasons(points: Sequence[Point], groups: Sequence[Sequence[Trial]]) -> list[str]:
    """Say why figures are not what they should be: of each kind the first, and where else it is so."""
    found: dict[str, list[tuple[int, str]]] = {}
    for point, group in zip(points, groups, strict=True):
        for text in trial_notes(group):
            found.setdefault(text.partition(":")[0], []).append((point.load, text))
    return [_first_of(many) for many in found.values()]


def _first_of(many: Sequence[tuple[int, str]]) -> str:
    (load, text), *others = many
    more = f" (and with {', '.join(str(other) for other, _ in others)})" if others else ""
    return f"{load} in flight{more}: {text}"
