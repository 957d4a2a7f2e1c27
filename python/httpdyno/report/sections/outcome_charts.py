"""What became of the URLs: verdicts and status codes as stacked bars, and the names of errors as a table."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from httpdyno.model import Axis, Cell, Chart, ChartKind, Column, ColumnKind, Note, Series, Table, Trial, Verdict
from httpdyno.report.sections.condition import ConditionTrials

__all__ = ["error_table", "status_chart", "verdict_chart", "verdict_counts"]

_SECTION: Final = "Outcomes"
_MOST_ROWS: Final = 200
_EXPLAINED: Final = "explained"
_WRONG: Final = tuple(verdict.value for verdict in Verdict if verdict.wrong)
_NO_ANSWER: Final = (Verdict.NOT_REACHED.value, Verdict.UNVERIFIED.value)
_CLASSES: Final = (
    ("2xx", "status_2xx"),
    ("3xx", "status_3xx"),
    ("4xx", "status_4xx"),
    ("5xx", "status_5xx"),
    ("exception", "exceptions"),
)
_ERROR_COLUMNS: Final = (
    Column("subject"),
    Column("error", description="the name that the client gave it"),
    Column("cause", description="what the web had done; empty for an honest answer"),
    Column("verdict", description="what that is worth beside what the web serves"),
    Column("count", ColumnKind.INTEGER, description="samples, over all trials"),
)


def verdict_counts(samples: pl.LazyFrame) -> dict[int, dict[str, int]]:
    """Count the verdicts of each trial; wrong answers that a known failure explains are one kind of their own.

    The samples have the columns of ``model.Sample``, and are counted without being read into memory.
    """
    verdict = pl.when("explained").then(pl.lit(_EXPLAINED)).otherwise(pl.col("verdict").cast(pl.String))
    counted = samples.group_by("trial", verdict=verdict).agg(count=pl.len()).collect(engine="streaming")
    counts: dict[int, dict[str, int]] = {}
    for trial, name, count in counted.iter_rows():
        counts.setdefault(trial, {})[name] = count
    return counts


def verdict_chart(of: ConditionTrials, verdicts: Mapping[int, Mapping[str, int]]) -> Chart | None:
    """Draw the shares of verdicts; None when nothing was judged."""
    order = (Verdict.RIGHT.value, *_WRONG, _EXPLAINED, *_NO_ANSWER)
    return _stacked(
        "verdicts",
        "What the answers were worth",
        {
            name: {kind: sum(verdicts.get(trial.trial, {}).get(kind, 0) for trial in trials) for kind in order}
            for name, trials in of.trials.items()
        },
        caption="Each answer beside what the web really serves. To report an error is right where the web is at fault.",
    )


def status_chart(of: ConditionTrials) -> Chart | None:
    """Draw the shares of status codes and errors; None when nothing was reported."""
    counts = {
        name: {label: sum(getattr(t.summary, field) for t in trials if t.summary) for label, field in _CLASSES}
        for name, trials in of.trials.items()
    }
    return _stacked(
        "statuses",
        "What the subjects reported",
        counts,
        caption="Status codes after redirects; an exception is whatever a client reports that is no status code.",
    )


def error_table(trials: Sequence[Trial], names: Mapping[str, str], samples: pl.LazyFrame) -> Table:
    """List what subjects reported that is no status code, the most frequent first.

    The samples have the columns of ``model.Sample``, and are counted without being read into memory.
    """
    subject_of = {trial.trial: names[trial.subject] for trial in trials}
    what = [pl.col(name).cast(pl.String) for name in ("error", "cause", "verdict")]
    counted = (
        samples.filter(pl.col("error").is_not_null() & pl.col("line").is_not_null())
        .group_by("trial", *what)
        .agg(count=pl.len())
        .collect(engine="streaming")
    )
    totals: dict[tuple[Cell, ...], int] = {}
    for trial, *what_it_was, count in counted.iter_rows():
        if trial in subject_of:
            key = (subject_of[trial], *what_it_was)
            totals[key] = totals.get(key, 0) + count
    order = list(names.values())
    rows = sorted(totals.items(), key=lambda item: (-item[1], order.index(str(item[0][0])), tuple(map(str, item[0]))))
    rest = rows[_MOST_ROWS:]
    left_out = f"{len(rest)} more kinds of errors, {sum(count for _, count in rest)} samples, are not shown"
    notes = (Note(left_out),) if rest else ()
    return Table(_ERROR_COLUMNS, tuple((*key, count) for key, count in rows[:_MOST_ROWS]), notes=notes)


def _stacked(name: str, title: str, counts: Mapping[str, Mapping[str, int]], *, caption: str) -> Chart | None:
    """Draw counts by subject and outcome; subjects and outcomes without any are left out."""
    subjects = tuple(subject for subject, counted in counts.items() if sum(counted.values()))
    if not subjects:
        return None
    outcomes = [outcome for outcome in counts[subjects[0]] if any(counts[subject][outcome] for subject in subjects)]
    return Chart(
        name=name,
        title=title,
        kind=ChartKind.STACKED_BARS,
        x=Axis("subject"),
        y=Axis("share of URLs", "%"),
        series=tuple(
            Series(outcome, subjects, tuple(float(counts[subject][outcome]) for subject in subjects))
            for outcome in outcomes
        ),
        caption=caption,
        section=_SECTION,
    )
