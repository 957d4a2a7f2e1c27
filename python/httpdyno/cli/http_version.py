"""``--http-version 1.1|2``: how it is read."""

from typing import Final

from httpdyno.errors import InvalidValue

__all__ = ["VERSIONS", "parse_http_version"]

VERSIONS: Final = ("1.1", "2")


def parse_http_version(text: str | None) -> str:
    """Read the version of HTTP that clients are told to speak alone.

    Parameters
    ----------
    text : str, optional
        ``1.1`` or ``2``; None and the empty text: each client's default.

    Returns
    -------
    str
        Empty for the default.

    Raises
    ------
    InvalidValue
        If it is another one.
    """
    version = (text or "").strip()
    if version and version not in VERSIONS:
        raise InvalidValue(f"--http-version: {version[:40]!r} is not understood; give {' or '.join(VERSIONS)}")
    return version
