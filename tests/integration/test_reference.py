"""The generated pages of docs/reference say what the commands, the engine and the records say now."""

import difflib
import runpy

import pytest

from conftest import TESTS
from pages.command_line import ENGINE_VERBS

CHECKOUT = TESTS.parent
REFERENCE = CHECKOUT / "docs" / "reference"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Generate the pages as `make docs` does; the engine needs no room to say how it is used."""
    texts: dict[str, str] = runpy.run_path(str(CHECKOUT / "scripts" / "write-reference"))["pages"]()
    return texts


@pytest.mark.parametrize("name", ["command-line.md", "records.md"])
def test_a_page_is_up_to_date(pages: dict[str, str], name: str) -> None:
    written = (REFERENCE / name).read_text(encoding="utf-8")
    difference = difflib.unified_diff(written.splitlines(), pages[name].splitlines(), "written", "now", lineterm="")
    assert written == pages[name], "write it anew with `make docs`:\n" + "\n".join(difference)


def test_every_decision_is_in_their_index() -> None:
    page = runpy.run_path(str(CHECKOUT / "scripts" / "write-reference"))["decisions_page"]()
    assert (CHECKOUT / "docs" / "decisions" / "README.md").read_text(encoding="utf-8") == page, "call `make docs`"


def test_every_verb_is_on_the_page_with_its_options(pages: dict[str, str]) -> None:
    page = pages["command-line.md"]
    for verb in ("bench", "try", "urls", "doctor", "room", "origin", "runs", "subjects list", "subjects probe"):
        assert f"\n## httpdyno {verb}\n" in page
    assert "--limit N" in page
    assert "--web <WEB>" in page


def test_the_help_of_the_engine_begins_with_an_example_and_is_no_wider_than_100(pages: dict[str, str]) -> None:
    for verb in ENGINE_VERBS:
        section = pages["command-line.md"].partition(f"\n## httpdyno {verb}\n")[2].partition("\n## ")[0]
        text = section.split("```")[1]
        usage, example, options = (text.index(f"\n{start}") for start in ("Usage: ", "Example: ", "Options:\n"))
        assert usage < example < options
        assert max(map(len, text.splitlines())) <= 100
