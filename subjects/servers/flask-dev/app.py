"""The Flask application: two documents, and requests that run parallel work."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from flask import Flask, Response, request
from settings import read_settings

MOST = 100
"""The highest count: each needs its threads."""

app = Flask(__name__, static_folder=None)
settings = read_settings(os.environ)
DOCUMENT = Path(__file__).with_name("document.json").read_bytes()


@app.get("/plain")
def plain() -> Response:
    """Return the shortest document."""
    return Response("Hello, World!", mimetype="text/plain")


@app.get("/json")
def document() -> Response:
    """Return the 16 KiB document, unchanged."""
    return Response(DOCUMENT, mimetype="application/json")


@app.route("/", methods=["GET", "POST"])
def workloads() -> Response | tuple[str, int]:
    """Wait for all workloads of a request, in parallel, and return its text once for each."""
    asked = read_request(request.get_data())
    if asked is None:
        return 'content must be {"text": a string, "count": a whole number from 1 to 100}\n', 400
    text, count = asked
    texts = run_in_parallel(text, settings.workloads_s * count, settings.timeout_s)
    return ("timed out\n", 503) if texts is None else app.json.response(texts=texts)


def read_request(content: bytes) -> tuple[str, int] | None:
    """Read a text and how many times its workloads shall run; None if the content is not such a request."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    text, count = value.get("text"), value.get("count")
    # A bool is an int in Python, but not in JSON.
    if not isinstance(text, str) or type(count) is not int or not 1 <= count <= MOST:
        return None
    return text, count


def run_in_parallel(text: str, waits_s: tuple[float, ...], timeout_s: float | None) -> list[str] | None:
    """Run a workload for each wait; None if they are not done in time; they are then cancelled."""
    given_up = threading.Event()

    def workload(wait_s: float) -> str:
        given_up.wait(wait_s)
        return text

    # Blocking work needs a thread in Python: one for each workload, or they would not be parallel.
    with ThreadPoolExecutor(len(waits_s)) as pool:
        futures = [pool.submit(workload, wait_s) for wait_s in waits_s]
        _, late = wait(futures, timeout_s)
        given_up.set()
    return None if late else [future.result() for future in futures]
