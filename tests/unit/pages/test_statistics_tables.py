"""The tables of the page about statistics are those of the code."""

from pathlib import Path

import pytest

from pages.statistics_tables import with_tables

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "statistics.md"


def test_the_page_is_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page) == page, "write it anew with: make docs"


def test_tables_are_written_over_what_stands_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page.replace("| 5 | 1 and 5 | 93.75 % |", "| 5 | 1 and 5 | 99 % |")) == page


def test_a_page_without_a_place_for_a_table_is_refused() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for damaged in (page.replace("<!-- end: chance -->", ""), page + "<!-- generated: levels -->"):
        with pytest.raises(ValueError, match="the page needs one <!-- generated: "):
            with_tables(damaged)
