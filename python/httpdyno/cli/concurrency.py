"""``--concurrency N|auto``: how it is read."""

from typing import Final, Literal

from httpdyno.errors import InvalidValue

__all__ = ["AUTO", "parse_concurrency"]

AUTO: Final = "auto"
_MOST: Final = 1_000_000
"""No machine has so many ports; a number beyond is a slip of the keyboard."""


def parse_concurrency(text: str | None) -> int | Literal["auto"] | None:
    """Read how many requests may be in flight at once.

    Parameters
    ----------
    text : str, optional
        A whole number of 1 or more, or ``auto``; None and the empty text: each subject's own.

    Raises
    ------
    InvalidValue
        If it is neither.
    """
    if text is None or not text.strip():
        return None
    word = text.strip()
    if word == AUTO:
        return AUTO
    number = int(word) if word.isascii() and word.isdigit() and len(word) <= len(str(_MOST)) else 0
    if not 1 <= number <= _MOST:
        raise InvalidValue(f"--concurrency: {text[:40]!r} is not understood; give a number of 1 or more, or auto")
    return number
