"""The table of subjects: what each is, and whether it can be measured here."""

from pathlib import Path
from typing import Final

from httpdyno.model import Cell, Column, Note, Subject, Table
from httpdyno.subjects.build import find_build
from httpdyno.subjects.catalogue import Catalogue
from httpdyno.subjects.needs import why_unavailable

__all__ = ["LISTING_COLUMNS", "subjects_table"]

LISTING_COLUMNS: Final = (
    Column("id", description="name of the subject's folder"),
    Column("kind", description="client, tool or server"),
    Column("language", dispensable=True),
    Column("method", description="library or program"),
    Column("version", description="of the library, once it is built", dispensable=True),
    Column("state", description="available or unavailable"),
    Column("reason", description="why it is unavailable", shown=False),
)


def subjects_table(catalogue: Catalogue, cache: Path) -> Table:
    """List every subject by its id, also those whose folder has a mistake; why one is unavailable stands below."""
    rows = {name: _row(subject, cache) for name, subject in catalogue.subjects.items()}
    rows |= {
        name: (name, None, None, None, None, "unavailable", error.line) for name, error in catalogue.invalid.items()
    }
    listed = tuple(rows[name] for name in sorted(rows))
    return Table(LISTING_COLUMNS, listed, notes=tuple(Note(str(reason)) for *_, reason in listed if reason))


def _row(subject: Subject, cache: Path) -> tuple[Cell, ...]:
    reason = why_unavailable(subject)
    build = None if reason else find_build(subject, cache)
    return (
        subject.id,
        str(subject.kind),
        subject.language,
        subject.method,
        # What it is built upon stands in the records of a run; here it would leave the column no room.
        build.version.split()[0] if build and build.version else None,
        "unavailable" if reason else "available",
        reason,
    )
