"""Fetches the URLs of stdin with Requests in threads and prints one CSV line a URL."""

import json
import math
import os
import re
import resource
import sys
import threading
import time
from functools import partial
from http.cookiejar import DefaultCookiePolicy

from cause import cause_name
from harness import Harness, read_url
from requests import Session
from requests.adapters import HTTPAdapter
from settings import SettingError, Settings, read_settings
from slots import Fetch, Slots

READ_BYTES = 65536
SHORTEST_TIMEOUT = 0.001
"""Seconds; Requests rejects 0."""
MAX_REDIRECTS = 10

URL = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)


def main() -> int:
    """Crawl; return the exit status."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"python-requests-threads: {error}", file=sys.stderr)
        return 127
    # An open connection is a descriptor, and the usual soft limit is 1024.
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    # An abandoned lookup still occupies its thread. So the system resolver's two attempts share the time of a request.
    # See resolv.conf(5); its own default is five seconds for each.
    os.environ["RES_OPTIONS"] = f"timeout:{min(5, math.ceil(settings.request_timeout / 2))} attempts:2"
    fetch = partial(outcome, Sessions(settings), settings)
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


class Sessions(threading.local):
    """The session of each thread: Requests does not guarantee that threads may share one."""

    def __init__(self, settings: Settings) -> None:
        self.session = session = Session()
        session.max_redirects = MAX_REDIRECTS
        session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        # The host visited last: a crawl rarely returns to one, and every thread has a session.
        adapter = HTTPAdapter(pool_connections=1, pool_maxsize=1)
        session.mount("https://", adapter)
        session.mount("http://", adapter)
        if settings.user_agent:
            session.headers["User-Agent"] = settings.user_agent
        if not settings.keepalive:
            session.headers["Connection"] = "close"


def outcome(sessions: Sessions, settings: Settings, url: str, deadline: float) -> tuple[int | str, int]:
    """Return the code and the length of a URL's row."""
    if not URL.fullmatch(url):  # Requests would repair a blank in the path
        return "InvalidURL", 0
    try:
        return fetch(sessions.session, settings, url, deadline)
    except Exception as error:  # any error that a server causes affects only this URL's row
        return cause_name(error), 0


def fetch(session: Session, settings: Settings, url: str, deadline: float) -> tuple[int | str, int]:
    """Return the final status and the decoded length of the content."""
    # Bounds each read of an abandoned thread, so that it ends.
    timeout = max(deadline - time.perf_counter(), SHORTEST_TIMEOUT)
    with session.request(settings.method, url, data=settings.body, timeout=timeout, stream=True) as response:
        content: list[bytes] = []
        body_length = 0
        # One read of the socket at a time: iter_content() waits until a piece is full, however slowly content drips.
        while chunk := response.raw.read1(READ_BYTES, decode_content=True):
            body_length += len(chunk)
            if settings.check_json:
                content.append(chunk)
            if time.perf_counter() > deadline:
                raise TimeoutError
        if settings.check_json and not is_expected(b"".join(content)):
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
