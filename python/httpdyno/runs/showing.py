"""What a run says, as tables: those of its experiment, of a preset in its published form too, with its reservations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Final

from httpdyno.errors import UnknownName, suggestion
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.preset_run import PresetRun
from httpdyno.experiments.published import preset_of, run_beside
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import marked_ranks
from httpdyno.model import Note, Table, Trial, current_name
from httpdyno.published import PublishedTable
from httpdyno.report.cell import note_lines
from httpdyno.report.sections.headline import bound_notes
from httpdyno.report.sections.reservation import table_reservations
from httpdyno.report.sections.tables import rows_apart, subject_names, wrong_answers, wrong_notes
from httpdyno.store import Manifest, Run

__all__ = ["check_columns", "read_by_programs", "reserved", "reserved_table", "shown_tables", "tables_of"]

_CSV: Final = "csv"
_PLAIN: Final = "plain"
_ALL: Final = "all"
_PUBLISHED: Final = "published"
_MOST_NOTES: Final = 5
"""Lines below a table that is to fit one screen, that of the hidden columns among them."""
_NOTE_WIDTH: Final = 100
_FOR_PROGRAMS: Final = frozenset({_CSV, "json"})


def read_by_programs(format_name: str) -> bool:
    """Return whether a format is read by programs, for which a result is one table."""
    return format_name in _FOR_PROGRAMS


def check_columns(definition: Definition, columns: str | None) -> None:
    """Refuse columns that the table of an experiment does not have, before anything is measured."""
    if columns is not None:
        _chosen(definition, definition.table(()), columns)


def tables_of(
    definition: Definition,
    trials: Sequence[Trial],
    settings: Mapping[str, Setting],
    format_name: str,
    columns: str | None = None,
) -> tuple[Table, ...]:
    """Return the tables of trials whose run is not kept: one for programs, for people those that it shows them.

    ``columns`` chooses among the columns of the one for programs, for people: ``published``, ``all``, or names.
    """
    definition = definition.for_run(settings)
    if columns is not None and not read_by_programs(format_name):
        return (_chosen(definition, definition.table(trials), columns),)
    if read_by_programs(format_name):
        return (definition.table(trials),)
    tables = definition.views(trials, settings) if definition.views else (_answered(definition, trials),)
    return tuple(map(_title_as_note, tables)) if format_name == _PLAIN else tables


def _answered(definition: Definition, trials: Sequence[Trial]) -> Table:
    # Charts and pages are behind this import; what runs without a result to show does without them.
    from httpdyno.experiments.usual_report import usual_headline

    table = definition.table(trials)
    return table.answering(usual_headline(definition, trials, table))


def _title_as_note(table: Table) -> Table:
    """Put an answer, which plain text prints no title for, below the rows."""
    answer, *_ = table.title.splitlines() or [""]
    return replace(table, notes=(Note(answer), *table.notes)) if answer else table


def shown_tables(
    run: Run,
    format_name: str,
    absent: Mapping[str, str] | None = None,
    columns: str | None = None,
    *,
    verbose: bool = False,
) -> tuple[Table, ...]:
    """Return the tables that say what a run measured, in the order in which they are printed.

    Of a preset, programs get one table in which each row has the published figures, too; people get its published form,
    and what stands beside it. With what reservations the tables are read stands once for people, below all of them; for
    programs, who read rows, at each row. People are told there of the first wrong answers, too, and
    of what subjects reached at least.

    ``format_name`` is one of ``report.format_names``; ``columns`` as for ``tables_of``. ``absent`` is what is said of
    subjects of the preset that do not exist here.
    """
    definition, trials = definition_of(run.manifest.experiment).for_run(run.manifest.settings), run.records()
    tables = tables_of(definition, trials, run.manifest.settings, format_name, columns)
    published = preset_of(run.manifest)
    if published is not None and (columns is None or read_by_programs(format_name)):
        tables = _preset_tables(run, definition, trials, tables, published, absent or {}, format_name)
    notes = table_reservations(run.manifest, trials)
    if definition.brief and columns is None and published is None and not read_by_programs(format_name):
        if not verbose:
            wrong = wrong_notes(wrong_answers(trials, subject_names(trials, ()), run.samples()))
            return tuple(_briefly(table, (*notes, *wrong[:1])) for table in tables)
        notes = (*map(Note, note_lines(definition.table(trials))), *notes)
    if not read_by_programs(format_name):
        names = subject_names(trials, ())
        bounds = () if definition.tabulate else bound_notes(trials, definition.ranking_metric, names)
        notes = (*bounds, *wrong_notes(wrong_answers(trials, names, run.samples())), *notes)
    return reserved(tables, notes, format_name)


def reserved_table(manifest: Manifest, trials: Sequence[Trial]) -> Table:
    """Make the table of a run's experiment, with the reservations under it that the table does not have already."""
    table = definition_of(manifest.experiment).for_run(manifest.settings).table(trials)
    return replace(table, notes=(*table.notes, *table_reservations(manifest, trials)))


