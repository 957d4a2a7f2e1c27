"""The wrong answers of a run, a few of each subject: the URL, what was reported, and what the web had served."""

from collections.abc import Mapping, Sequence
from typing import Final

import polars as pl

from httpdyno.judge.served import sample_words
from httpdyno.model import Column, ColumnKind, Note, Table, Trial, Verdict, counted

__all__ = ["wrong_answers", "wrong_notes"]

_MOST: Final = 10
_WRONG: Final = [verdict.value for verdict in Verdict if verdict.wrong]
_ANSWER: Final = ("url", "code", "body_length", "verdict", "served_status", "served_body_length", "cause")
_COLUMNS: Final = (
    Column("subject"),
    Column("url"),
    Column("answer", description="what was reported; what the web had served"),
    Column("verdict"),
    Column("times", ColumnKind.INTEGER, description="in how many samples, over all trials"),
)


def wrong_answers(trials: Sequence[Trial], names: Mapping[str, str], samples: pl.LazyFrame) -> Table | None:
    """List the first wrong answers that no known failure explains, of each subject alike; None where there is none.

    The samples have the columns of ``model.Sample``, and are looked through without being read into memory.
    """
    liars = [(trial.trial, names[trial.subject]) for trial in trials if trial.tally and trial.tally.wrong]
    if not liars:
        return None
    subjects = pl.LazyFrame(liars, schema={"trial": pl.Int32(), "subject": pl.String()}, orient="row")
    found = (
        samples.with_columns(pl.col("verdict").cast(pl.String))
        .filter(pl.col("verdict").is_in(_WRONG) & ~pl.col("explained"))
        .join(subjects, on="trial")
        .group_by("subject", *_ANSWER)
        .agg(pl.col("trial").min(), pl.col("line").min(), times=pl.len())
        .collect(engine="streaming")
        .sort("trial", "line", *_ANSWER)
        .with_columns(nth=pl.int_range(pl.len()).over("subject"))
    )
    if found.is_empty():
        return None
    first = found.sort("nth", maintain_order=True).head(_MOST)
    order = {name: place for place, name in enumerate(names.values())}
    rows = sorted(first.iter_rows(named=True), key=lambda row: (order[row["subject"]], row["nth"]))
    rest = sum(found["times"].to_list()) - sum(first["times"].to_list())
    notes = (Note(f"{counted(rest, 'more wrong answer')}, not shown"),) if rest else ()
    cells = tuple((row["subject"], row["url"], sample_words(row), row["verdict"], row["times"]) for row in rows)
    return Table(_COLUMNS, cells, title="Wrong answers", notes=notes)


def wrong_notes(table: Table | None) -> tuple[Note, ...]:
    """Write such a table as notes, a line an answer."""
    if table is None:
        return ()
    lines = (Note(f"wrong answer of {subject}: [{words}] {url}") for subject, url, words, *_ in table.rows)
    return (*lines, *table.notes)
