"""Tables in each format: safe on a terminal, complete for programs."""

import csv
import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from httpdyno.errors import UnknownName
from httpdyno.model import Cell, Column, ColumnKind, Note, Table
from httpdyno.report.cell import cell_text, without_controls
from httpdyno.report.formats import Surface, format_names, render

COLUMNS = (
    Column("subject", shown=False),
    Column("language"),
    Column("time", ColumnKind.DURATION),
    Column("memory", ColumnKind.SIZE),
    Column("verdict"),
)
TABLE = Table(
    COLUMNS,
    (("go-net-http", "Go", 1500, 3 * 1024**2, "VALID"), ("x", "X", None, None, "crashed")),
    title="A crawl",
    notes=(Note("killed by SIGSEGV", 1), Note("all of it")),
)
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("cell", "kind", "text"),
    [
        (None, ColumnKind.INTEGER, ""),
        (10000, ColumnKind.INTEGER, "10000"),
        (2.5, ColumnKind.INTEGER, "2"),
        (True, ColumnKind.BOOLEAN, "yes"),
        (False, ColumnKind.BOOLEAN, "no"),
        (0.8, ColumnKind.DECIMAL, "0.8"),
        (0.774, ColumnKind.DECIMAL, "0.77"),
        (100.0, ColumnKind.DECIMAL, "100"),
        (49149, ColumnKind.DURATION, "49149"),
        (99.96, ColumnKind.DURATION, "100"),
        (12.34, ColumnKind.DURATION, "12.3"),
        (12.0, ColumnKind.DURATION, "12"),
        (0, ColumnKind.DURATION, "0"),
        (1536, ColumnKind.SIZE, "1.5 KiB"),
        ("a\tb\x1b[2J\u202e\u200b\x9b", ColumnKind.TEXT, "a\\x09b\\x1b[2J\\u202e\\u200b\\x9b"),
        ("日本語 é 👍", ColumnKind.TEXT, "日本語 é 👍"),
        ("\udc80", ColumnKind.TEXT, "?"),
    ],
)
def test_cells_for_people(cell: Cell, kind: ColumnKind, text: str) -> None:
    assert cell_text(cell, Column("c", kind)) == text


def test_the_formats_are_the_modules() -> None:
    assert format_names() == ("csv", "json", "markdown", "plain", "table")
    with pytest.raises(UnknownName, match="no format 'xml'; choose from: csv, json, markdown, plain, table"):
        render(TABLE, "xml")


def test_json_has_every_column_the_notes_of_the_row_and_null() -> None:
    assert json.loads(render(TABLE, "json")) == [
        {
            "subject": "go-net-http",
            "language": "Go",
            "time": 1500,
            "memory": 3 * 1024**2,
            "verdict": "VALID",
            "notes": [],
        },
        {
            "subject": "x",
            "language": "X",
            "time": None,
            "memory": None,
            "verdict": "crashed",
            "notes": ["killed by SIGSEGV"],
        },
    ]


def test_json_of_nothing_is_an_empty_list() -> None:
    assert json.loads(render(Table(COLUMNS, ()), "json")) == []


def test_json_has_no_number_that_json_does_not_know() -> None:
    table = Table((Column("a", ColumnKind.DECIMAL),), ((float("nan"),), (float("inf"),), (1.5,)))
    assert [row["a"] for row in json.loads(render(table, "json"))] == [None, None, 1.5]


def test_a_pipe_gets_no_colour_and_a_terminal_does_unless_no_color_is_set() -> None:
    assert Surface.of(io.StringIO()) == Surface()
    assert Surface.of(Terminal(), {}).colour
    assert not Surface.of(Terminal(), {"NO_COLOR": "1"}).colour
    assert Surface.of(Terminal(), {"NO_COLOR": ""}).colour
    assert not Surface.of(Terminal(), {"TERM": "dumb"}).colour
    assert Surface.of(Terminal(), {"NO_COLOR": "1"}).width is not None
    assert "\x1b" not in render(TABLE, "table")
    assert "\x1b" not in render(TABLE, "table", Surface(width=200))
    assert "\x1b" in render(TABLE, "table", Surface(colour=True, width=200))


