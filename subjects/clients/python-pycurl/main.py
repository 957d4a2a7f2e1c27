"""Fetches the URLs of stdin with PycURL and prints one CSV line a URL."""

import asyncio
import json
import math
import os
import re
import resource
import ssl
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pycurl
from cause import cause_name
from harness import Harness, read_url
from settings import SettingError, Settings, read_settings

READ_BYTES = 65536
IDLE_SECONDS = 1
"""How long an idle connection waits for the next URL of its host: a crawl rarely returns to one."""
MAX_REDIRECTS = 10

URL = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)


def main() -> int:
    """Crawl; return the exit status."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"python-pycurl: {error}", file=sys.stderr)
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
    handles = new_handles(settings)

    async def work(multi: pycurl.AsyncCurlMulti, curl: pycurl.Curl, line: str) -> None:
        try:
            sys.stdout.buffer.write(await row(multi, curl, line, settings))
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            os._exit(1)  # the reader closed the pipe
        finally:
            handles.put_nowait(curl)

    # CurlMulti driven by its socket API, as PycURL's documentation recommends for asyncio.
    async with pycurl.AsyncCurlMulti() as multi, asyncio.TaskGroup() as tasks:
        multi.setopt(pycurl.M_MAXCONNECTS, settings.concurrency)
        async for line in read_lines():
            tasks.create_task(work(multi, await handles.get(), line))
    # Returning would wait for the abandoned lookups.
    os._exit(0)


async def time_calls(settings: Settings, url: str) -> None:
    """Time the calls of one URL, and print the result."""
    handles = new_handles(settings)
    async with pycurl.AsyncCurlMulti() as multi:
        multi.setopt(pycurl.M_MAXCONNECTS, settings.concurrency)

        async def call() -> tuple[int | str, int]:
            curl = handles.get_nowait()
            try:
                return await outcome(multi, curl, url, check_json=settings.check_json)
            finally:
                handles.put_nowait(curl)

        print(await Harness(call, settings.concurrency).line(), flush=True)
    os._exit(0)


def new_handles(settings: Settings) -> asyncio.Queue[pycurl.Curl]:
    """Return a handle for each slot, reused for each URL; the multi handle keeps connections and names."""
    handles: asyncio.Queue[pycurl.Curl] = asyncio.Queue()
    for _ in range(settings.concurrency):
        handles.put_nowait(new_handle(settings))
    return handles


def new_handle(settings: Settings) -> pycurl.Curl:
    """Return a handle with every option but the URL."""
    curl = pycurl.Curl()
    curl.setopt(pycurl.TIMEOUT_MS, math.ceil(settings.request_timeout * 1000))
    curl.setopt(pycurl.NOSIGNAL, 1)
    curl.setopt(pycurl.FOLLOWLOCATION, 1)
    curl.setopt(pycurl.MAXREDIRS, MAX_REDIRECTS)
    curl.setopt(pycurl.REDIR_PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS)
    curl.setopt(pycurl.ACCEPT_ENCODING, "")  # all codings that this libcurl decodes
    curl.setopt(pycurl.MAXAGE_CONN, IDLE_SECONDS)
    curl.setopt(pycurl.DNS_CACHE_TIMEOUT, IDLE_SECONDS)
    curl.setopt(pycurl.FORBID_REUSE, not settings.keepalive)
    if settings.user_agent:
        curl.setopt(pycurl.USERAGENT, settings.user_agent)
    if settings.http_version == "1.1":
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_1_1)
    elif settings.http_version == "2":
        curl.setopt(pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE)
    # The libcurl of PycURL's wheel uses the trust store path of the machine that built it.
    store = ssl.get_default_verify_paths()
    if store.cafile:
        curl.setopt(pycurl.CAINFO, store.cafile)
    elif store.capath:
        curl.setopt(pycurl.CAPATH, store.capath)
    return curl


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


async def row(multi: pycurl.AsyncCurlMulti, curl: pycurl.Curl, line: str, settings: Settings) -> bytes:
    """Fetch one URL: ``url,code,start_time,duration,body_length`` and a line feed, the URL as it was read."""
    start_time = datetime.now(UTC).isoformat(timespec="microseconds")
    start = time.perf_counter()
    code, body_length = await outcome(multi, curl, line.strip(), check_json=settings.check_json)
    duration_ms = (time.perf_counter() - start) * 1e3
    return os.fsencode(f"{line},{code},{start_time},{duration_ms:.3f},{body_length}\n")


async def outcome(
    multi: pycurl.AsyncCurlMulti, curl: pycurl.Curl, url: str, *, check_json: bool
) -> tuple[int | str, int]:
    """Return the code and the length of a URL's row."""
    try:
        return await fetch(multi, curl, url, check_json=check_json)
    except Exception as error:  # any error that a server causes affects only this URL's row
        return cause_name(error, curl), 0


async def fetch(
    multi: pycurl.AsyncCurlMulti, curl: pycurl.Curl, url: str, *, check_json: bool
) -> tuple[int | str, int]:
    """Return the final status and the decoded length of the content. The handle's timeout bounds all of it."""
    if not URL.fullmatch(url):  # libcurl would guess some schemes, and fetch others than HTTP
        return "InvalidURL", 0
    content: list[bytes] = []
    body_length = 0

    def write(chunk: bytes) -> None:
        nonlocal body_length
        body_length += len(chunk)
        if check_json:
            content.append(chunk)

    curl.setopt(pycurl.URL, os.fsencode(url))
    curl.setopt(pycurl.WRITEFUNCTION, write)
    await multi.perform(curl)
    if check_json and not is_expected(b"".join(content)):
        return "CheckFailed", body_length
    return curl.getinfo(pycurl.RESPONSE_CODE), body_length


def is_expected(content: bytes) -> bool:
    """Whether the content is a JSON list whose first document has the required number."""
    try:
        return bool(json.loads(content)[0]["numbers"] == 123123)
    except (ValueError, LookupError, TypeError):
        return False


if __name__ == "__main__":
    sys.exit(main())
