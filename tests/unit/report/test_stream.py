"""Rows of any columns as text: CSV and JSON piece by piece, a table for people."""

import csv
import io
import json
import math
from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.model import ColumnKind
from httpdyno.report.cell import without_controls
from httpdyno.report.formats import render
from httpdyno.report.stream import LONGEST_TEXT, STREAMED, frame_table, stream

FRAME = pl.DataFrame(
    {
        "text": ["a,b", 'say "x"', "", None],
        "kind": ["right", "late", None, "right"],
        "count": [1, None, -3, 2**62],
        "share": [0.1, None, math.nan, math.inf],
        "flag": [True, False, None, True],
        "at": [datetime(2026, 11, 21, 8, 9, 56), None, None, None],
        "points": [[{"elapsed_ns": 1, "share": 0.5}], [], None, [{"elapsed_ns": 2, "share": math.nan}]],
        "one": [{"x": "\x1b"}, {"x": None}, None, {"x": "é"}],
    },
    schema_overrides={"kind": pl.Enum(["right", "late"])},
)


def text_of(frame: pl.DataFrame, name: str, *, pieces: int = 1) -> str:
    size = max(math.ceil(len(frame) / pieces), 1)
    return "".join(stream(dict(frame.schema), frame.iter_slices(size), name))


def test_csv_has_every_value() -> None:
    rows = list(csv.DictReader(io.StringIO(text_of(FRAME, "csv"))))
    assert [row["text"] for row in rows] == ["a,b", 'say "x"', "", ""]
    assert [row["kind"] for row in rows] == ["right", "late", "", "right"]
    assert [row["count"] for row in rows] == ["1", "", "-3", str(2**62)]
    assert [row["share"] for row in rows] == ["0.1", "", "NaN", "inf"]
    assert [row["flag"] for row in rows] == ["true", "false", "", "true"]
    assert rows[0]["at"] == "2026-11-21T08:09:56.000000"
    assert [row["points"] for row in rows] == [
        '[{"elapsed_ns": 1, "share": 0.5}]',
        "[]",
        "",
        '[{"elapsed_ns": 2, "share": null}]',
    ]
    assert json.loads(rows[0]["one"]) == {"x": "\x1b"}


def test_csv_tells_a_text_of_no_length_from_none() -> None:
    lines = text_of(FRAME.select("text"), "csv").splitlines()
    assert lines == ["text", '"a,b"', '"say ""x"""', '""', ""]


def test_json_has_every_value() -> None:
    rows = json.loads(text_of(FRAME, "json"))
    assert [row["share"] for row in rows] == [0.1, None, None, None]
    assert [row["count"] for row in rows] == [1, None, -3, 2**62]
    assert rows[0]["points"] == [{"elapsed_ns": 1, "share": 0.5}]
    assert rows[3]["points"] == [{"elapsed_ns": 2, "share": None}]
    assert (rows[0]["at"], rows[0]["one"]) == ("2026-11-21T08:09:56", {"x": "\x1b"})
    assert list(rows[0]) == FRAME.columns


def test_values_that_json_has_no_form_for_are_written_as_text() -> None:
    frame = pl.DataFrame(
        {"day": [date(2026, 1, 2)], "span": [timedelta(seconds=90)], "raw": [b"\xff"], "zone": [datetime.now(UTC)]}
    )
    (row,) = json.loads(text_of(frame, "json"))
    assert (row["day"], row["span"]) == ("2026-01-02", "0:01:30")
    (line,) = csv.DictReader(io.StringIO(text_of(frame, "csv")))
    assert (line["day"], line["span"], line["raw"]) == ("2026-01-02", "0:01:30", str(b"\xff"))


@pytest.mark.parametrize("name", STREAMED)
def test_the_pieces_do_not_show(name: str) -> None:
    assert text_of(FRAME, name, pieces=3) == text_of(FRAME, name)


@pytest.mark.parametrize(("name", "text"), [("csv", "text,count\n"), ("json", "[]\n")])
def test_no_rows_are_no_rows(name: str, text: str) -> None:
    frame = FRAME.select("text", "count").clear()
    assert text_of(frame, name) == text
    assert "".join(stream(dict(frame.schema), [], name)) == text


@pytest.mark.parametrize("name", STREAMED)
@pytest.mark.parametrize("column", ["text", "nested"])
def test_nothing_of_a_stranger_reaches_the_terminal(name: str, column: str) -> None:
    hostile = ["\x1b[2Jgone", "\u202eturned", "line\nbreak", "\x9b31m"]
    values = hostile if column == "text" else [[text] for text in hostile]
    text = text_of(pl.DataFrame({"\x1b[31mname": values}), name)
    assert not set(text) & {"\x1b", "\u202e", "\x9b"}
    assert text.count("\n") == len(hostile) + (1 if name == "csv" else 2)


@given(st.characters(exclude_categories=["Cs"]))
def test_the_quick_look_for_control_characters_misses_none(character: str) -> None:
    shown = list(csv.reader(io.StringIO(text_of(pl.DataFrame({"text": [f"a{character}"]}), "csv"))))[1][0]
    assert shown == without_controls(f"a{character}")


@given(st.lists(st.fixed_dictionaries({"a": st.none() | st.text(), "b": st.none() | st.floats(allow_nan=False)})))
def test_json_is_read_back_as_it_was(rows: list[dict[str, object]]) -> None:
    frame = pl.DataFrame(rows, schema={"a": pl.String, "b": pl.Float64})
    read = json.loads(text_of(frame, "json", pieces=2))
    assert read == [row if row["b"] not in (math.inf, -math.inf) else row | {"b": None} for row in rows]


def test_people_see_a_table_with_short_lists() -> None:
    long = pl.DataFrame({"points": [list(range(500))], "share": [0.123456789], "n": [3], "at": [datetime(2026, 1, 2)]})
    table = frame_table(long, ("only one",))
    assert [column.kind for column in table.columns] == [
        ColumnKind.TEXT,
        ColumnKind.NUMBER,
        ColumnKind.INTEGER,
        ColumnKind.TEXT,
    ]
    (row,) = table.rows
    assert isinstance(row[0], str)
    assert len(row[0]) == LONGEST_TEXT
    assert row[0].startswith("[0, 1, 2, ")
    text = render(table, "plain")
    assert "0.123457" in text
    assert "2026-01-02T00:00:00" in text
    assert text.splitlines()[-1] == "only one"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0.0000025, "2.5e-06"), (1234567.8, "1234568"), (0.5, "0.5"), (12.3456789, "12.3457"), (1e30, "1e+30")],
)
def test_numbers_of_any_size_are_readable(number: float, text: str) -> None:
    assert render(frame_table(pl.DataFrame({"x": [number]})), "plain").splitlines()[1].strip() == text