def test_colour_is_colour_only() -> None:
    coloured = render(TABLE, "table", Surface(colour=True))
    assert ESCAPE.sub("", coloured) == render(TABLE, "table")


WIDE = Table(
    (Column("language"), Column("method"), *(Column(f"column{i}", ColumnKind.INTEGER) for i in range(40))),
    (("Rust", "reqwest", *range(40)), ("日本", "é", *range(40))),
)


def test_a_wide_table_is_not_cut_in_a_pipe() -> None:
    lines = render(WIDE, "table").splitlines()
    assert len(lines) == 4
    assert all(f" column{i} " in f"{lines[0]} " for i in range(40))
    assert len(lines[0]) > 400


@pytest.mark.parametrize("width", [1, 20, 40, 80, 120, 399])
def test_a_narrow_terminal_gets_several_tables_with_nothing_lost(width: int) -> None:
    lines = render(WIDE, "table", Surface(width=width)).splitlines()
    headers = [line for line in lines if "language" in line]
    assert len(headers) > 1
    assert all("method" in header for header in headers)
    assert [int(number) for header in headers for number in re.findall(r"column([0-9]+)", header)] == list(range(40))
    if width >= 40:
        assert max(len(line) for line in lines) <= width


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_text_that_is_too_wide_is_folded_between_words_and_a_verdict_is_not(width: int) -> None:
    command = "httpdyno bench go-net-http rust-reqwest --web realistic --repeat 5 --concurrency 50 --urls urls.txt"
    words = command.split()
    columns = (Column("run"), Column("started"), Column("trials", ColumnKind.INTEGER), Column("why"), Column("verdict"))
    row = ("20261126T055849Z-bench", "2026-11-26 05:58", 12, command, "ORIGIN_LIMITED")
    text = render(Table(columns, (row,)), "table", Surface(width=width))
    assert max(map(len, text.splitlines())) <= width
    assert set(words) <= set(text.split())
    assert {"20261126T055849Z-bench", "ORIGIN_LIMITED", *(column.name for column in columns)} <= set(text.split())


def test_a_word_that_is_too_wide_is_cut_and_marked() -> None:
    table = Table((Column("run"), Column("command")), (("one", "x" * 200),))
    assert "\u2026" in render(table, "table", Surface(width=80))
    assert "x" * 200 in render(table, "table")


def test_notes_name_their_row() -> None:
    for name in ("table", "plain"):
        assert render(TABLE, name).endswith("\nX: killed by SIGSEGV\nall of it\n")


def test_plain_has_as_many_fields_on_every_line() -> None:
    header, *rows = render(TABLE, "plain").splitlines()[:3]
    assert header.split() == ["language", "time", "memory", "verdict"]
    assert rows[1].split() == ["X", "-", "-", "crashed"]


@given(st.text(max_size=30))
def test_no_text_of_a_subject_reaches_a_terminal_as_a_command(text: str) -> None:
    table = Table((Column("method"), Column("n", ColumnKind.INTEGER)), ((text, 1),), notes=(Note(text, 0), Note(text)))
    for name in format_names():
        output = render(table, name)
        output.encode()
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]", output)
    # So wide that nothing is folded: a further line would come from the text.
    lines = render(table, "table", Surface(width=1000)).splitlines()
    assert len(lines) == 6


@given(st.lists(st.text(max_size=10), min_size=1, max_size=5))
def test_csv_reads_back(texts: list[str]) -> None:
    columns = (Column("text"), Column("yes", ColumnKind.BOOLEAN), Column("n", ColumnKind.DECIMAL))
    table = Table(columns, tuple((text, True, None) for text in texts))
    rows = list(csv.reader(io.StringIO(render(table, "csv"))))
    assert rows == [["text", "yes", "n"], *([without_controls(text), "true", ""] for text in texts)]