def reserved(tables: tuple[Table, ...], notes: Sequence[Note], format_name: str) -> tuple[Table, ...]:
    """Put with what reservations tables are read below all of them for people, at each row for programs.

    For people rows have names that tell them apart; programs have the ids.
    """
    if read_by_programs(format_name):
        return _at_each_row(tables, notes)
    return _below(tuple(marked_ranks(rows_apart(table)) for table in tables), notes)


def _briefly(table: Table, notes: Sequence[Note]) -> Table:
    """Keep the gravest notes of a table, and those on the whole run before them."""
    from httpdyno.report.formats.table import hidden_columns  # programs, who get JSON, need no layout

    every = [replace(note, text=shorten(note.text, _NOTE_WIDTH, placeholder=" ...")) for note in (*notes, *table.notes)]
    most = _MOST_NOTES - bool(hidden_columns(table))
    if len(every) > most:
        more = Note(f"{len(every) - most + 1} more notes: --verbose")
        every = [*every[: most - 1], more]
    return replace(table, notes=tuple(every))


def _preset_tables(
    run: Run,
    definition: Definition,
    trials: Sequence[Trial],
    views: tuple[Table, ...],
    published: PublishedTable,
    absent: Mapping[str, str],
    format_name: str,
) -> tuple[Table, ...]:
    for_programs = read_by_programs(format_name)
    beside = run_beside(run, definition, published, for_programs=for_programs)
    of = PresetRun(run, trials, definition.table(trials), views, published, beside, absent)
    if for_programs:
        return definition.preset_rows(of, format_name) if definition.preset_rows else (beside,)
    return definition.preset_views(of) if definition.preset_views else (*views, beside)


def _chosen(definition: Definition, table: Table, columns: str) -> Table:
    """Return a table with the columns that were asked for, in that order, each of them shown."""
    known = [column.name for column in table.columns]
    names = {_ALL: known, _PUBLISHED: list(definition.published_columns) or None}.get(columns)
    names = names or [name.strip() for name in columns.split(",") if name.strip()]
    if not names:
        raise UnknownName(f"--columns: none is named; known are: {', '.join(known)}")
    names = [current_name(name, known) for name in names]
    for name in names:
        if name not in known:
            raise UnknownName(f"--columns: there is no column {name!r}; {suggestion(name, known)}")
    chosen = table.select(dict.fromkeys(names))
    return replace(chosen, columns=tuple(replace(column, shown=True) for column in chosen.columns))


def _below(tables: tuple[Table, ...], notes: Sequence[Note]) -> tuple[Table, ...]:
    said = {note for table in tables for note in table.notes}
    *others, last = tables
    return (*others, replace(last, notes=(*last.notes, *(note for note in notes if note not in said))))


def _at_each_row(tables: tuple[Table, ...], notes: Sequence[Note]) -> tuple[Table, ...]:
    return tuple(
        replace(
            table, notes=(*table.notes, *(Note(note.text, row) for row in range(len(table.rows)) for note in notes))
        )
        for table in tables
    )
