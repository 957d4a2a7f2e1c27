"""Tables on a page: aligned, tinted, sorted by values and not by words."""

import pytest

from httpdyno.model import Cell, Column, ColumnKind, Note, Table
from httpdyno.report.html import Grid, GridCell, _unit, grid


def of(kind: ColumnKind, *cells: Cell, name: str = "figure", limit: float | None = None) -> list[GridCell]:
    made = grid("x", Table((Column(name, kind, limit=limit),), tuple((cell,) for cell in cells)), {})
    return [row[0] for row in made.rows]


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
def table() -> Grid:
    columns = (Column("subject", shown=False), Column("language"), Column("wire", ColumnKind.SIZE, "bytes"))
    rows = (("go", "Go", 1024), ("rust", "Rust", None))
    return grid("figures", Table(columns, rows, notes=(Note("slow", 1),)), {"rust": 0, "go": 1})


def test_a_row_knows_its_subject_also_by_a_column_that_is_not_shown(table: Grid) -> None:
    assert table.subjects == (1, 0)
    assert [column.name for column in table.columns] == ["language", "wire"]
    assert table.notes == ["Rust: slow"]


def test_a_size_has_its_unit_in_the_cell(table: Grid) -> None:
    assert [[cell.text for cell in row] for row in table.rows] == [["Go", "1.0 KiB"], ["Rust", ""]]
    assert _unit(table.columns[1]) == ""


def test_a_table_without_rows_has_its_columns() -> None:
    made = grid("x", Table((Column("a"),), ()), {})
    assert ([column.name for column in made.columns], made.rows) == (["a"], ())
