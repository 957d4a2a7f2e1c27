"""A run of a preset: its tables, and what was published, for whoever puts both into a form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from httpdyno.model import Table, Trial
from httpdyno.published import PublishedTable, in_published_form
from httpdyno.store import Run

__all__ = ["PresetRun"]


@dataclass(frozen=True, slots=True)
class PresetRun:
    """A run of a preset, with what people are shown of any run of its experiment."""

    run: Run
    trials: Sequence[Trial]
    table: Table
    """The one that programs get."""
    views: tuple[Table, ...]
    """Those that people are shown."""
    published: PublishedTable
    beside: Table
    """Lines of what was measured, and lines of what was published."""
    absent: Mapping[str, str]
    """Subjects of the preset that do not exist here, and what is said of them."""

    @property
    def in_form(self) -> Table:
        """The columns of the publication, and no other."""
        return in_published_form(self.table, self.published, self.absent)
