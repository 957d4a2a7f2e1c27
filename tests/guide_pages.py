"""The pages of docs/guide, taken apart: blocks of code by their language, tables, command lines."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[1] / "docs" / "guide"
_FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


def text_of(page: str) -> str:
    return (GUIDE / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    """Give the fenced blocks of that language, in their order."""
    return [match["code"] for match in _FENCED.finditer(text_of(page)) if match["language"] == language]


def command_lines(page: str, verb: str) -> list[str]:
    """Give the arguments of each ``$ httpdyno VERB ...`` that stands on a line of its own."""
    return re.findall(rf"^    \$ httpdyno {verb} (.*)$", text_of(page), re.MULTILINE)


def first_cells(page: str) -> list[list[str]]:
    """Give the names in backticks in the first cell of each row of all tables."""
    rows = re.findall(r"^\| (`[^|]*) \|", text_of(page), re.MULTILINE)
    return [re.findall(r"`([^`]+)`", row) for row in rows]
