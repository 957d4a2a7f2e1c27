"""Reads the content of an answer of urllib's: to its end, whole, and decoded."""

import gzip
import time
from http.client import HTTPResponse, IncompleteRead

READ_BYTES = 65536


def read_content(response: HTTPResponse, deadline: float) -> bytes:
    """Read piece after piece until a moment of ``time.perf_counter``.

    Raises
    ------
    TimeoutError
        If it drips on.
    IncompleteRead
        If it is shorter than its length: http.client looks at that only when all is read in one go.
    """
    pieces = []
    # One read of the socket at a time: read() waits until it has all that it asks for, however slowly it drips.
    while piece := response.read1(READ_BYTES):
        pieces.append(piece)
        if time.perf_counter() > deadline:
            raise TimeoutError
    content = b"".join(pieces)
    if response.length:  # what http.client still expects
        raise IncompleteRead(content, response.length)
    # urllib asks for no coding and decodes none; some servers send this one unasked.
    is_coded = response.headers.get("Content-Encoding", "").lower() == "gzip"
    return gzip.decompress(content) if is_coded else content
