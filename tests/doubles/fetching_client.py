"""A client that sends real requests, for tests that put it into a folder of its own."""

from typing import Final

__all__ = ["FETCHES"]

FETCHES: Final = """
import http.client, os, sys, threading, time, urllib.request
from datetime import datetime, timezone
lock = threading.Lock()

def fetch(url):
    # The duration counts from before the start: the request lies within the two, whatever takes the CPU in between.
    began, start = time.monotonic(), datetime.now(timezone.utc)
    try:
        request = urllib.request.Request(url, headers={"User-Agent": os.environ["USER_AGENT"]})
        with urllib.request.urlopen(request, timeout=float(os.environ["REQUEST_TIMEOUT"])) as answer:
            code, length = answer.status, len(answer.read())
    except Exception as error:
        code, length = type(error).__name__, 0
    took = 1000 * (time.monotonic() - began)
    with lock:
        print(f"{url},{code},{start.isoformat(timespec='microseconds')},{took:.3f},{length}", flush=True)

def work():
    while True:
        with lock_in:
            line = sys.stdin.readline()
        if not line:
            return
        fetch(line.strip())

lock_in = threading.Lock()
threads = [threading.Thread(target=work) for _ in range(int(os.environ["CONCURRENCY"]))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
"""A correct client of urllib and threads."""
