"""Fetches the URLs of stdin with curl_cffi and prints one CSV line a URL."""

import asyncio
import json
import math
import os
import re
import resource
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime

from cause import cause_name
from curl_cffi import AsyncSession, CurlInfo, CurlOpt
from harness import Harness, read_url
from settings import SettingError, Settings, read_settings

READ_BYTES = 65536
IDLE_SECONDS = 1
"""How long an idle connection waits for the next URL of its host: a crawl rarely returns to one."""
MAX_REDIRECTS = 10
SHORTEST_TIMEOUT = 0.001
"""Seconds: curl_cffi counts whole milliseconds, and 0 would disable it."""
HTTP_VERSIONS = {"": None, "1.1": "v1", "2": "v2_prior_knowledge"}

URL = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)


def main() -> int:
    """Crawl; return the exit status."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"python-curl-cffi: {error}", file=sys.stderr)
        return 127
    # An open connection is a descriptor, and the usual soft limit is 1024.
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    # libcurl leaves an abandoned lookup to its thread. So the system resolver's two attempts share the time of a
    # request. See resolv.conf(5); its own default is five seconds for each.
    os.environ["RES_OPTIONS"] = f"timeout:{min(5, math.ceil(settings.request_timeout / 2))} attempts:2"
    asyncio.run(time_calls(settings, read_url()) if settings.harness else crawl(settings))
    return 0


async def crawl(settings: Settings) -> None:
    """Fetch every line of stdin, at most ``concurrency`` at a time."""
    slots = asyncio.Semaphore(settings.concurrency)

    async def work(session: AsyncSession, line: str) -> None:
        try:
            sys.stdout.buffer.write(await row(session, line, check_json=settings.check_json))
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
    async with new_session(settings) as session:
        print(
            await Harness(lambda: outcome(session, url, check_json=settings.check_json), settings.concurrency).line(),
            flush=True,
        )
    os._exit(0)


def new_session(settings: Settings) -> AsyncSession:
    """One session for all requests, with a handle of libcurl's for each slot; it impersonates no browser."""
    return AsyncSession(
        max_clients=settings.concurrency,
        timeout=max(settings.request_timeout, SHORTEST_TIMEOUT),
        max_redirects=MAX_REDIRECTS,
        http_version=HTTP_VERSIONS[settings.http_version],
        headers={"User-Agent": settings.user_agent} if settings.user_agent else None,
        curl_options={
            CurlOpt.MAXAGE_CONN: IDLE_SECONDS,
            CurlOpt.DNS_CACHE_TIMEOUT: IDLE_SECONDS,
            CurlOpt.FORBID_REUSE: int(not settings.keepalive),
        },
        curl_infos=[CurlInfo.OS_ERRNO],
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


async def row(session: AsyncSession, line: str, *, check_json: bool) -> bytes:
    """Fetch one URL: ``url,code,start_time,duration,body_length`` and a line feed, the URL as it was read."""
    start_time = datetime.now(UTC).isoformat(timespec="microseconds")
    start = time.perf_counter()
    code, body_length = await outcome(session, line.strip(), check_json=check_json)
    duration_ms = (time.perf_counter() - start) * 1e3
    return os.fsencode(f"{line},{code},{start_time},{duration_ms:.3f},{body_length}\n")


async def outcome(session: AsyncSession, url: str, *, check_json: bool) -> tuple[int | str, int]:
    """Return the code and the length of a URL's row."""
    try:
        return await fetch(session, url, check_json=check_json)
    except Exception as error:  # any error that a server causes affects only this URL's row
        return cause_name(error), 0


async def fetch(session: AsyncSession, url: str, *, check_json: bool) -> tuple[int | str, int]:
    """Return the final status and the decoded length of the content. The session's timeout bounds all of it."""
    if not URL.fullmatch(url):  # libcurl would guess some schemes, and fetch others than HTTP
        return "InvalidURL", 0
    content: list[bytes] = []
    body_length = 0

    def keep(chunk: bytes) -> None:
        nonlocal body_length
        body_length += len(chunk)
        if check_json:
            content.append(chunk)

    # A callback, not a stream: the timeout of a stream does not cover its content.
    response = await session.get(url, content_callback=keep, discard_cookies=True)
    if check_json and not is_expected(b"".join(content)):
        return "CheckFailed", body_length
    return response.status_code, body_length


def is_expected(content: bytes) -> bool:
    """Whether the content is a JSON list whose first document has the required number."""
    try:
        return bool(json.loads(content)[0]["numbers"] == 123123)
    except (ValueError, LookupError, TypeError):
        return False


if __name__ == "__main__":
    sys.exit(main())
