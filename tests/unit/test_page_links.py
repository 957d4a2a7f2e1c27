"""Every link of every page leads to a file, and to a heading of it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "subjects").glob("*.md")),
    *sorted(ROOT.glob("*.md")),
    ROOT / "tests" / "fixtures" / "tool-reports" / "README.md",
)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r'(?:\]\(\s*|\b(?:src|srcset)=")([^)\s"]+)')
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def text_of(page: Path) -> str:
    """Return a page without its blocks of code."""
    return _FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors_of(page: Path) -> set[str]:
    """Return the anchor that GitHub gives to each heading of a page."""
    headings = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in _HEADING.findall(text_of(page)))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(text_of(page)) if not re.match(r"[a-z]+:", link)]
    broken = []
    for link in links:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_in_the_list_of_all_pages() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in _LINK.findall(text_of(index))}
    folders = {"guide", "concepts", "reference", "results", "internals"}
    pages = {page for folder in folders for page in (index.parent / folder).glob("*.md")}
    assert sorted(str(page) for page in pages - linked) == []
