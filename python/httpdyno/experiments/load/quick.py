"""Reads the plain words of a command line without Typer, whose import alone takes longer than to start the engine.

Whatever is not plain (a mistake, a call for help, options run together) is left to Typer, which says what is wrong.
Imports next to nothing, not even ``typing`` and ``dataclasses``: ``httpdyno load`` must start at once.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal

    Kind = Literal["text", "texts", "whole", "flag"]

__all__ = ["Option", "read_quickly"]

_DIGITS = 18
"""A number that has more of them is left to Typer."""


class Option:
    """An option of a command, or its argument, which has no spelling.

    ``texts`` may be given several times; ``negation`` is the word that takes a flag back; ``least`` and ``most`` are
    themselves allowed. ``variable`` is the variable of the environment that is the value when it is not given.
    ``metavar``, ``help``, ``group`` and ``offers``, what a shell completes it with, are for people. The engine is told
    what is ``told``, by its first spelling.
    """

    __slots__ = (
        *("default", "group", "help", "kind", "least", "metavar", "most", "name", "negation", "offers", "spellings"),
        *("told", "variable"),
    )

    def __init__(
        self,
        name: str,
        *spellings: str,
        kind: Kind = "text",
        negation: str | None = None,
        default: object = None,
        least: int | None = None,
        most: int | None = None,
        variable: str | None = None,
        metavar: str | None = None,
        help: str = "",  # noqa: A002  # as Typer calls it
        group: str | None = None,
        offers: tuple[str, ...] = (),
        told: bool = True,
    ) -> None:
        self.name = name
        self.spellings = spellings
        self.kind = kind
        self.negation = negation
        self.default = default
        self.least = least
        self.most = most
        self.variable = variable
        self.metavar = metavar
        self.help = help
        self.group = group
        self.offers = offers
        self.told = told

    def value(self, text: str) -> object | None:
        """Read a value; None when it takes more than this to say what it is."""
        if self.kind != "whole":
            return text
        if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
            return None
        number = int(text)
        low = self.least is not None and number < self.least
        high = self.most is not None and number > self.most
        return None if low or high else number


def read_quickly(options: Sequence[Option], words: Sequence[str]) -> dict[str, Any] | None:
    """Read words as the options and arguments of a command; None when Typer has to look at them.

    The values are by name; those that were not given have their defaults.
    """
    if any(one.variable in os.environ for one in options if one.variable):
        return None
    spelled = {spelling: one for one in options for spelling in (*one.spellings, one.negation) if spelling}
    arguments = next(one for one in options if not one.spellings)
    given: dict[str, Any] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            _add(given, arguments, word)
        elif not _option(given, spelled, word, left):
            return None
    return {one.name: given.get(one.name, one.default) for one in options}


def _option(given: dict[str, Any], spelled: dict[str, Option], word: str, left: list[str]) -> bool:
    """Handle one option and its value; tell whether it is a plain one."""
    spelling, joined, text = word.partition("=")
    option = spelled.get(spelling)
    if option is None or (joined and (option.kind == "flag" or not spelling.startswith("--"))):
        return False
    if option.name in given and option.kind != "texts":
        return False
    if option.kind == "flag":
        given[option.name] = spelling != option.negation
        return True
    if not joined:
        if not left or (left[0].startswith("-") and left[0] != "-"):
            return False
        text = left.pop(0)
    value = option.value(text)
    if value is None:
        return False
    _add(given, option, value)
    return True


def _add(given: dict[str, Any], option: Option, value: object) -> None:
    if option.kind == "texts":
        given.setdefault(option.name, []).append(value)
    else:
        given[option.name] = value
