"""An answer beside what the web serves, in words: of a line as it comes, and of a sample that was kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from httpdyno.model import Verdict

__all__ = ["CHECK_FAILED", "WRONG_CONTENT", "Served", "sample_words", "wrong_words"]

WRONG_CONTENT: Final = "check_failed"
"""Cause of an honest answer whose content is not what the client was told to check for."""
CHECK_FAILED: Final = "CheckFailed"
"""What it then has to report (``subjects/CONTRACT.md``): the one name of an error that is judged."""
_STATUS_DIGITS: Final = 3
_OF_TIME: Final = {
    Verdict.LATE: "past its timeout",
    Verdict.WRONG_TIME: "the origin saw no such request at that time",
}


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


def sample_words(sample: Mapping[str, Any]) -> str:
    """Describe a sample that is wrong, a row with the columns of ``model.Sample``."""
    verdict, code = Verdict(sample["verdict"]), str(sample["code"])
    if verdict in _OF_TIME:
        return f"{code}; {_OF_TIME[verdict]}"
    if verdict is Verdict.MISSED_ERROR:
        served = Served("error", cause=sample["cause"])
    elif sample["served_status"] is None and sample["cause"] != WRONG_CONTENT:
        return code  # in a run that is older than the column
    else:
        served = Served("status", sample["served_status"], sample["served_body_length"], sample["cause"])
    return wrong_words(code, sample["body_length"], served) or code
