"""The words after ``fetch`` and ``load``: which of them are for the cluster, and which for the engine on each node."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from httpdyno.errors import UsageError

_OPTION: Final = "--cluster"
_MOST_LOCAL_NODES: Final = 64
_ADDRESS: Final = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[^\s:/\[\]]+):([0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class ClusterName:
    """The value of ``--cluster``.

    Attributes
    ----------
    text : str
        As it was typed.
    local_nodes : int
        Nodes to start on this machine; 0: an existing cluster is joined.
    """

    text: str
    local_nodes: int = 0


def is_for_cluster(words: Sequence[str]) -> bool:
    """Return whether ``--cluster`` is among the words, before a ``--``."""
    own = words[: words.index("--")] if "--" in words else words
    return any(word == _OPTION or word.startswith(f"{_OPTION}=") for word in own)


def parse_cluster(text: str) -> ClusterName:
    """Parse ``auto``, ``HOST:PORT`` or ``local:N``; raise ``UsageError`` for anything else."""
    if text == "auto":
        return ClusterName(text)
    if text.startswith("local"):
        number = text.removeprefix("local:")
        if number.isascii() and number.isdigit() and 1 <= int(number) <= _MOST_LOCAL_NODES:
            return ClusterName(text, int(number))
        raise UsageError(
            f"{text!r}: write local:N with N from 1 to {_MOST_LOCAL_NODES}, such as local:3", option=_OPTION
        )
    if text.startswith("ray://"):
        raise UsageError(
            f"{text!r}: Ray Client is not supported; run the command on a node, with auto or HOST:PORT", option=_OPTION
        )
    address = _ADDRESS.fullmatch(text)
    if address is None or not 1 <= int(address[1]) <= 65_535:
        raise UsageError(f"{text!r} is no cluster; write auto, HOST:PORT of its head node, or local:N", option=_OPTION)
    return ClusterName(text)


def take_options(words: Sequence[str], names: Mapping[str, str | None]) -> tuple[list[str], dict[str, list[str]]]:
    """Separate options with a value from the other words.

    Parameters
    ----------
    words : sequence of str
        Words after the verb. Those after ``--`` are not separated.
    names : mapping of str to str or None
        Options to separate, with the letter of their short form.

    Returns
    -------
    tuple
        The other words in their order, and the values of each separated option in their order.
    """
    short = {f"-{letter}": name for name, letter in names.items() if letter}
    others: list[str] = []
    values: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        if word == "--":
            return [*others, word, *rest], values
        name, equals, value = word.partition("=")
        if not word.startswith("--"):
            name, value = short.get(word[:2], ""), word[2:].removeprefix("=")
            equals = value
        if name not in names:
            others.append(word)
            continue
        if not equals and (following := next(rest, None)) is not None:
            value = following
        elif not equals:
            raise UsageError("its value is missing", option=name)
        values.setdefault(name, []).append(value)
    return others, values


def last_value(values: Mapping[str, Sequence[str]], name: str) -> str | None:
    """Return the value of an option that may be given once; raise ``UsageError`` for a second one."""
    given = values.get(name, ())
    if len(given) > 1:
        raise UsageError("given twice; give it once", option=name)
    return given[0] if given else None


def refuse_options(words: Sequence[str], refused: Mapping[str, str]) -> None:
    """Raise ``UsageError`` for the first option that conflicts with ``--cluster``; ``refused`` has the reasons."""
    for word in words:
        if word == "--":
            return
        name = word.partition("=")[0]
        if name in refused:
            raise UsageError(f"conflicts with {_OPTION}: {refused[name]}", option=name, joint=" ")
