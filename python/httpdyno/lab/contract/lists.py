"""What a client is given to read while it is held to its contract."""

from typing import Final

__all__ = [
    "AT_ONCE",
    "BLANKS",
    "CODINGS",
    "DOCUMENT_HOST",
    "LATE",
    "NO_DOCUMENTS",
    "NO_URLS",
    "STALL",
    "TIMES",
    "TWICE",
    "USER_AGENT",
]

NO_URLS: Final = (
    "two words",
    "https://exa mple.test/",
    "plain.test",
    "https://plain.test:99999/",
    "https://",
    "ftp://plain.test/",
)
CODINGS: Final = tuple(
    f"https://codings.test/{name}?n={number}" for name in ("gzip", "brotli", "zstd") for number in range(3)
)
BLANKS: Final = ("", "https://a.test/plain\r", "", "  https://b.test/plain  ", "")
TWICE: Final = "https://twice.test/plain"
TIMES: Final = 5
USER_AGENT: Final = "contract test/1.0"
AT_ONCE: Final = 7
DOCUMENT_HOST: Final = "https://documents.test"
NO_DOCUMENTS: Final = (
    f"{DOCUMENT_HOST}/plain",
    f"{DOCUMENT_HOST}/bytes/109",
    *(f"{DOCUMENT_HOST}/delay/150?n={number}" for number in range(3)),
)
"""Of the host that has the documents: pages that fail a check of their JSON."""
LATE: Final = tuple(f"https://late.test/bytes/{length}" for length in range(101, 107))
"""Of one host, each handed over when the one before it has been answered."""
STALL: Final = "https://stall-headers.test/"
"""Of the contract's web: it takes the request and never answers."""
