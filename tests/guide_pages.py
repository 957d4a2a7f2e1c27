"""The pages of docs/guide, taken apart: blocks of code by their language, tables, command lines."""

import os
import re
import shlex
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs" / "guide"
DOCS = GUIDE.parent
REFERENCE = DOCS / "reference" / "command-line.md"
_FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_TYPED = re.compile(r"^ {4}(?:\w*\$ )?httpdyno (?P<line>.+)$|`httpdyno (?P<inline>[^`]+)`", re.MULTILINE)
_OF_THE_SHELL = frozenset("<>|&;")


def all_pages() -> list[str]:
    """Give each page with commands of today, as a path from the guide; those of query.md are questions."""
    found = [path for path in DOCS.rglob("*.md") if path.parent.name != "decisions" and path.name != "query.md"]
    return [os.path.relpath(path, GUIDE) for path in sorted([*found, *DOCS.parent.glob("*.md")])]


def text_of(page: str) -> str:
    return (GUIDE / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """Give the fenced blocks of that language, in their order."""
    return [match["code"] for match in _FENCED.finditer(text_of(page)) if match["language"] == language]


def command_lines(page: str, verb: str) -> list[str]:
    """Give the arguments of each ``$ httpdyno VERB ...`` that stands on a line of its own."""
    return re.findall(rf"^    \$ httpdyno {verb} (.*)$", text_of(page), re.MULTILINE)


def typed_commands(page: str) -> list[tuple[str, ...]]:
    """Give the words after ``httpdyno`` of each command of the page that has any but its verb.

    On a line of its own, with or without a prompt, or within a sentence; without what is the shell's.
    """
    found = [match["line"] or match["inline"] for match in _TYPED.finditer(text_of(page).replace("\\\n", " "))]
    commands = [tuple(up_to_the_shells(shlex.split(line, comments=True))) for line in found]
    return [words for words in commands if len(words) > 1]


def up_to_the_shells(words: list[str]) -> list[str]:
    return words[: next((place for place, word in enumerate(words) if word[:1] in _OF_THE_SHELL), None)]


def options_of_engine(verb: str) -> set[str]:
    """Give the options of a verb of the engine, as the reference has them, which a test holds to the engine's own."""
    section = REFERENCE.read_text(encoding="utf-8").partition(f"\n## httpdyno {verb}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", section, re.MULTILINE))


def first_cells(page: str) -> list[list[str]]:
    """Give the names in backticks in the first cell of each row of all tables."""
    rows = re.findall(r"^\| (`(?:[^|]|(?<=\\)\|)*) \|", text_of(page), re.MULTILINE)
    return [re.findall(r"`([^`]+)`", row) for row in rows]
