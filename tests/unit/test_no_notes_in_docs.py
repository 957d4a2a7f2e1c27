"""Pages of docs have no notes to their authors: their comments only mark generated parts."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_a_comment_marks_what_is_generated(page: Path) -> None:
    comments = re.findall(r"<!--(.*?)-->", page.read_text(encoding="utf-8"), re.DOTALL)
    assert [one for one in comments if not re.fullmatch(r" (generated|end): [\w -]+ ", one)] == []
