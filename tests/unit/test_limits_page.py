"""Pages and messages describe the verbs as they are."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from doubles.command_line import all_commands
from httpdyno.experiments.capacity.plan import MOST_TRIALS
from pages.command_line import ENGINE_VERBS

CHECKOUT = Path(__file__).resolve().parents[2]
DOCS = CHECKOUT / "docs"
OWN = {"first-byte", "one-connection"}
"""The experiments that a page shows how to add."""
TEXTS = (
    *sorted(DOCS.rglob("*.md")),
    *(CHECKOUT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "subjects/CONTRACT.md")),
    *sorted((CHECKOUT / "python").rglob("*.py")),
    *sorted((CHECKOUT / "crates").rglob("*.rs")),
)
TYPED = re.compile(
    r"""(?:[`"'|]|: |\$ |^ {2,8})httpdyno (?P<verb>(?:subjects |runs )?[a-z][a-z-]+)(?![\w.])""", re.MULTILINE
)
"""A command as it stands in a page, in a message, in an example: not a sentence about the program."""
SENTENCES = {"measures", "has"}
"""Words that follow the name of the program at the start of a text."""


def text_of(page: str) -> str:
    """Return a page as one line: its line breaks do not matter."""
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


def test_verbs_that_choose_no_version_of_http_are_named() -> None:
    having = {
        name for name, command in all_commands().items() if "http_version" in {one.name for one in command.params}
    }
    assert having == {"bench", "try", "tune"}
    assert "Only `bench`, `try` and `tune` have `--http-version`" in text_of("limitations.md")


def test_the_guide_says_how_many_trials_are_too_many() -> None:
    assert f"more than {MOST_TRIALS:,} trials are refused" in text_of("guide/capacity.md")


def verbs_of(text: str) -> Iterator[str]:
    """Return the verbs of the commands in a text."""
    return (match["verb"] for match in TYPED.finditer(text) if match["verb"] not in SENTENCES)


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("see: httpdyno subjets list", ["subjets"]),
        ("    $ httpdyno crawl --quick\n    httpdyno bench\n", ["crawl", "bench"]),
        ("by `httpdyno subjects check`, or 'httpdyno urls X'", ["subjects check", "urls"]),
        ("what httpdyno does, and `httpdyno.load_run`", []),
    ],
)
def test_a_verb_is_found_where_it_is_typed(text: str, verbs: list[str]) -> None:
    assert list(verbs_of(text)) == verbs


def test_every_verb_that_a_page_or_a_message_names_is_one() -> None:
    known = {*all_commands(), *ENGINE_VERBS, "subjects", *OWN}
    named = {text: set(verbs_of(text.read_text(encoding="utf-8"))) for text in TEXTS}
    assert {str(text): verbs - known for text, verbs in named.items() if verbs - known} == {}
    # The texts name all of them.
    assert set.union(*named.values()) >= set(all_commands())
