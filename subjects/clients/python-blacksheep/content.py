"""Reads the content of a BlackSheep answer to its end, and decodes it."""

import gzip

from blacksheep import Response
from blacksheep.client.connection import ConnectionClosedError


async def read_content(response: Response) -> bytes:
    """Read all of it, and check the error that BlackSheep records but does not raise.

    Raises
    ------
    ConnectionClosedError
        If the content is truncated.
    """
    content = b"".join([piece async for piece in response.stream()])
    error = response.content.exc
    # Content with neither ends with its connection.
    is_framed = response.headers.contains(b"content-length") or response.headers.contains(b"transfer-encoding")
    if error is not None and (is_framed or not isinstance(error, ConnectionClosedError)):
        raise error
    # BlackSheep requests no coding and decodes none; some servers send this one anyway.
    is_coded = (response.get_first_header(b"content-encoding") or b"").lower() == b"gzip"
    return gzip.decompress(content) if is_coded else content
