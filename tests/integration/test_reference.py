"""The generated pages of docs/reference match the commands, the engine and the records."""

import difflib
import runpy

import pytest

from conftest import TESTS
from pages.command_line import ENGINE_VERBS

CHECKOUT = TESTS.parent
REFERENCE = CHECKOUT / "docs" / "reference"


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Generate the pages as `make docs` does; the engine needs no room to print its help."""
    texts: dict[str, str] = runpy.run_path(str(CHECKOUT / "scripts" / "write-reference"))["pages"]()
    return texts


CLI = sorted(f"cli/{page.name}" for page in (REFERENCE / "cli").glob("*.md"))


def test_every_verb_has_a_page(pages: dict[str, str]) -> None:
    assert sorted(name for name in pages if name.startswith("cli/")) == CLI, "call `make docs`"


@pytest.mark.parametrize("name", [*CLI, "records.md"])
def test_a_page_is_up_to_date(pages: dict[str, str], name: str) -> None:
    written = (REFERENCE / name).read_text(encoding="utf-8")
    difference = difflib.unified_diff(written.splitlines(), pages[name].splitlines(), "written", "now", lineterm="")
    assert written == pages[name], "write it anew with `make docs`:\n" + "\n".join(difference)


def test_every_decision_is_in_their_index() -> None:
    page = runpy.run_path(str(CHECKOUT / "scripts" / "write-reference"))["decisions_page"]()
    assert (CHECKOUT / "docs" / "internals" / "decisions" / "README.md").read_text(encoding="utf-8") == page, (
        "call `make docs`"
    )


def test_every_verb_is_on_the_page_with_its_options(pages: dict[str, str]) -> None:
    for verb in ("bench", "try", "urls", "doctor", "room", "origin"):
        assert pages[f"cli/{verb}.md"].startswith(f"# httpdyno {verb}\n")
    for verb in ("runs", "runs prune", "subjects list", "subjects probe"):
        assert f"\n## httpdyno {verb}\n" in pages[f"cli/{verb.split()[0]}.md"]
    assert "--limit N" in pages["cli/bench.md"]
    assert "--web <WEB>" in pages["cli/room.md"]


def test_the_help_of_the_engine_begins_with_an_example_and_is_no_wider_than_100(pages: dict[str, str]) -> None:
    for verb in ENGINE_VERBS:
        text = pages[f"cli/{verb}.md"].split("```")[1]
        usage, example, options = (text.index(f"\n{start}") for start in ("Usage: ", "Example: ", "Options:\n"))
        assert usage < example < options
        assert max(map(len, text.splitlines())) <= 100
