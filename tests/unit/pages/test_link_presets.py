"""The page about links has all presets."""

from pathlib import Path

from pages.link_presets import with_link_presets

PAGE = Path(__file__).parents[3] / "docs" / "concepts" / "link.md"


def test_the_page_is_current() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_link_presets(page) == page, "write it anew with: make docs"
