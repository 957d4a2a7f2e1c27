"""Errors that httpdyno raises on purpose, each with the exit code of the command.

The message of an error is one line that says what was wrong, where, and what to do.
"""

# ruff: noqa: N818  # an error is named for what happened; the root of the tree says that it is one

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import ClassVar


def suggestion(name: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """Suggest the known name that is closest to an unknown one; else return ``otherwise``, or list all names."""
    # Imported late: it takes longer than the rest of this module, and is needed after mistakes only.
    from difflib import get_close_matches

    names = list(known)
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]!r}?" if close else otherwise or f"choose from: {', '.join(names)}"


class HttpdynoError(Exception):
    """Root of the tree: catch it to catch every error that httpdyno raises on purpose.

    Attributes
    ----------
    exit_code : int
        Exit code of the command when it ends with this error.
    message : str
        What is wrong, without the option.
    option : str
        The option, or the name of the input, that is wrong; it begins the message, before ``joint``. Empty: none.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str = "", *, option: str = "", joint: str = ": ") -> None:
        """Take the message, without the option."""
        super().__init__(message)
        self.message = message
        self.option = option
        self.joint = joint if option else ""

    def __str__(self) -> str:
        """Return the whole message."""
        return f"{self.option}{self.joint}{self.message}"

    @property
    def reason(self) -> str:
        """What is wrong, on one line, without the option."""
        return " ".join(self.message.split())

    @property
    def line(self) -> str:
        """The message on one line, however many lines it was raised with."""
        return " ".join(str(self).split())


class CheckFailed(HttpdynoError):
    """A check or a threshold failed; the measurement itself is valid."""

    exit_code = 1


class UsageError(HttpdynoError):
    """The user's input cannot be used."""

    exit_code = 2


class EmptyList(UsageError):
    """A list of URLs is empty."""


class InvalidValue(UsageError):
    """A setting, a quantity or a record has an invalid value."""


class InvalidSubject(UsageError):
    """A ``subject.toml`` cannot be read or is invalid."""


class UnknownName(UsageError):
    """A requested name does not exist; the message lists the existing ones."""


class UnreadableRun(UsageError):
    """A run folder is damaged, foreign, or was written by a newer version."""


class TooFewBlocks(UsageError):
    """A comparison has too few blocks."""


class NotResumable(UsageError):
    """A run cannot be resumed; the message says why, and what to do instead."""


class NothingMeasured(HttpdynoError):
    """The command ended without a single measurement."""


class SubjectUnavailable(NothingMeasured):
    """A subject cannot run here; the message says what to install.

    Attributes
    ----------
    install_command : str or None
        Command that installs all that is missing and can be installed so.
    install_by_hand : str or None
        What a person has to install.
    """

    def __init__(
        self,
        message: str = "",
        *,
        option: str = "",
        joint: str = ": ",
        install_command: str | None = None,
        install_by_hand: str | None = None,
    ) -> None:
        """Take the message, without the id of the subject, which is the ``option``."""
        super().__init__(message, option=option, joint=joint)
        self.install_command = install_command
        self.install_by_hand = install_by_hand


class BuildFailed(SubjectUnavailable):
    """A subject's build command failed."""


class EngineFailed(NothingMeasured):
    """The engine is missing, failed itself, or left a report that cannot be read."""


class UnreadableReport(NothingMeasured):
    """The output of a load tool is not the report that its parser expects."""


class StorageFailed(NothingMeasured):
    """Results cannot be written: the folder is not writable, or the disk fails."""


class StorageFull(StorageFailed):
    """Results cannot be written: the disk, or the user's share of it, is full."""

    exit_code = 4


class Interrupted(HttpdynoError):
    """The user or the system stopped the command."""

    exit_code = 130
