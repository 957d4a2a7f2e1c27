"""Rounds in which each competitor runs once, in random order."""

import sys
from collections.abc import Callable, Mapping

from httpdyno.errors import HttpdynoError
from ratios.figures import Round
from ratios.place import Place

__all__ = ["Competitor", "interleave"]

Competitor = Callable[[], Mapping[str, float]]
"""Runs once and gives its figures."""


def interleave(
    place: Place, competitors: Mapping[str, Competitor], *, notes: list[str], tell: Callable[[str], None] | None = None
) -> tuple[Round, ...]:
    """Run every competitor once a round.

    One that fails is out of that round, and a note says why: it does not stop the others.

    Parameters
    ----------
    place : Place
        Says how many rounds, and decides the order of each.
    competitors : mapping of Competitor
        By name.
    notes : list of str
        Gets a line for each failure, a repeated one once.
    tell : callable
        Gets what is going on; default: one line on standard error that is written over.
    """
    say = tell or _tell
    rounds = []
    for number in range(1, place.rounds + 1):
        order = list(competitors)
        place.order.shuffle(order)
        measured = {}
        for name in order:
            say(f"round {number} of {place.rounds}: {name}")
            try:
                measured[name] = competitors[name]()
            except HttpdynoError as error:
                notes += [error.line] if error.line not in notes else []
        # Not in the order of running: who reads the results compares columns.
        rounds.append({name: measured[name] for name in competitors if name in measured})
    say("")
    return tuple(rounds)


def _tell(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{line}")
        sys.stderr.flush()
    elif line:
        sys.stderr.write(f"{line}\n")
