"""Rows that would read the same are told apart by the id of their subject."""

from dataclasses import replace

from httpdyno.model import Column, ColumnKind, Table
from httpdyno.report.rows_apart import rows_apart

COLUMNS = (Column("subject", shown=False), Column("language"), Column("method"), Column("n", ColumnKind.INTEGER))
TABLE = Table(
    COLUMNS,
    (
        ("aiohttp", "Python", "aiohttp", 1),
        ("aiohttp-mine", "Python", "aiohttp", 2),
        ("go", "Go", "net/http", 3),
        ("go", "Go", "net/http", 4),
    ),
)


def test_two_subjects_of_one_name_have_their_ids() -> None:
    assert rows_apart(TABLE).values("method") == ("aiohttp (aiohttp)", "aiohttp (aiohttp-mine)", "net/http", "net/http")
    assert rows_apart(TABLE).values("subject") == TABLE.values("subject")


def test_where_the_id_is_seen_anyway_nothing_is_added() -> None:
    shown = replace(TABLE, columns=(Column("subject"), *COLUMNS[1:]))
    assert rows_apart(shown) == shown
    other = Table((Column("subject"), Column("error")), (("a", "b"),))
    assert rows_apart(other) == other
