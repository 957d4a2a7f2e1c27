"""Fetches the URLs of stdin with urllib in an executor and prints one CSV line a URL."""

import asyncio
import json
import math
import os
import re
import resource
import ssl
import string
import sys
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.client import InvalidURL
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from cause import cause_name
from content import read_content
from harness import Harness, read_url
from settings import SettingError, Settings, read_settings

READ_BYTES = 65536
SHORTEST_TIMEOUT = 0.001
"""Seconds; 0 makes a socket non-blocking."""
THREADS_PER_SLOT = 4
"""An abandoned thread ends at its socket's timeout; until then its slot has another."""
MAX_REDIRECTS = 10

URL = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)


def main() -> int:
    """Crawl; return the exit status."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"python-urllib-executor: {error}", file=sys.stderr)
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
    # asyncio's own executor, which reads stdin, has too few threads.
    executor = ThreadPoolExecutor(THREADS_PER_SLOT * settings.concurrency)
    opener = new_opener(settings)

    async def work(line: str) -> None:
        try:
            sys.stdout.buffer.write(await row(executor, opener, line, settings))
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os._exit(1)  # the reader closed the pipe
        finally:
            slots.release()

    async with asyncio.TaskGroup() as tasks:
        async for line in read_lines():
            await slots.acquire()
            tasks.create_task(work(line))
    # Returning would wait for the abandoned threads.
    os._exit(0)


async def time_calls(settings: Settings, url: str) -> None:
    """Time the calls of one URL, and print the result."""
    executor = ThreadPoolExecutor(THREADS_PER_SLOT * settings.concurrency)
    opener = new_opener(settings)
    print(await Harness(lambda: outcome(executor, opener, url, settings), settings.concurrency).line(), flush=True)
    os._exit(0)


class Redirects(HTTPRedirectHandler):
    """Follows ten redirects, to any host, in the remaining time."""

    max_repeats = max_redirections = MAX_REDIRECTS + 1  # urllib's own limits, too high to matter

    def redirect_request(self, request: Request, *answer: object) -> Request | None:
        target = super().redirect_request(request, *answer)
        if target is not None:
            target.deadline = request.deadline
            target.redirects = request.redirects + 1
            if target.redirects > MAX_REDIRECTS:
                raise URLError("too many redirects")
            request.timeout = time_left(request.deadline)  # urllib opens the target with it
        return target


def new_opener(settings: Settings) -> OpenerDirector:
    """One opener for all requests."""
    # One context for all: else each connection reads the trust store again.
    opener = build_opener(Redirects, HTTPSHandler(context=ssl.create_default_context()))
    if settings.user_agent:
        opener.addheaders = [("User-Agent", settings.user_agent)]
    return opener


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


async def row(executor: ThreadPoolExecutor, opener: OpenerDirector, line: str, settings: Settings) -> bytes:
    """Fetch one URL: ``url,code,start_time,duration,body_length`` and a line feed, the URL as it was read."""
    start_time = datetime.now(UTC).isoformat(timespec="microseconds")
    start = time.perf_counter()
    code, body_length = await outcome(executor, opener, line.strip(), settings)
    duration_ms = (time.perf_counter() - start) * 1e3
    return os.fsencode(f"{line},{code},{start_time},{duration_ms:.3f},{body_length}\n")


async def outcome(
    executor: ThreadPoolExecutor, opener: OpenerDirector, url: str, settings: Settings
) -> tuple[int | str, int]:
    """Return the code and the length of a URL's row."""
    deadline = time.perf_counter() + settings.request_timeout
    try:
        # urllib's timeout bounds one connection attempt or one read; this one bounds the whole fetch, name lookup
        # included.
        async with asyncio.timeout(settings.request_timeout):
            loop = asyncio.get_running_loop()
            status, content = await loop.run_in_executor(executor, fetch, opener, url, deadline)
        code = "CheckFailed" if settings.check_json and not is_expected(content) else status
        return code, len(content)
    except Exception as error:  # any error that a server causes affects only this URL's row
        return cause_name(error), 0


def fetch(opener: OpenerDirector, url: str, deadline: float) -> tuple[int, bytes]:
    """Return the final status and the content after decoding."""
    if not URL.fullmatch(url):  # urllib would open files too
        raise InvalidURL
    # As urllib itself does with the URL of a redirect: http.client sends ASCII alone.
    request = Request(quote(url, safe=string.punctuation, errors="surrogateescape"))
    request.deadline, request.redirects = deadline, 0
    try:
        response = opener.open(request, timeout=time_left(deadline))
    except HTTPError as error:  # any status but 2xx is an answer too
        response = error
    with response:
        return response.status, read_content(response, deadline)


def time_left(deadline: float) -> float:
    """Return the seconds until a moment of ``time.perf_counter``, for a socket's timeout."""
    return max(deadline - time.perf_counter(), SHORTEST_TIMEOUT)


def is_expected(content: bytes) -> bool:
    """Whether the content is a JSON list whose first document has the required number."""
    try:
        return bool(json.loads(content)[0]["numbers"] == 123123)
    except (ValueError, LookupError, TypeError):
        return False


if __name__ == "__main__":
    sys.exit(main())
