"""Whether a build failed because of a download, and not by a fault of the subject."""

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["is_no_download"]

_NO_DOWNLOAD: Final = re.compile(
    r"could not resolve|name resolution|name or service not known|no such host|getaddrinfo|enotfound|eai_again"
    r"|econnre|etimedout|network is unreachable|no route to host|connection (?:refused|reset|timed out|closed)"
    r"|tls handshake timeout|i/o timeout|dial tcp|error sending request|failed to (?:download|fetch)"
    r"|(?:unable|failed) to (?:load the service index|access|connect)|dns error|timeout was reached"
    r"|(?:status(?: code)?|http|response|returned error):? ?(?:40[37]|429|50[0-4])\b",
    re.IGNORECASE,
)
"""Messages of package managers about failed downloads: the cause is this machine's network, not the subject."""


def is_no_download(log: Iterable[str]) -> bool:
    """Return whether a line of a build's log reports a failed download."""
    return any(_NO_DOWNLOAD.search(line) for line in log)
