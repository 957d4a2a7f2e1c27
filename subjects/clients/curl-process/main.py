"""Fetches the URLs of stdin with a process of curl for each and prints one CSV line a URL."""

import json
import os
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime

from cause import cause_name
from settings import SettingError, Settings, read_settings

READ_BYTES = 65536
URL = re.compile(rb"https?://[^\s/?#][^\s\0]*", re.IGNORECASE)
HTTP_VERSIONS = {"": [], "1.1": ["--http1.1"], "2": ["--http2-prior-knowledge"]}


def main() -> int:
    """Crawl; return the exit status."""
    if sys.argv[1:] == ["--version"]:
        print(subprocess.run(["curl", "-q", "--version"], capture_output=True, text=True, check=True).stdout.split()[1])
        return 0
    try:
        settings = read_settings(os.environ)
    except SettingError as error:
        print(f"curl-process: {error}", file=sys.stderr)
        return 127
    lines = Lines()
    workers = [threading.Thread(target=work, args=(lines, settings)) for _ in range(settings.concurrency)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return 0


class Lines:
    """The lines of stdin that are not empty, for many threads; one is read when a thread takes it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __iter__(self) -> Iterator[bytes]:
        while True:
            with self._lock:
                line = sys.stdin.buffer.readline()
            if not line:
                return
            if line := line.removesuffix(b"\n").removesuffix(b"\r"):
                yield line


def work(lines: Lines, settings: Settings) -> None:
    """Fetch one URL after the other."""
    for line in lines:
        try:
            # One write a row, so that rows do not interleave.
            os.write(1, row(line, settings))
        except BrokenPipeError:
            os._exit(1)  # the reader closed the pipe


def row(line: bytes, settings: Settings) -> bytes:
    """Fetch one URL: ``url,code,start_time,duration,body_length`` and a line feed, the URL as it was read."""
    start_time = datetime.now(UTC).isoformat(timespec="microseconds")
    start = time.perf_counter()
    try:
        code, body_length = fetch(line.strip(), settings)
    except OSError as error:  # no process could be started: only this URL's row has the error
        code, body_length = type(error).__name__, 0
    duration_ms = (time.perf_counter() - start) * 1e3
    return line + f",{code},{start_time},{duration_ms:.3f},{body_length}\n".encode()


def fetch(url: bytes, settings: Settings) -> tuple[str, int]:
    """Return the final status and the decoded length of the content."""
    if not URL.fullmatch(url):  # curl would guess the scheme
        return "InvalidURL", 0
    deadline = time.monotonic() + settings.request_timeout
    argv = [*curl_argv(settings), b"--url", url]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as curl:
        # curl itself counts content before it is decoded: its decoded length is only known from the pipe.
        chunks, body_length = [], 0
        output = select.poll()
        output.register(curl.stdout, select.POLLIN)
        while True:
            # curl's own limit begins when curl has started, which on a busy machine is late.
            left = deadline - time.monotonic()
            if left <= 0 or not output.poll(left * 1000):
                curl.kill()
                return "TimeoutExpired", 0
            chunk = os.read(curl.stdout.fileno(), READ_BYTES)
            if not chunk:
                break
            body_length += len(chunk)
            if settings.check_json:
                chunks.append(chunk)
        fields = curl.stderr.read().split()
    if curl.returncode != 0:
        return cause_name(curl.returncode), 0
    status, http_version = os.fsdecode(fields[0]), os.fsdecode(fields[1])
    if settings.http_version == "2" and http_version != "2":
        return "NotHTTP2", 0  # over TLS, curl falls back to the server's version
    if settings.check_json and not is_expected(b"".join(chunks)):
        return "CheckFailed", body_length
    return status, body_length


def curl_argv(settings: Settings) -> list[str]:
    """Return the command without its URL."""
    argv = ["curl", "--disable"]  # which must come first: no .curlrc
    argv += ["--silent", "--write-out", "%{stderr}%{http_code} %{http_version}"]
    # Brackets and braces are part of the URL. A redirect to another scheme than HTTP is an error.
    argv += ["--globoff", "--proto", "=http,https", "--proto-redir", "=http,https"]
    argv += ["--location", "--max-redirs", "10", "--compressed"]
    argv += ["--max-time", f"{max(settings.request_timeout, 0.001):.3f}"]  # 0 would disable the limit
    argv += HTTP_VERSIONS[settings.http_version]
    if settings.method == "HEAD":
        argv += ["--head", "--output", os.devnull]  # curl prints the head of an answer as its content
    elif settings.method != "GET":
        # Data alone is a POST: then curl chooses the method after a redirect.
        argv += ["--request", settings.method] if settings.method != "POST" else []
        argv += ["--data-raw", settings.body] if settings.body or settings.method == "POST" else []
    if settings.user_agent:
        argv += ["--user-agent", settings.user_agent]
    if not settings.keepalive:
        argv += ["--header", "Connection: close"]  # without it, a redirect may reuse the connection
    return argv


def is_expected(content: bytes) -> bool:
    """Whether the content is a JSON list whose first document has the required number."""
    try:
        return bool(json.loads(content)[0]["numbers"] == 123123)
    except (ValueError, LookupError, TypeError):
        return False


if __name__ == "__main__":
    sys.exit(main())
