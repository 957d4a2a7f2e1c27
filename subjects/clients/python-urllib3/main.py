"""Fetches the URLs of stdin with urllib3 in threads and prints one CSV line a URL."""

import json
import math
import os
import re
import resource
import ssl
import sys
import time
from functools import partial

from cause import cause_name
from harness import Harness, read_url
from settings import SettingError, Settings, read_settings
from slots import Fetch, Slots
from urllib3 import PoolManager, Retry, Timeout, make_headers

READ_BYTES = 65536
SHORTEST_TIMEOUT = 0.001
"""Seconds; urllib3 rejects 0."""
# Redirects are followed, and there are no retries: a URL has one attempt.
RETRIES = Retry(total=None, redirect=10, connect=0, read=0, status=0, other=0, respect_retry_after_header=False)

URL = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)


def main() -> int:
    """Crawl; return the exit status."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"python-urllib3: {error}", file=sys.stderr)
        return 127
    # An open connection is a descriptor, and the usual soft limit is 1024.
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    # An abandoned lookup still occupies its thread. So the system resolver's two attempts share the time of a request.
    # See resolv.conf(5); its own default is five seconds for each.
    os.environ["RES_OPTIONS"] = f"timeout:{min(5, math.ceil(settings.request_timeout / 2))} attempts:2"
    fetch = partial(outcome, new_pools(settings), settings)
    if settings.harness:
        time_calls(settings, fetch, read_url())
    else:
        Slots(settings.concurrency, settings.request_timeout, fetch).run()
    # Returning would shut down objects that the abandoned threads still use.
    os._exit(0)


def time_calls(settings: Settings, fetch: Fetch, url: str) -> None:
    """Time the calls of one URL, and print the result."""

    def call() -> tuple[int | str, int]:
        return fetch(url, time.perf_counter() + settings.request_timeout)

    print(Harness(call, settings.concurrency).line(), flush=True)


def new_pools(settings: Settings) -> PoolManager:
    """Pools of connections for all threads, to the most recently used hosts, one for each slot."""
    headers = make_headers(accept_encoding=True, user_agent=settings.user_agent or None)
    if not settings.keepalive:
        headers["connection"] = "close"
    return PoolManager(
        num_pools=settings.concurrency,
        maxsize=settings.concurrency,
        headers=headers,
        retries=RETRIES,
        # One for all: else each connection reads the trust store again.
        ssl_context=ssl.create_default_context(),
    )


def outcome(pools: PoolManager, settings: Settings, url: str, deadline: float) -> tuple[int | str, int]:
    """Return the code and the length of a URL's row."""
    if not URL.fullmatch(url):  # urllib3 would repair a blank in the path
        return "InvalidURL", 0
    try:
        return fetch(pools, settings, url, deadline)
    except Exception as error:  # any error that a server causes affects only this URL's row
        return cause_name(error), 0


def fetch(pools: PoolManager, settings: Settings, url: str, deadline: float) -> tuple[int | str, int]:
    """Return the final status and the decoded length of the content."""
    # Bounds each read of an abandoned thread, so that it ends.
    timeout = Timeout(max(deadline - time.perf_counter(), SHORTEST_TIMEOUT))
    with pools.request(settings.method, url, body=settings.body, timeout=timeout, preload_content=False) as response:
        content: list[bytes] = []
        body_length = 0
        # One read of the socket at a time: read() waits until it has all requested bytes, however slowly content drips.
        while chunk := response.read1(READ_BYTES):
            body_length += len(chunk)
            if settings.check_json:
                content.append(chunk)
            if time.perf_counter() > deadline:
                raise TimeoutError
        if settings.check_json and not is_expected(b"".join(content)):
            return "CheckFailed", body_length
        return response.status, body_length


def is_expected(content: bytes) -> bool:
    """Whether the content is a JSON list whose first document has the required number."""
    try:
        return bool(json.loads(content)[0]["numbers"] == 123123)
    except (ValueError, LookupError, TypeError):
        return False


if __name__ == "__main__":
    sys.exit(main())
