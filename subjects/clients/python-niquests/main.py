"""Fetches the URLs of stdin with Niquests in threads and prints one CSV line a URL."""

import json
import math
import os
import re
import resource
import sys
import threading
import time
from functools import partial

from cause import cause_name
from harness import Harness, read_url
from niquests import Session
from settings import SettingError, Settings, read_settings
from slots import Fetch, Slots

SHORTEST_TIMEOUT = 0.001
"""Seconds; Niquests rejects 0."""
MAX_REDIRECTS = 10

URL = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)


def main() -> int:
    """Crawl; return the exit status."""
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"python-niquests: {error}", file=sys.stderr)
        return 127
    # An open connection is a descriptor, and the usual soft limit is 1024.
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    # An abandoned lookup still occupies its thread. So the system resolver's two attempts share the time of a request.
    # See resolv.conf(5); its own default is five seconds for each.
    os.environ["RES_OPTIONS"] = f"timeout:{min(5, math.ceil(settings.request_timeout / 2))} attempts:2"
    fetch = partial(outcome, Sessions(settings), settings.check_json)
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
    """The session of each thread: its pool keeps the host visited last, as a crawl rarely returns to one.

    Not an AsyncSession: while some hosts hang, its pool delays honest ones beyond their timeout.
    """

    def __init__(self, settings: Settings) -> None:
        self.session = session = Session(
            # HTTP/2 and HTTP/3 are Niquests' own choice, unless one version is required.
            disable_http1=settings.http_version == "2",
            disable_http2=settings.http_version == "1.1",
            disable_http3=settings.http_version != "",
            pool_connections=1,
            pool_maxsize=1,
            allow_incoming_cookies=False,
        )
        session.max_redirects = MAX_REDIRECTS
        if settings.user_agent:
            session.headers["User-Agent"] = settings.user_agent
        self.keepalive = settings.keepalive
        if not settings.keepalive:
            session.headers["Connection"] = "close"


def outcome(sessions: Sessions, check_json: bool, url: str, deadline: float) -> tuple[int | str, int]:
    """Return the code and the length of a URL's row."""
    if not URL.fullmatch(url):  # Niquests would repair a blank in the path
        return "InvalidURL", 0
    try:
        return fetch(sessions.session, url, deadline, check_json=check_json)
    except Exception as error:  # any error that a server causes affects only this URL's row
        return cause_name(error), 0
    finally:
        if not sessions.keepalive:
            # "Connection: close" is HTTP/1.1's: one of HTTP/2 stays open until the pool releases it.
            sessions.session.close()


def fetch(session: Session, url: str, deadline: float, *, check_json: bool) -> tuple[int | str, int]:
    """Return the final status and the decoded length of the content."""
    # Bounds each read of an abandoned thread, so that it ends.
    timeout = max(deadline - time.perf_counter(), SHORTEST_TIMEOUT)
    with session.get(url, timeout=timeout, stream=True) as response:
        content: list[bytes] = []
        body_length = 0
        for chunk in response.iter_content():  # pieces on arrival
            body_length += len(chunk)
            if check_json:
                content.append(chunk)
            if time.perf_counter() > deadline:
                raise TimeoutError
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
