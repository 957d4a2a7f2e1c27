"""What a run says, as tables: those of its experiment, of a preset in its published form too, with its reservations."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.definition import Definition
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.preset_run import PresetRun
from httpdyno.experiments.published import preset_of, run_beside
from httpdyno.experiments.registry import definition_of
from httpdyno.model import Note, Table, Trial
from httpdyno.published import PublishedTable
from httpdyno.report.sections.reservation import table_reservations
from httpdyno.store import Manifest, Run

__all__ = ["read_by_programs", "reserved", "reserved_table", "shown_tables", "tables_of"]

_CSV: Final = "csv"
_FOR_PROGRAMS: Final = frozenset({_CSV, "json"})


def read_by_programs(format_name: str) -> bool:
    """Return whether a format is read by programs, for which a result is one table."""
    return format_name in _FOR_PROGRAMS


def tables_of(
    definition: Definition, trials: Sequence[Trial], settings: Mapping[str, Setting], format_name: str
) -> tuple[Table, ...]:
    """Return the tables of trials whose run is not kept: one for programs, for people those that it shows them."""
    if definition.views is None or read_by_programs(format_name):
        return (definition.table(trials),)
    return definition.views(trials, settings)


def shown_tables(run: Run, format_name: str, absent: Mapping[str, str] | None = None) -> tuple[Table, ...]:
    """Return the tables that say what a run measured, in the order in which they are printed.

    Of a preset, programs get one table in which each row has the published figures, too; people get its published form,
    and what stands beside it. With what reservations the tables are read stands once for people, below all of them; for
    programs, who read rows, at each row.

    ``format_name`` is one of ``report.format_names``. ``absent`` is what is said of subjects of the preset that do not
    exist here.
    """
    definition, trials = definition_of(run.manifest.experiment), run.records()
    tables = tables_of(definition, trials, run.manifest.settings, format_name)
    published = preset_of(run.manifest)
    if published is not None:
        tables = _preset_tables(run, definition, trials, tables, published, absent or {}, format_name)
    notes = table_reservations(run.manifest, trials)
    return reserved(tables, notes, format_name)


def reserved_table(manifest: Manifest, trials: Sequence[Trial]) -> Table:
    """Make the table of a run's experiment, with the reservations under it that the table does not have already."""
    table = definition_of(manifest.experiment).table(trials)
    return replace(table, notes=(*table.notes, *table_reservations(manifest, trials)))


def reserved(tables: tuple[Table, ...], notes: Sequence[Note], format_name: str) -> tuple[Table, ...]:
    """Put with what reservations tables are read below all of them for people, at each row for programs."""
    return (_at_each_row if read_by_programs(format_name) else _below)(tables, notes)


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
