"""The words for what a web can give at all: which trials ask it, and what held the fetcher up that asked."""

from enum import StrEnum
from typing import Final

__all__ = ["CEILING_TRIAL", "CeilingLimit", "Purpose"]

CEILING_TRIAL: Final = -1
"""Number of the trial that measures the ceiling: it comes before the first trial of a subject, which is 0."""


class Purpose(StrEnum):
    """What a trial is made for."""

    SUBJECT = "subject"
    CEILING = "ceiling"


class CeilingLimit(StrEnum):
    """What kept the fetcher from getting more out of a web."""

    WEB = "web"
    """The delays that the web plans, at this many requests in flight."""
    FETCHER = "fetcher"
    """Its own CPU time."""
    ORIGIN = "origin"
    """The origin's CPU time."""
    LINK = "link"
    """The link: its rate, its distance or its losses."""
    INSTRUMENT = "instrument"
    """None of these: something of the room or the kernel that nobody measures."""
    MACHINE = "machine"
    """Other programs: then the web can give more than was measured."""
