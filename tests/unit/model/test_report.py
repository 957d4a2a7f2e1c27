"""Tables and charts refuse shapes that cannot be shown."""

import pytest

from httpdyno.errors import InvalidValue
from httpdyno.model import Column, Note, Series, Table

COLUMNS = (Column("a"), Column("b"))


def test_a_table_gives_the_values_of_a_column() -> None:
    table = Table(COLUMNS, (("x", 1), ("y", None)))
    assert table.values("b") == (1, None)
    with pytest.raises(InvalidValue, match="choose from: a, b"):
        table.values("c")


def test_columns_are_chosen_in_an_order_and_those_with_a_value_are_known() -> None:
    table = Table(COLUMNS, (("x", None), ("y", None)), title="t", notes=(Note("why", 1),))
    assert table.select(["b", "a"]) == Table(
        COLUMNS[::-1], ((None, "x"), (None, "y")), title="t", notes=(Note("why", 1),)
    )
    assert table.filled() == ("a",)
    assert Table(COLUMNS, ()).filled() == ()
    with pytest.raises(InvalidValue, match="choose from: a, b"):
        table.select(["c"])


@pytest.mark.parametrize(
    ("columns", "rows", "notes"),
    [
        ((Column("a"), Column("a")), (), ()),
        (COLUMNS, (("x",),), ()),
        (COLUMNS, (("x", 1),), (Note("why", 1),)),
        (COLUMNS, (), (Note("why", 0),)),
    ],
)
def test_a_table_that_is_none_is_refused(
    columns: tuple[Column, ...], rows: tuple[tuple[str, ...], ...], notes: tuple[Note, ...]
) -> None:
    with pytest.raises(InvalidValue, match="table"):
        Table(columns, rows, notes=notes)


def test_a_series_has_as_many_y_as_x_and_bounds_for_all_or_none() -> None:
    Series("s", (1.0, 2.0), (3.0, None), low=(2.0, None), high=(4.0, None))
    with pytest.raises(InvalidValue):
        Series("s", (1.0,), (1.0, 2.0))
    with pytest.raises(InvalidValue):
        Series("s", (1.0,), (1.0,), low=(0.5,))
