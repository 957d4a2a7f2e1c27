"""Sets of CPUs as people write them: ``0``, ``2-3``, ``0,2-3``."""

import re
from collections.abc import Iterable
from typing import Final

from httpdyno.errors import InvalidValue

__all__ = ["format_cpus", "parse_cpus"]

_RUN: Final = re.compile(r"(?P<first>[0-9]{1,5})(?:-(?P<last>[0-9]{1,5}))?")


def parse_cpus(text: str, *, name: str = "CPUs") -> frozenset[int]:
    """Read the numbers of CPUs from numbers and ranges, as in ``0,2-3``; ``name`` is what a message calls them."""
    numbers: set[int] = set()
    for part in text.split(","):
        run = _RUN.fullmatch(part.strip())
        first, last = (int(run["first"]), int(run["last"] or run["first"])) if run else (1, 0)
        if last < first:
            raise InvalidValue(f"{name}: {text[:60]!r} is not understood; write numbers and ranges, like 0 or 1,3-5")
        numbers.update(range(first, last + 1))
    return frozenset(numbers)


def format_cpus(numbers: Iterable[int]) -> str:
    """Write a set of CPUs in numbers and ranges, as ``parse_cpus`` reads it."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
