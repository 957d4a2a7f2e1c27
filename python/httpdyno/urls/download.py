"""Fetches a published list over HTTP, with the standard library: this is no measurement."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import IO, Final

import httpdyno
from httpdyno.errors import UsageError
from httpdyno.model import format_size
from httpdyno.storage import storage_errors

__all__ = ["LARGEST_BYTES", "Received", "download"]

Received = Callable[[int, int | None], None]
"""Gets the number of bytes so far, and of all that are expected; None: the server does not say."""

LARGEST_BYTES: Final = 2 * 1024**3
"""Ten million domains are 110 MiB compressed and 400 MiB as they are."""
_TIMEOUT_S: Final = 60.0
"""How long the server may send nothing."""
_PIECE_BYTES: Final = 256 * 1024
_REASON_LENGTH: Final = 80
_CURE: Final = "look at the address, or download it and give the file"


def download(
    url: str,
    into: IO[bytes],
    *,
    progress: Received | None = None,
    largest_bytes: int = LARGEST_BYTES,
) -> None:
    """Write what a URL answers into a file open for writing; refuse what is larger than ``largest_bytes``.

    Redirects are followed, proxies of the environment are used.
    """
    received, expected = 0, None
    try:
        request = urllib.request.Request(url, headers={"User-Agent": f"httpdyno/{httpdyno.__version__}"})
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            length = answer.headers.get("Content-Length")
            expected = int(length) if length and length.isdigit() else None
            while received <= largest_bytes and (expected is None or expected <= largest_bytes):
                if progress:
                    progress(received, expected)
                piece = answer.read(_PIECE_BYTES)
                if not piece:
                    break
                received += len(piece)
                with storage_errors("downloading the list: cannot write"):
                    into.write(piece)
    except urllib.error.HTTPError as error:
        with error:
            raise UsageError(f"{url}: the server answers {error.code} {error.reason}; {_CURE}") from error
    except urllib.error.URLError as error:
        raise UsageError(f"{url}: cannot be fetched: {_reason(error.reason)}; {_CURE}") from error
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise UsageError(f"{url}: cannot be fetched: {_reason(error)}; {_CURE}") from error
    if max(received, expected or 0) > largest_bytes:
        raise UsageError(f"{url}: larger than {format_size(largest_bytes)}; download it and give the file")
    if expected is not None and received < expected:
        raise UsageError(f"{url}: ended after {format_size(received)} of {format_size(expected)}; try again")
    with storage_errors("downloading the list: cannot write"):
        into.flush()


def _reason(error: object) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing came for {_TIMEOUT_S:.0f} s"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())[:_REASON_LENGTH] or type(error).__name__
