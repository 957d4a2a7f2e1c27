"""What a run says, as tables: those of its experiment, of a preset in its published form too, with its reservations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from httpdyno.experiments.capacity.presets import find_capacity_preset
from httpdyno.experiments.capacity.published_form import in_form
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.latency.published_blocks import published_blocks
from httpdyno.experiments.published import PRESET_SETTING, run_beside
from httpdyno.experiments.registry import definition_of
from httpdyno.experiments.reservation import table_reservations
from httpdyno.experiments.service.published_form import run_in_seed_form
from httpdyno.model import Note, Table, Trial
from httpdyno.published import PublishedTable, find_preset, in_published_form
from httpdyno.store import Run

__all__ = ["read_by_programs", "reserved", "shown_tables", "tables_of"]

_CSV: Final = "csv"
_FOR_PROGRAMS: Final = frozenset({_CSV, "json"})
_ROWS: Final = 40
"""More of them beside each other push what was measured out of the terminal."""


def read_by_programs(format_name: str) -> bool:
    """Tell whether a format is read by programs, for which a result is one table."""
    return format_name in _FOR_PROGRAMS


def tables_of(
    definition: Definition, trials: Sequence[Trial], settings: Mapping[str, Setting], format_name: str
) -> tuple[Table, ...]:
    """Give the tables of trials whose run is not kept: one for programs, for people those that it shows them."""
    if definition.views is None or read_by_programs(format_name):
        return (definition.table(trials),)
    return definition.views(trials, settings)


def shown_tables(run: Run, format_name: str, absent: Mapping[str, str] | None = None) -> tuple[Table, ...]:
    """Give the tables that say what a run measured, in the order in which they are printed.

    Of a preset, programs get one table in which each row has the published figures, too; people get its published form,
    and what stands beside it.

    Parameters
    ----------
    run : Run
        Whole, partial or empty.
    format_name : str
        One of ``report.format_names``.
    absent : mapping, optional
        Subjects of the preset that do not exist here, and what is said of them.

    Returns
    -------
    tuple of Table
        At least one. With what reservations they are read stands once for people, below all of them; for programs, who
        read rows, at each row.

    Raises
    ------
    UnreadableRun
        If a trial is damaged, or this version does not know the experiment.
    UnknownName
        If this version does not know the preset of the run.
    """
    definition, trials = definition_of(run.manifest.experiment), run.records()
    tables = tables_of(definition, trials, run.manifest.settings, format_name)
    name = run.manifest.settings.get(PRESET_SETTING)
    if isinstance(name, str):
        published = find_preset(name, definition.name).table
        of = _OfPreset(run, trials, tables, published, absent or {})
        tables = _for_programs(of, format_name) if read_by_programs(format_name) else _for_people(of)
    notes = table_reservations(run.manifest, trials)
    return reserved(tables, notes, format_name)


def reserved(tables: tuple[Table, ...], notes: Sequence[Note], format_name: str) -> tuple[Table, ...]:
    """Put with what reservations tables are read below all of them for people, at each row for programs."""
    return (_at_each_row if read_by_programs(format_name) else _below)(tables, notes)


@dataclass(frozen=True, slots=True)
class _OfPreset:
    """A run of a preset, with what people are shown of any run of its experiment."""

    run: Run
    trials: Sequence[Trial]
    tables: tuple[Table, ...]
    published: PublishedTable
    absent: Mapping[str, str]

    @property
    def in_form(self) -> Table:
        """The columns of the publication, and no other."""
        table = definition_of(self.run.manifest.experiment).table(self.trials)
        return in_published_form(table, self.published, self.absent)

    @property
    def beside(self) -> Table:
        """Lines of what was measured, and lines of what was published."""
        return run_beside(self.run, self.published)


def _for_programs(of: _OfPreset, format_name: str) -> tuple[Table, ...]:
    if of.run.manifest.experiment != _CAPACITY:
        return (run_beside(of.run, of.published, for_programs=True),)
    # A grid is published as CSV: there a run has the same columns, so that one can stand for the other.
    preset = find_capacity_preset(of.published.preset)
    return (in_form(of.trials, preset),) if format_name == _CSV else of.tables


def _for_people(of: _OfPreset) -> tuple[Table, ...]:
    form = _PUBLISHED.get(of.run.manifest.experiment)
    return form(of) if form else (*of.tables, of.beside)


def _of_capacity(of: _OfPreset) -> tuple[Table, ...]:
    """Put a grid beside its publication; of many points only what they come to, and where they are."""
    beside = of.beside
    if len(beside.rows) <= _ROWS:
        return (*of.tables, beside)
    where = f"all {len(beside.rows)} points beside it: httpdyno published {of.published.name} --beside {of.run.folder}"
    *others, last = of.tables
    return (*others, replace(last, notes=(*last.notes, Note(beside.title), Note(where), *beside.notes)))


_CAPACITY: Final = "capacity"
_PUBLISHED: Final[Mapping[str, Callable[[_OfPreset], tuple[Table, ...]]]] = {
    "bench": lambda of: (of.in_form, of.beside),
    "cost": lambda of: (of.tables[0], of.in_form, of.beside),
    "latency": lambda of: (*of.tables, *published_blocks(of.trials, of.published)),
    "service": lambda of: (*of.tables, run_in_seed_form(of.run.manifest, of.trials)),
    _CAPACITY: _of_capacity,
}
"""What people are shown of a run of a preset, by its experiment; else what is there lies beside what was published."""


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
