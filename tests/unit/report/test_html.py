"""Tables on a page: aligned, tinted, sorted by values and not by words."""

import pytest

from httpdyno.model import Cell, Column, ColumnKind, Note, Table
from httpdyno.report.html import GridCell, _unit, grid_rows, shown_of


def of(kind: ColumnKind, *cells: Cell, name: str = "figure", limit: float | None = None) -> list[GridCell]:
    table = Table((Column(name, kind, limit=limit),), tuple((cell,) for cell in cells))
    return [cell for _, (cell,) in grid_rows(table, {})]


def test_decimals_stand_below_each_other() -> None:
    cells = of(ColumnKind.DECIMAL, 1.6, 1.31, 2, None)
    assert [cell.text for cell in cells] == ["1.60", "1.31", "2.00", ""]
    assert [cell.value for cell in cells] == ["1.6", "1.31", "2", ""]


def test_a_ratio_among_decimals_stays_as_it_is() -> None:
    assert [cell.text for cell in of(ColumnKind.DECIMAL, 0.8, "1.25x", 1)] == ["0.8", "1.25x", "1.0"]


def test_a_size_is_sorted_by_its_bytes() -> None:
    (cell,) = of(ColumnKind.SIZE, 20 * 2**20)
    assert (cell.text, cell.value, cell.layout) == ("20.0 MiB", "20971520", "right")


@pytest.mark.parametrize(
    ("name", "word", "tone"),
    [
        ("verdict", "VALID", "good"),
        ("validity", "UNSTEADY", "doubtful"),
        ("outcome", "crashed", "bad"),
        ("verdict", "INCORRECT", "bad"),
        ("method", "VALID", ""),
        ("verdict", "right", ""),
    ],
)
def test_words_that_judge_are_tinted_where_they_judge(name: str, word: str, tone: str) -> None:
    assert of(ColumnKind.TEXT, word, name=name)[0].tone == tone


def test_what_is_beyond_its_limit_is_doubtful() -> None:
    cells = of(ColumnKind.DECIMAL, 10.0, 10.01, None, limit=10)
    assert [cell.tone for cell in cells] == ["", "doubtful", ""]


@pytest.mark.parametrize(("length", "layout"), [(5, ""), (40, "text"), (100, "text much")])
def test_a_long_text_may_be_broken(length: int, layout: str) -> None:
    assert of(ColumnKind.TEXT, "x" * length)[0].layout == layout


@pytest.fixture
def table() -> Table:
    columns = (Column("subject", shown=False), Column("language"), Column("wire", ColumnKind.SIZE, "bytes"))
    rows = (("go", "Go", 1024), ("rust", "Rust", None))
    return Table(columns, rows, notes=(Note("slow", 1),))


def test_a_row_knows_its_subject_also_by_a_column_that_is_not_shown(table: Table) -> None:
    assert [subject for subject, _ in grid_rows(table, {"rust": 0, "go": 1})] == [1, 0]
    assert [column.name for column in shown_of(table).columns] == ["language", "wire"]


def test_a_size_has_its_unit_in_the_cell(table: Table) -> None:
    assert [[cell.text for cell in cells] for _, cells in grid_rows(table, {})] == [["Go", "1.0 KiB"], ["Rust", ""]]
    assert _unit(table.columns[2]) == ""


def test_a_table_without_rows_has_its_columns() -> None:
    table = Table((Column("a"),), ())
    assert (shown_of(table), grid_rows(table, {})) == (table, [])
