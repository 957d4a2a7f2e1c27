"""Report of a run, and its tables with their reservations; those of a preset also in the published form."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Final

import polars as pl

from httpdyno.errors import UnknownName, UnreadableRun, suggestion
from httpdyno.experiments.definition import Definition, Presentation, PresetRun
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.published import compare_run, preset_of
from httpdyno.experiments.registry import definition_of
from httpdyno.experiments.report import usual_headline, usual_report
from httpdyno.judge import marked_ranks
from httpdyno.model import Note, Report, Table, Trial, current_name
from httpdyno.report.cell import note_lines
from httpdyno.report.sections.headline import bound_notes
from httpdyno.report.sections.reservation import table_reservations
from httpdyno.report.sections.tables import case_notes, rows_apart, subject_names, wrong_answers, wrong_notes
from httpdyno.store import Run

_PLAIN: Final = "plain"
_MOST_NOTES: Final = 5
"""Most lines below a table that must fit on one screen, including the line about hidden columns."""
_NOTE_WIDTH: Final = 100
_FOR_PROGRAMS: Final = frozenset({"csv", "json"})


def read_by_programs(format_name: str) -> bool:
    """Return whether a format is for programs, which get one table."""
    return format_name in _FOR_PROGRAMS


def check_columns(definition: Definition, columns: str | None) -> None:
    """Raise ``UnknownName`` for columns that an experiment's table lacks, before anything is measured."""
    if columns is not None:
        _chosen(definition.presentation, definition.presentation.table(()), columns)


def tables_of(
    definition: Definition,
    trials: Sequence[Trial],
    settings: Mapping[str, Setting],
    format_name: str,
    columns: str | None = None,
) -> tuple[Table, ...]:
    """Return the tables of trials: one for programs, the presentation's views for people.

    ``columns`` chooses columns of the table for programs: ``published``, ``all``, or names. People see them.
    """
    presentation = definition.presentation.for_run(settings)
    if columns is not None and not read_by_programs(format_name):
        return (_chosen(presentation, presentation.table(trials), columns),)
    if read_by_programs(format_name):
        return (presentation.table(trials),)
    if presentation.views:
        tables = presentation.views(trials, settings)
    else:
        table = presentation.table(trials)
        tables = (table.answering(usual_headline(presentation, trials, table)),)
    if format_name != _PLAIN:
        return tables
    # Plain text does not print titles.
    answers = ((table, table.title.partition("\n")[0]) for table in tables)
    return tuple(replace(table, notes=(Note(answer), *table.notes)) if answer else table for table, answer in answers)


def shown_tables(
    run: Run,
    format_name: str,
    absent: Mapping[str, str] | None = None,
    columns: str | None = None,
    *,
    verbose: bool = False,
) -> tuple[Table, ...]:
    """Return the tables of a run, in the order in which they are printed.

    For a run with a preset, programs get one table with the published figures in each row; people get the published
    form, and the comparison with the published table. People get the reservations once, below all tables, with the
    first wrong answers and lower bounds of subjects; programs get the reservations at each row.

    ``format_name`` is one of ``report.format_names``; ``columns`` as for ``tables_of``. ``absent`` has the
    reasons for subjects of the preset that do not exist here.
    """
    definition, trials = definition_of(run.manifest.experiment).for_run(run.manifest.settings), run.records()
    presentation = definition.presentation
    tables = tables_of(definition, trials, run.manifest.settings, format_name, columns)
    published = preset_of(run.manifest)
    if published is not None and (columns is None or read_by_programs(format_name)):
        for_programs, table = read_by_programs(format_name), presentation.table(trials)
        comparison = compare_run(run, definition, published, for_programs=for_programs)
        of = PresetRun(run, trials, table, tables, published, comparison, absent or {})
        if for_programs:
            tables = presentation.preset_rows(of, format_name)
        else:
            tables = presentation.preset_views(of) if presentation.preset_views else (*tables, comparison)
    notes = table_reservations(run.manifest, trials)
    if read_by_programs(format_name):
        return reserved(tables, notes, format_name)
    names = subject_names(trials, ())
    wrong = wrong_notes(wrong_answers(trials, names, run.samples()))
    cases = case_notes(trials, names, run.samples())
    if presentation.brief and columns is None and published is None:
        if not verbose:
            return tuple(_briefly(table, (*notes, *(cases or wrong)[:1])) for table in tables)
        notes = (*map(Note, note_lines(presentation.table(trials))), *notes)
    ranks = presentation.ranked_by is not None and presentation.tabulate is None
    bounds = bound_notes(trials, presentation.ranking_metric, names) if ranks else ()
    return reserved(tables, (*bounds, *wrong, *cases, *notes), format_name)


def reserved(tables: tuple[Table, ...], notes: Sequence[Note], format_name: str) -> tuple[Table, ...]:
    """Add the reservations to tables: below all of them for people, at each row for programs.

    Rows for people have distinct names; rows for programs have ids.
    """
    if read_by_programs(format_name):
        at_rows = [[Note(note.text, row) for row in range(len(table.rows)) for note in notes] for table in tables]
        return tuple(replace(table, notes=(*table.notes, *own)) for table, own in zip(tables, at_rows, strict=True))
    *others, last = (marked_ranks(rows_apart(table)) for table in tables)
    noted = {note for table in (*others, last) for note in table.notes}
    return (*others, replace(last, notes=(*last.notes, *(note for note in notes if note not in noted))))


def _briefly(table: Table, notes: Sequence[Note]) -> Table:
    """Keep the most serious notes of a table, after the notes on the whole run."""
    from httpdyno.report.formats.table import hidden_columns  # JSON needs no layout

    every = [replace(note, text=shorten(note.text, _NOTE_WIDTH, placeholder=" ...")) for note in (*notes, *table.notes)]
    most = _MOST_NOTES - bool(hidden_columns(table))
    if len(every) > most:
        more = Note(f"{len(every) - most + 1} more notes: --verbose")
        every = [*every[: most - 1], more]
    return replace(table, notes=tuple(every))


def _chosen(presentation: Presentation, table: Table, columns: str) -> Table:
    """Return a table with the requested columns, all shown, in that order."""
    known = [column.name for column in table.columns]
    names = {"all": known, "published": list(presentation.published_columns)}.get(columns)
    names = names or [name.strip() for name in columns.split(",") if name.strip()]
    if not names:
        raise UnknownName(f"--columns: the value is empty; choose from: {', '.join(known)}")
    names = [current_name(name, known) for name in names]
    for name in names:
        if name not in known:
            raise UnknownName(f"--columns: there is no column {name!r}; {suggestion(name, known)}")
    chosen = table.select(dict.fromkeys(names))
    return replace(chosen, columns=tuple(replace(column, shown=True) for column in chosen.columns))


def build_report(run: Run, definition: Definition) -> Report:
    """Return the report of a run, which may be whole, partial or empty."""
    try:
        definition = definition.for_run(run.manifest.settings)
        return (definition.presentation.report or usual_report)(run, definition)
    except pl.exceptions.PolarsError as error:
        # The content of the samples is first read here.
        raise UnreadableRun(
            f"{run.folder}: samples.parquet is damaged: {str(error).partition(chr(10))[0]}; measure again"
        ) from error
