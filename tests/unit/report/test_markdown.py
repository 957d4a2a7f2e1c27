"""Markdown: a table that GitHub renders, in which whatever a subject says is text."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from httpdyno.model import Column, ColumnKind, Note, Table
from httpdyno.report import render
from httpdyno.report.cell import without_controls

GITHUB = MarkdownIt("gfm-like", {"html": True, "linkify": False})
COMMENT = "<!-- -->"


def rendered_text(markdown: str) -> tuple[list[str], str]:
    """Render; give the texts of the cells, comments taken out, and all elements that there are."""
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
    # GitHub looks for these itself: what it looks for must not stand in the source.
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