def test_markup_of_the_library_is_text() -> None:
    table = Table((Column("method"),), (("[red]x[/red] :smile:",),))
    assert "[red]x[/red] :smile:" in render(table, "table", Surface(colour=True))


def test_a_row_that_has_nothing_in_a_group_of_columns_is_left_out_of_that_group() -> None:
    table = Table(
        (Column("client"), Column("first", ColumnKind.DECIMAL), Column("verdict")),
        (("measured", 1.5, "VALID"), ("not there", None, "unavailable")),
    )
    first, second = render(table, "table", Surface(width=22)).split("\n\n")
    assert "measured" in first
    assert "not there" not in first
    assert "not there" in second
    assert render(table, "table", Surface()).count("not there") == 1


GITHUB = MarkdownIt("gfm-like", {"html": True, "linkify": False})
COMMENT = "<!-- -->"


def rendered_text(markdown: str) -> tuple[list[str], str]:
    """Render; return the texts of the cells, without comments, and all elements."""
    html = GITHUB.render(markdown).replace(COMMENT, "")
    cells = re.findall(r"<t[dh](?: [^>]*)?>(.*?)</t[dh]>", html, flags=re.DOTALL)
    unescaped = [
        cell.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", '"').replace("&amp;", "&") for cell in cells
    ]
    return unescaped, html


@given(st.text())
def test_a_text_is_rendered_as_itself(text: str) -> None:
    table = Table((Column("method"), Column("2xx", ColumnKind.INTEGER)), ((text, 7),))
    cells, html = rendered_text(render(table, "markdown"))
    assert cells[:2] == ["method", "2xx"]
    assert [cell.strip() for cell in cells[2:]] == [without_controls(text).strip(), "7"]
    assert set(re.findall(r"<(\w+)", html)) == {"table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[here](javascript:alert(1))",
        "![x](https://a.example/pixel)",
        "a | b",
        "`code`",
        "**loud** _soft_ ~~gone~~",
        "&lt;b&gt;",
        "\\| \\",
        "$x$",
        "wrong_status",
    ],
)
def test_markup_of_a_subject_is_none(text: str) -> None:
    cells, html = rendered_text(render(Table((Column("error"),), ((text,),)), "markdown"))
    assert cells[1] == text
    assert not re.search(r"<(script|img|a|code|strong|em|s)\b", html)


@pytest.mark.parametrize("text", ["www.evil.example", "https://evil.example/", "@everyone", "mail@evil.example"])
def test_addresses_and_mentions_do_not_become_links(text: str) -> None:
    markdown = render(Table((Column("error"),), ((text,),)), "markdown")
    # GitHub autolinks these: they must not be in the source.
    assert text not in markdown
    assert rendered_text(markdown)[0][1] == text


@pytest.mark.parametrize("text", ["# no heading", "1. no list", "- no list", "+ no list", "=== no rule"])
def test_notes_are_a_list_of_texts(text: str) -> None:
    table = Table((Column("method"),), (("x",),), notes=(Note(text), Note("second", 0)))
    html = GITHUB.render(render(table, "markdown"))
    assert re.findall(r"<li>(.*?)</li>", html) == [text, "x: second"]


def test_numbers_stand_at_the_right_and_hidden_columns_are_left_out() -> None:
    table = Table((Column("subject", shown=False), Column("time", ColumnKind.DURATION)), (("x", 12.34), ("y", None)))
    assert render(table, "markdown") == "| time |\n| ---: |\n| 12.3 |\n|  |\n"


def test_a_title_stands_above() -> None:
    assert render(Table((Column("a"),), (), title="A *crawl*"), "markdown").startswith("**A \\*crawl\\***\n\n| a |\n")
