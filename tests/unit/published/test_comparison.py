"""Published and measured figures: their pairs, their ratios, their differences."""

from dataclasses import replace

import pytest

from httpdyno.model import Cell, Column, ColumnKind, Note, Table
from httpdyno.published import (
    Circumstances,
    PublishedTable,
    in_published_form,
    published_table,
    side_by_side,
    stacked,
)
from httpdyno.published.table import PublishedColumn, Role, Row, Source

INTEGER, DECIMAL = ColumnKind.INTEGER, ColumnKind.DECIMAL


def published_row(*cells: Cell) -> Row:
    return dict(zip(("subject", "method", "urls", "time", "rate"), cells, strict=True))


PUBLISHED = PublishedTable(
    name="example",
    experiment="bench",
    title="an example",
    source=Source("A text", "https://example.org/text"),
    circumstances=Circumstances(machine="theirs", web="the internet", timeout_s=5, versions={"a": "1.0"}),
    columns=(
        PublishedColumn("method", role=Role.IDENTITY),
        PublishedColumn("urls", INTEGER, role=Role.SETTING),
        PublishedColumn("time", INTEGER, "ms", per="urls"),
        PublishedColumn("rate", DECIMAL, "1/s"),
    ),
    rows=(
        published_row("a", "A", 1000, 4000, 250.0),
        published_row("b", "B", 1000, 8000, 125.0),
        published_row(None, "C", 1000, 9000, None),
    ),
    ordered_by="time",
    versions_from="a lock file",
    unpublished=({"subject": "d", "name": "D", "reason": "it crashed"},),
    remarks=("no spread",),
    fitted={"twin": "fitted to these figures", "other": "never crawled"},
    scaled_remark="a short list misleads",
)
COLUMNS = (
    Column("subject", shown=False),
    Column("method"),
    Column("urls", INTEGER),
    Column("time", INTEGER, "ms"),
    Column("rate", DECIMAL, "1/s"),
    Column("right_per_s", DECIMAL),
    Column("verdict"),
)


def measured(*rows: tuple[Cell, ...]) -> Table:
    return Table(COLUMNS, rows)


def row(table: Table, index: int) -> dict[str, Cell]:
    return dict(zip((column.name for column in table.columns), table.rows[index], strict=True))


BOTH = measured(("b", "B", 100, 1200, 100.0, 9.0, "VALID"), ("a", "A", 100, 800, 125.0, 12.0, "VALID"))
HERE = Circumstances(machine="ours", web="a model", web_names=("twin",), timeout_s=5, versions={"a": "2.0"})


def test_each_figure_has_its_published_twin_and_the_ratio() -> None:
    first = row(side_by_side(BOTH, PUBLISHED, HERE), 0)
    assert first["method"] == "A"
    assert (first["rate"], first["rate_published"], first["rate_ratio"]) == (125.0, 250.0, 0.5)
    # 800 ms for 100 URLs against 4,000 ms for 1,000: twice the time for each.
    assert (first["time"], first["time_published"], first["time_ratio"]) == (800, 4000, 2.0)
    assert (first["urls"], first["urls_published"]) == (100, 1000)
    assert "urls_ratio" not in first


def test_rows_keep_the_published_order() -> None:
    assert side_by_side(BOTH, PUBLISHED, HERE).values("method") == ("A", "B", "C")


def test_programs_get_all_that_was_measured() -> None:
    table = side_by_side(BOTH, PUBLISHED, HERE)
    first = row(table, 0)
    assert (first["subject"], first["right_per_s"], first["verdict"]) == ("a", 12.0, "VALID")


def test_what_was_not_measured_has_its_published_figures_and_nothing_else() -> None:
    last = row(side_by_side(BOTH, PUBLISHED, HERE), 2)
    assert last["verdict"] == "not measured"
    assert last["time_published"] == 9000
    assert (last["subject"], last["time"], last["time_ratio"], last["rate_ratio"]) == (None, None, None, None)


def test_what_was_not_published_keeps_its_row() -> None:
    table = side_by_side(measured(("e", "E", 100, 500, 200.0, 1.0, "VALID")), PUBLISHED, HERE)
    last = row(table, 3)
    assert (last["subject"], last["method"], last["time"], last["time_published"]) == ("e", "E", 500, None)
    assert "not published: E" in notes(table)


@pytest.mark.parametrize("rate", [None, 0.0])
def test_there_is_no_ratio_without_both_figures_or_to_nothing(rate: float | None) -> None:
    published = replace(PUBLISHED, rows=(published_row("a", "A", 1000, 4000, rate),))
    assert row(side_by_side(BOTH, published, HERE), 0)["rate_ratio"] is None


def test_a_row_without_subject_belongs_to_no_measured_one() -> None:
    nameless = measured(("", "C", 100, 500, 200.0, 1.0, "VALID"))
    assert row(side_by_side(nameless, PUBLISHED, HERE), 2)["time"] is None


