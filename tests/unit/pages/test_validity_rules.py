"""The table of the page about validity is that of the code."""

from pathlib import Path

import pytest

from httpdyno.model import Validity
from pages.validity_rules import validity_rules, with_rules

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "validity.md"


def test_the_page_is_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_rules(page, validity_rules()) == page, "write it anew with: make docs"


def test_the_page_describes_every_verdict() -> None:
    head, _, advice = PAGE.read_text(encoding="utf-8").partition("## What to do")
    for validity in Validity:
        assert f"| `{validity}` |" in head
    for rule in (rule for own in validity_rules().values() for rule in own):
        assert f"**`{rule.verdict}`" in advice or rule.verdict is Validity.UNVERIFIED


def test_a_page_without_a_place_for_the_table_is_refused() -> None:
    with pytest.raises(ValueError, match="the page needs one <!-- generated: rules -->"):
        with_rules("# Validity\n", validity_rules())
