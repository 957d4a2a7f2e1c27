"""The pages of docs/guide, taken apart: blocks of code by their language, tables, command lines."""

import os
import re
import shlex
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs" / "guide"
DOCS = GUIDE.parent
REFERENCE = DOCS / "reference" / "cli"
OUTPUT = "../reference/output.md"
"""The page of all columns, from the guide."""
_FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^ {4}(?:\w*\$ )?httpdyno (?P<line>.+)$|`httpdyno (?P<inline>[^`]+)`", re.MULTILINE)
_OF_THE_SHELL = frozenset("<>|&;")


def all_pages() -> list[str]:
    """Give each page with commands of today, as a path from the guide."""
    found = [path for path in DOCS.rglob("*.md") if path.parent.name not in {"decisions", "cli"}]
    return [os.path.relpath(path, GUIDE) for path in sorted([*found, *DOCS.parent.glob("*.md")])]


def text_of(page: str) -> str:
    return (GUIDE / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """Return the fenced blocks of that language, in their order."""
    return [match["code"] for match in _FENCED.finditer(text_of(page)) if match["language"] == language]


def command_lines(page: str, verb: str) -> list[str]:
    """Return the arguments of each ``$ httpdyno VERB ...`` that stands on a line of its own."""
    return re.findall(rf"^    \$ httpdyno {verb} (.*)$", text_of(page), re.MULTILINE)


def typed_commands(page: str) -> list[tuple[str, ...]]:
    """Return the words after ``httpdyno`` of each command of the page that has any but its verb.

    On a line of its own, with or without a prompt, or within a sentence; without the shell's own syntax.
    """
    found = [match["line"] or match["inline"] for match in _TYPED.finditer(text_of(page).replace("\\\n", " "))]
    commands = [tuple(up_to_the_shells(shlex.split(line, comments=True))) for line in found]
    return [words for words in commands if len(words) > 1]


def up_to_the_shells(words: list[str]) -> list[str]:
    return words[: next((place for place, word in enumerate(words) if word[:1] in _OF_THE_SHELL), None)]


def options_of_engine(verb: str) -> set[str]:
    """Give the options of a verb of the engine, as the reference has them, which a test holds to the engine's own."""
    page = (REFERENCE / f"{verb}.md").read_text(encoding="utf-8")
    return set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", page, re.MULTILINE))


def section_of(page: str, heading: str) -> str:
    """Return the text below a heading of the second level, up to the next one."""
    return text_of(page).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def first_cells(page: str, heading: str | None = None) -> list[list[str]]:
    """Give the names in backticks in the first cell of each row of all tables, or of those below a heading."""
    text = text_of(page) if heading is None else section_of(page, heading)
    rows = re.findall(r"^\| (`(?:[^|]|(?<=\\)\|)*) \|", text, re.MULTILINE)
    return [re.findall(r"`([^`]+)`", row) for row in rows]
