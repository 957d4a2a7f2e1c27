"""The reference page of the command line has every spelling of every option."""

import re
from functools import cache, partial

import pytest

from doubles.command_line import all_commands
from pages.command_line import command_line_page

HELP = {"-h", "--help"}
page = cache(partial(command_line_page, {}))


def rows_of(verb: str) -> list[str]:
    """Return the first cell of each row of a verb's table."""
    section = page().partition(f"\n## httpdyno {verb}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `((?:[^`\\]|\\.)*)` \|", section, re.MULTILINE)


@pytest.mark.parametrize("verb", all_commands())
def test_every_spelling_of_every_option_is_on_the_page(verb: str) -> None:
    command = all_commands()[verb]
    shown = [one for one in command.params if not getattr(one, "hidden", False)]
    typed = {name for one in shown for name in (*one.opts, *one.secondary_opts) if name.startswith("-")}
    on_page = {word for row in rows_of(verb) for word in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", row)}
    assert on_page == typed - HELP


@pytest.mark.parametrize(
    ("verb", "row"),
    [
        ("report", "--runs, --out DIR"),
    ],
)
def test_a_row_names_the_short_one_first_and_what_turns_it_off(verb: str, row: str) -> None:
    assert row in rows_of(verb)
