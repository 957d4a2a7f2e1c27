"""Fetches the URLs of stdin with aiohttp and prints one CSV line a URL."""

import asyncio
import json
import math
import os
import re
import resource
import sys
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, ThreadedResolver
from cause import cause_name
from harness import Harness, read_url
from settings import SettingError, Settings, read_settings

READ_BYTES = 65536
IDLE_SECONDS = 1.0
"""How long an idle connection waits for the next URL of its host: a crawl rarely returns to one."""
HEADER_BYTES = 65536
"""The longest header field: on the open web aiohttp's 8190 bytes are too few."""
MAX_REDIRECTS = 11
"""aiohttp gives up at this many redirects, so that ten are followed."""

URL = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)


def main() -> int:
    """Crawl; return the exit status."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"python-aiohttp: {error}", file=sys.stderr)
        return 127
    # An open connection is a descriptor, and the usual soft limit is 1024.
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    # An abandoned lookup still occupies its thread. So the system resolver's two attempts share the time of a request.
    # See resolv.conf(5); its own default is five seconds for each.
    os.environ["RES_OPTIONS"] = f"timeout:{min(5, math.ceil(settings.request_timeout / 2))} attempts:2"
    asyncio.run(time_calls(settings, read_url()) if settings.harness else crawl(settings))
    return 0


async def crawl(settings: Settings) -> None:
    """Fetch every line of stdin, at most ``concurrency`` at a time."""
    slots = asyncio.Semaphore(settings.concurrency)
    # A thread for each name lookup, and one to read stdin; asyncio's default would limit the crawl.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(settings.concurrency + 1))

    async def work(session: ClientSession, line: str) -> None:
        try:
            sys.stdout.buffer.write(await row(session, line, settings))
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os._exit(1)  # the reader closed the pipe
        finally:
            slots.release()

    async with new_session(settings) as session, asyncio.TaskGroup() as tasks:
        async for line in read_lines():
            await slots.acquire()
            tasks.create_task(work(session, line))
    # Returning would wait for the abandoned lookups.
    os._exit(0)


async def time_calls(settings: Settings, url: str) -> None:
    """Time the calls of one URL, and print the result."""
    # A thread for each name lookup, as in a crawl.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(settings.concurrency))
    async with new_session(settings) as session:
        print(
            await Harness(lambda: outcome(session, url, settings), settings.concurrency).line(),
            flush=True,
        )
    os._exit(0)


def new_session(settings: Settings) -> ClientSession:
    """One session for all requests: no limit of its own, no cookies.

    Names go to the system's resolver: c-ares, which aiohttp's documentation recommends, caches each answer for its time
    to live, but the names of a crawl are all different.
    """
    pool = {"force_close": True} if not settings.keepalive else {"keepalive_timeout": IDLE_SECONDS}
    return ClientSession(
        connector=TCPConnector(limit=0, limit_per_host=0, resolver=ThreadedResolver(), **pool),
        cookie_jar=DummyCookieJar(),
        max_line_size=HEADER_BYTES,
        max_field_size=HEADER_BYTES,
        # Above ceil_threshold aiohttp rounds a timeout up to whole seconds.
        timeout=ClientTimeout(total=settings.request_timeout, ceil_threshold=60),
        headers={"User-Agent": settings.user_agent} if settings.user_agent else None,
    )


async def read_lines() -> AsyncIterator[str]:
    """Yield the lines of stdin that are not empty; reads a line only when it is taken."""
    rest = b""
    # A thread, because stdin may be a file, which the event loop cannot watch.
    while chunk := await asyncio.to_thread(os.read, sys.stdin.fileno(), READ_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line := line.removesuffix(b"\r"):
                yield os.fsdecode(line)
    if rest := rest.removesuffix(b"\r"):
        yield os.fsdecode(rest)


async def row(session: ClientSession, line: str, settings: Settings) -> bytes:
    """Fetch one URL: ``url,code,start_time,duration,body_length`` and a line feed, the URL as it was read."""
    start_time = datetime.now(UTC).isoformat(timespec="microseconds")
    start = time.perf_counter()
    code, body_length = await outcome(session, line.strip(), settings)
    duration_ms = (time.perf_counter() - start) * 1e3
    return os.fsencode(f"{line},{code},{start_time},{duration_ms:.3f},{body_length}\n")


async def outcome(session: ClientSession, url: str, settings: Settings) -> tuple[int | str, int]:
    """Return the code and the length of a URL's row."""
    try:
        return await fetch(session, url, settings)
    except Exception as error:  # any error that a server causes affects only this URL's row
        return cause_name(error), 0


async def fetch(session: ClientSession, url: str, settings: Settings) -> tuple[int | str, int]:
    """Return the final status and the decoded length of the content. The session's timeout bounds all of it."""
    if not URL.fullmatch(url):  # aiohttp would repair a blank in the path
        return "InvalidURL", 0
    async with session.request(settings.method, url, data=settings.body, max_redirects=MAX_REDIRECTS) as response:
        if settings.check_json:
            content = await response.read()
            return response.status if is_expected(content) else "CheckFailed", len(content)
        body_length = 0
        async for chunk in response.content.iter_any():
            body_length += len(chunk)
        return response.status, body_length


def is_expected(content: bytes) -> bool:
    """Whether the content is a JSON list whose first document has the required number."""
    try:
        return bool(json.loads(content)[0]["numbers"] == 123123)
    except (ValueError, LookupError, TypeError):
        return False


if __name__ == "__main__":
    sys.exit(main())
