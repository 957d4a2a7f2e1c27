"""Reads the content of a urllib answer to its end, and decodes it."""

import gzip
import time
from http.client import HTTPResponse, IncompleteRead

READ_BYTES = 65536


def read_content(response: HTTPResponse, deadline: float) -> bytes:
    """Read piece after piece until a moment of ``time.perf_counter``.

    Raises
    ------
    TimeoutError
        If content still drips at that moment.
    IncompleteRead
        If it is shorter than its length: http.client checks that only when all is read in one call.
    """
    pieces = []
    # One read of the socket at a time: read() waits until it has all requested bytes, however slowly content drips.
    while piece := response.read1(READ_BYTES):
        pieces.append(piece)
        if time.perf_counter() > deadline:
            raise TimeoutError
    content = b"".join(pieces)
    if response.length:  # bytes that http.client still expects
        raise IncompleteRead(content, response.length)
    # urllib requests no coding and decodes none; some servers send this one anyway.
    is_coded = response.headers.get("Content-Encoding", "").lower() == "gzip"
    return gzip.decompress(content) if is_coded else content
