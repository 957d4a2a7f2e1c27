"""Fetches the URLs of stdin with httpx and prints one CSV line a URL."""

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
from http.cookiejar import CookieJar, DefaultCookiePolicy

from cause import cause_name
from harness import Harness, read_url
from httpx import AsyncClient, Limits
from settings import SettingError, Settings, read_settings

READ_BYTES = 65536
IDLE_SECONDS = 1.0
"""How long an idle connection waits for the next URL of its host: a crawl rarely returns to one."""
MAX_REDIRECTS = 10

URL = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)


def main() -> int:
    """Crawl; return the exit status."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"python-httpx: {error}", file=sys.stderr)
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

    async def work(client: AsyncClient, line: str) -> None:
        try:
            sys.stdout.buffer.write(await row(client, line, settings))
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os._exit(1)  # the reader closed the pipe
        finally:
            slots.release()

    async with new_client(settings) as client, asyncio.TaskGroup() as tasks:
        async for line in read_lines():
            await slots.acquire()
            tasks.create_task(work(client, line))
    # Returning would wait for the abandoned lookups.
    os._exit(0)


async def time_calls(settings: Settings, url: str) -> None:
    """Time the calls of one URL, and print the result."""
    # A thread for each name lookup, as in a crawl.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(settings.concurrency))
    async with new_client(settings) as client:
        print(await Harness(lambda: outcome(client, url, settings), settings.concurrency).line(), flush=True)
    os._exit(0)


def new_client(settings: Settings) -> AsyncClient:
    """One client for all requests: no limit of its own, no cookies, redirects followed.

    It has no timeouts: each timeout of httpx bounds one read or one write, which content that drips never exceeds.
    """
    idle = settings.concurrency if settings.keepalive else 0
    return AsyncClient(
        http1=not settings.http2,
        http2=settings.http2,
        timeout=None,
        limits=Limits(max_connections=None, max_keepalive_connections=idle, keepalive_expiry=IDLE_SECONDS),
        follow_redirects=True,
        max_redirects=MAX_REDIRECTS,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
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


async def row(client: AsyncClient, line: str, settings: Settings) -> bytes:
    """Fetch one URL: ``url,code,start_time,duration,body_length`` and a line feed, the URL as it was read."""
    start_time = datetime.now(UTC).isoformat(timespec="microseconds")
    start = time.perf_counter()
    code, body_length = await outcome(client, line.strip(), settings)
    duration_ms = (time.perf_counter() - start) * 1e3
    return os.fsencode(f"{line},{code},{start_time},{duration_ms:.3f},{body_length}\n")


async def outcome(client: AsyncClient, url: str, settings: Settings) -> tuple[int | str, int]:
    """Return the code and the length of a URL's row."""
    try:
        async with asyncio.timeout(settings.request_timeout):
            return await fetch(client, url, settings)
    except Exception as error:  # any error that a server causes affects only this URL's row
        return cause_name(error), 0


async def fetch(client: AsyncClient, url: str, settings: Settings) -> tuple[int | str, int]:
    """Return the final status and the decoded length of the content."""
    if not URL.fullmatch(url):  # httpx would repair a blank in the path
        return "InvalidURL", 0
    async with client.stream(settings.method, url, content=settings.body) as response:
        if settings.check_json:
            content = await response.aread()
            return response.status_code if is_expected(content) else "CheckFailed", len(content)
        body_length = 0
        async for chunk in response.aiter_bytes():
            body_length += len(chunk)
        return response.status_code, body_length


def is_expected(content: bytes) -> bool:
    """Whether the content is a JSON list whose first document has the required number."""
    try:
        return bool(json.loads(content)[0]["numbers"] == 123123)
    except (ValueError, LookupError, TypeError):
        return False


if __name__ == "__main__":
    sys.exit(main())
