"""Credentials, which no run keeps."""

import re
from typing import Final

__all__ = ["without_credentials"]

_NAME: Final = (
    r"[\w.-]*(?:api[_-]?key|authorization|cookie|credential|passw(?:or)?d|secret|session|signature|token)[\w.-]*"
)
_PATTERNS: Final = (
    re.compile(r"(://)[^/?#\s'\"]+(?=@)"),
    re.compile(rf"(?im)(?<![^\s])((?:-H|--header=)?{_NAME}:[ \t]*)(?=\S)[^\r\n]+"),
    re.compile(rf"(?i)((?:^|[?&]){_NAME}=)[^&#\s'\"]+"),
    re.compile(rf'(?i)("{_NAME}"\s*:\s*)"(?:[^"\\]|\\.)*"'),
)
"""The user of a URL, a header field, a parameter of a query or a form, a value in JSON."""


def without_credentials(text: str) -> str:
    """Return a text with ``***`` for what its names call a secret, and for the user and the password of a URL."""
    for pattern in _PATTERNS:
        text = pattern.sub(r"\1***", text)
    return text
