"""Every error that httpdyno raises on purpose, each with the exit code that the command ends with.

The message of an error is one line that says what was wrong, where, and what to do.
"""

# ruff: noqa: N818  # an error is named for what happened; the root of the tree says that it is one

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import ClassVar


def suggestion(name: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """Say which of the known names an unknown one is close to; else all of them, or what is said otherwise."""
    # Costs a start more than the rest of this module, and is for mistakes.
    from difflib import get_close_matches

    names = list(known)
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else otherwise or f"choose from: {', '.join(names)}"


class HttpdynoError(Exception):
    """Root of the tree: catch this one to catch everything that httpdyno raises on purpose.

    Attributes
    ----------
    exit_code : int
        What the command exits with when the error reaches it.
    """

    exit_code: ClassVar[int] = 3

    @property
    def line(self) -> str:
        """The message on one line, however many lines it was raised with."""
        return " ".join(str(self).split())


class CheckFailed(HttpdynoError):
    """A check or a threshold was not met: the measurement itself is fine."""

    exit_code = 1


class UsageError(HttpdynoError):
    """Something that the user gave cannot be used as it stands."""

    exit_code = 2


class EmptyList(UsageError):
    """A list of URLs has none in it."""


class InvalidValue(UsageError):
    """A setting, a quantity or a record has a value that it cannot have."""


class InvalidSubject(UsageError):
    """A ``subject.toml`` cannot be read, or says something that it must not say."""


class UnknownName(UsageError):
    """A name that is asked for does not exist; the message lists those that do."""


class UnreadableRun(UsageError):
    """A run folder is damaged, foreign, or was written by a newer version."""


class TooFewBlocks(UsageError):
    """A comparison was asked of fewer blocks than can say anything."""


class NotResumable(UsageError):
    """A run cannot be continued: the message says why, and what can be done instead."""


class NothingMeasured(HttpdynoError):
    """The command ended without a single measurement."""

    exit_code = 3


class SubjectUnavailable(NothingMeasured):
    """A subject cannot run here; the message says what to install."""


class BuildFailed(SubjectUnavailable):
    """A subject's build command failed."""


class EngineFailed(NothingMeasured):
    """The engine is missing, failed itself, or left a report that cannot be read."""


class UnreadableReport(NothingMeasured):
    """What a load tool printed is not the report that its parser knows."""


class StorageFailed(NothingMeasured):
    """Results cannot be written: the folder is not writable, or the disk fails."""


class StorageFull(StorageFailed):
    """Results cannot be written: the disk, or the user's share of it, is full."""

    exit_code = 4


class Interrupted(HttpdynoError):
    """The user, or the system, asked to stop."""

    exit_code = 130
