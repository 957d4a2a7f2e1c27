"""The Starlette application: two documents, and requests that run parallel work."""

import asyncio
import json
import logging
import os
from pathlib import Path

from settings import read_settings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

MOST = 100
"""The highest count."""
DOCUMENT = Path(__file__).with_name("document.json").read_bytes()
settings = read_settings(os.environ)


async def plain(_: Request) -> Response:
    """Return the shortest document."""
    return PlainTextResponse("Hello, World!")


async def document(_: Request) -> Response:
    """Return the 16 KiB document, unchanged."""
    return Response(DOCUMENT, media_type="application/json")


async def workloads(request: Request) -> Response:
    """Wait for all workloads of a request, in parallel, and return its text once for each."""
    asked = read_request(await request.body())
    if asked is None:
        return PlainTextResponse(
            'content must be {"text": a string, "count": a whole number from 1 to 100}\n', status_code=400
        )
    text, count = asked
    try:
        # Cancels the remaining waits.
        async with asyncio.timeout(settings.timeout_s):
            texts = await asyncio.gather(*(workload(text, wait_s) for wait_s in settings.workloads_s * count))
    except TimeoutError:
        return PlainTextResponse("timed out\n", status_code=503)
    return JSONResponse({"texts": texts})


async def workload(text: str, wait_s: float) -> str:
    """Wait, and return the text."""
    await asyncio.sleep(wait_s)
    return text


def read_request(content: bytes) -> tuple[str, int] | None:
    """Read a text and how many times its workloads shall run; None if the content is not such a request."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    text, count = value.get("text"), value.get("count")
    # A bool is an int in Python, but not in JSON.
    if not isinstance(text, str) or type(count) is not int or not 1 <= count <= MOST:
        return None
    return text, count


def is_failure(record: logging.LogRecord) -> bool:
    """Log errors, but not cancellations at SIGTERM, which would give a line for each request in flight."""
    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, asyncio.CancelledError) and not record.msg.startswith("Cancel ")


logging.getLogger("uvicorn.error").addFilter(is_failure)
app = Starlette(
    routes=[
        Route("/plain", plain),
        Route("/json", document),
        Route("/", workloads, methods=["GET", "POST"]),
    ]
)