def test_people_read_three_lines_under_the_published_columns() -> None:
    table = stacked(BOTH, PUBLISHED, HERE)
    shown = [column.name for column in table.columns if column.shown]
    assert shown == ["method", "figures", "urls", "time", "rate", "verdict"]
    assert [tuple(cells[1:]) for cells in table.rows] == [
        ("A", "measured", 100, 800, 125.0, "VALID"),
        ("A", "published", 1000, 4000, 250.0, None),
        ("A", "ratio", None, "2.00x", "0.50x", None),
        ("B", "measured", 100, 1200, 100.0, "VALID"),
        ("B", "published", 1000, 8000, 125.0, None),
        ("B", "ratio", None, "1.50x", "0.80x", None),
        ("C", "published", 1000, 9000, None, None),
    ]


def notes(table: Table) -> list[str]:
    return [note.text for note in table.notes]


def test_notes_name_differences_only() -> None:
    assert notes(side_by_side(BOTH, PUBLISHED, HERE)) == [
        "published: A text, https://example.org/text",
        "not measured here: C",
        "order by time: 1 of 1 pairs are in the published order (by medians alone)",
        "machine: published: theirs; measured: ours",
        "web: published: the internet; measured: a model",
        "web twin: fitted to these figures",
        "urls: published 1000, measured 100; ratios of time are per urls",
        "a short list misleads",
        "versions: A 1.0, here 2.0 (published: a lock file)",
        "D: it crashed",
        "published figures: no spread",
    ]


def test_nothing_differs_between_a_publication_and_itself() -> None:
    table = published_table("crawl")
    result = notes(side_by_side(replace(table.as_table(), notes=()), table, table.circumstances))
    kept = [f"published: {table.source}", "order by time: 45 of 45 pairs are in the published order"]
    assert [line for line in result if not line.startswith(("published figures:", "Bun fetch:"))] == [
        kept[0], f"{kept[1]} (by medians alone)",
    ]  # fmt: skip


def test_notes_on_the_measured_table_go_with_the_columns_that_they_are_on() -> None:
    noted = replace(
        BOTH,
        notes=(
            Note("not whole"),
            Note("verdict: doubtful", columns=("verdict",)),
            Note("right_per_s, verdict: few trials", columns=("right_per_s", "verdict")),
            Note("it limped", 1),
        ),
    )
    assert notes(stacked(noted, PUBLISHED, HERE))[:3] == [
        "not whole",
        "verdict: doubtful",
        "published: A text, https://example.org/text",
    ]


def test_an_order_that_is_turned_round_is_counted_as_such() -> None:
    turned = measured(("a", "A", 100, 1200, 1.0, 9.0, "VALID"), ("b", "B", 100, 800, 1.0, 12.0, "VALID"))
    assert any(line.startswith("order by time: 0 of 1 pairs") for line in notes(side_by_side(turned, PUBLISHED, HERE)))


def test_a_setting_that_differs_for_some_names_them() -> None:
    mixed = measured(("a", "A", 100, 800, 125.0, 12.0, "VALID"), ("b", "B", 1000, 1200, 100.0, 9.0, "VALID"))
    texts = notes(side_by_side(mixed, PUBLISHED, HERE))
    assert "urls: A published 1000, measured 100; ratios of time are per urls" in texts


def test_notes_name_other_timeouts_and_unknown_versions() -> None:
    here = Circumstances(timeout_s=0.8, versions={"b": "7"})
    result = notes(side_by_side(BOTH, PUBLISHED, here))
    assert "timeout: published 5 s, measured 0.8 s" in result
    assert "versions: A 1.0, here unknown; B unknown, here 7 (published: a lock file)" in result
    assert not any(line.startswith(("machine:", "web:")) for line in result)


def test_figures_are_compared_at_the_same_condition_only() -> None:
    published = replace(
        PUBLISHED,
        columns=(
            PublishedColumn("method", role=Role.IDENTITY),
            PublishedColumn("connections", INTEGER, role=Role.CONDITION),
            PublishedColumn("rate", DECIMAL),
        ),
        rows=tuple({"subject": "a", "method": "A", "connections": at, "rate": at / 2} for at in (20, 100)),
        ordered_by="",
    )
    columns = (Column("subject"), Column("connections", INTEGER), Column("rate", DECIMAL))
    table = side_by_side(Table(columns, (("a", 100, 25.0), ("a", 250, 99.0))), published, HERE)
    assert table.values("connections") == (20, 100, 250)
    assert table.values("rate") == (None, 25.0, 99.0)
    assert table.values("rate_ratio") == (None, 0.5, None)


def test_the_published_form_has_its_columns_and_no_other() -> None:
    noted = replace(BOTH, notes=(Note("it limped", 1), Note("rank: left open")))
    table = in_published_form(noted, PUBLISHED, {"b": "measured after all", "x": "never published"})
    assert [column.name for column in table.columns] == ["method", "urls", "time", "rate"]
    assert table.rows == (("B", 100, 1200, 100.0), ("A", 100, 800, 125.0))
    assert table.notes == (Note("it limped", 1),)


def test_who_cannot_be_measured_keeps_a_row_with_the_reason() -> None:
    only = measured(("a", "A", 100, 800, 125.0, 12.0, "VALID"))
    table = in_published_form(only, PUBLISHED, {"b": "there is no subject 'b'"})
    assert table.rows[1] == ("B", None, None, None)
    assert table.notes == (Note("there is no subject 'b'", 1),)


def test_a_column_that_was_not_measured_is_empty() -> None:
    table = in_published_form(Table((Column("subject"), Column("method")), (("a", "A"),)), PUBLISHED, {})
    assert table.rows == (("A", None, None, None),)
