"""The table of published tables: what there is, of which experiment, and where it is from."""

from typing import Final

from httpdyno.model import Column, ColumnKind, Table
from httpdyno.published.catalogue import published_tables

__all__ = ["LISTING_COLUMNS", "published_listing"]

LISTING_COLUMNS: Final = (
    Column("name", description="what `httpdyno published NAME` prints"),
    Column("experiment", description="the verb that asks the same question"),
    Column("preset", description="what `--preset` of the experiment is given to measure it again"),
    Column("rows", ColumnKind.INTEGER),
    Column("title"),
    Column("machine", description="what it was measured on", shown=False),
    Column("source", description="title of the publication", shown=False),
    Column("url", description="where it is"),
)


def published_listing() -> Table:
    """List every published table by its name."""
    rows = tuple(
        (
            table.name,
            table.experiment,
            table.preset or None,
            len(table.rows),
            table.title,
            table.circumstances.machine,
            table.source.title,
            table.source.url,
        )
        for table in published_tables()
    )
    return Table(LISTING_COLUMNS, rows)
