"""An answer beside what the web serves, in words: of a line as it comes, and of a sample that was kept."""

from dataclasses import dataclass
from typing import Final

__all__ = ["CHECK_FAILED", "WRONG_CONTENT", "Served", "wrong_words"]

WRONG_CONTENT: Final = "check_failed"
"""Cause of an honest answer whose content is not what the client was told to check for."""
CHECK_FAILED: Final = "CheckFailed"
"""What it then has to report (``subjects/CONTRACT.md``): the one name of an error that is judged."""
_STATUS_DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class Served:
    """What the web answers to a URL."""

    outcome: str | None
    """``status``, ``error`` or ``either``; None: nobody knows."""
    status: int | None = None
    length: int | None = None
    cause: str | None = None


def wrong_words(code: str, length: int | None, served: Served) -> str | None:
    """Describe an answer that is wrong beside what was served: ``200, 16383 B; served 16384``.

    None when its code and its length are right, as the judge sees them; when it came is not looked at.
    """
    if served.outcome is None:
        return None
    if not (len(code) == _STATUS_DIGITS and code.isascii() and code.isdigit()):
        unread = served.cause == WRONG_CONTENT and code != CHECK_FAILED
        if served.outcome != "status" and not unread:
            return None
        return f"{code}; served {served.status}" if served.status else f"{code}; due {CHECK_FAILED}"
    if served.outcome == "error":
        return f"{code}; due an error, for {served.cause}"
    if int(code) != served.status:
        return f"{code}; served {served.status}"
    if served.length is None or length == served.length:
        return None
    return f"{code}, {'no length' if length is None else f'{length} B'}; served {served.length}"
