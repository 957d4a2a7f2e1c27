"""A conformance matrix without a run: as many clients and cases as a real one, with transcripts of real length."""

from random import Random
from typing import Any

GROUPS = ("deadlines", "connections", "framing", "codings", "redirects", "tls", "dns", "http2", "fields")
LIBRARIES = {
    "C": ("libcurl (multi)", "curl (a process a request)"),
    "Go": ("net/http", "fasthttp", "resty"),
    "Java": ("HttpClient", "OkHttp", "Apache HttpClient 5"),
    "Node.js": ("fetch", "axios", "got", "undici.request"),
    "Python": ("aiohttp", "httpx", "requests (threads)", "urllib3", "niquests", "pycurl", "curl_cffi"),
    "Ruby": ("Net::HTTP", "excon", "httparty", "http.rb", "typhoeus", "patron", "curb"),
    "Rust": ("hyper", "reqwest", "ureq"),
}
TITLES = (
    "a field value folded over two lines",
    "a certificate of another name",
    "a chunk longer than it says",
    "a redirect to another host with credentials",
    "a response that drips a byte a second",
    "two different Content-Length fields",
    "GOAWAY before the first response",
    "an answer without records, then one with",
)
CLAUSES = (
    "RFC 9112, section 5.2",
    "RFC 9110, section 15.4",
    "RFC 9113, section 6.8",
    "RFC 8446, section 4.4.2.4",
    "RFC 9110, appendix B.3",
    "WHATWG Fetch, HTTP-redirect fetch",
)
CHANCES = {"pass": 70, "lenient": 9, "fail": 8, "unsupported": 6, "unsteady": 3, "hang": 2, "unsafe": 1, "crash": 1}


def client_of(place: int, **changes: Any) -> dict[str, Any]:
    """Return a client, by its place in the matrix."""
    libraries = [(language, method) for language, methods in LIBRARIES.items() for method in methods]
    language, method = libraries[place % len(libraries)]
    round_ = place // len(libraries)
    method = f"{method} ({('', 'one pool', 'HTTP/2')[round_]})" if round_ else method
    return {"id": f"client-{place}", "language": language, "method": method, "version": f"1.{place}.0"} | changes


def case_of(place: int, **changes: Any) -> dict[str, Any]:
    """Return a case, by its place in the matrix."""
    group = GROUPS[place % len(GROUPS)]
    return {
        "id": f"{group}/case-{place}",
        "group": group,
        "title": f"{TITLES[place % len(TITLES)]}, {place}",
        "clause": CLAUSES[place % len(CLAUSES)],
        "level": ("must", "should", "may", "practice")[place % 4],
        "why": "A user agent replaces the fold by spaces before it uses the field; it may also reject the message. "
        "A client that reads the second line as a field of its own can be made to see a field that was never sent.",
        "expected": "200 with 5 bytes, or an error",
        "script": [
            "read a request",
            f"send 61 bytes: HTTP/1.1 200 OK\\r\\nX-Long: a\\r\\n b\\r\\nX-Case: {place}",
            "close",
        ],
    } | changes


def cell_of(client: str, case: str, outcome: str, random: Random, **changes: Any) -> dict[str, Any]:
    """Return a cell whose times and ports are random, as those of a run are."""
    tries = [outcome] * 3 if outcome != "unsteady" else ["pass", "fail", "pass"]
    transcript = []
    at = 0.0
    host = case.replace("/", ".") + ".test"
    for connection in range(1, random.randint(2, 5)):
        port = random.randint(32768, 60999)
        transcript.append(f"+{at:.6f} s connection {connection} (https) opened, TLS 1.3, ALPN h2, from port {port}")
        at += random.random() / 50
        lines = (
            f"GET /{case} HTTP/1.1",
            f"Host: {host}",
            f"User-Agent: {client}/1.0",
            "Accept: */*",
            "Accept-Encoding: gzip, deflate, br",
            f"X-Request: {random.getrandbits(64):016x}",
        )
        transcript.append(f"+{at:.6f} s < " + "".join(line + "\\r\\n" for line in (*lines, "")))
        at += random.random() / 50
        transcript.append(f"+{at:.6f} s > step 2, 61 bytes")
        transcript.append(f"+{at + 0.001:.6f} s closed by the client")
    return {
        "client": client,
        "case": case,
        "outcome": outcome,
        "tries": tries,
        "known": None,
        "reported": [f"200, 5 bytes, {random.randint(1, 400)} ms"],
        "seen": "" if outcome == "pass" else f"expected 5 bytes, got {random.randint(6, 90)}",
        "transcript": transcript,
    } | changes


def matrix_of(
    clients: list[dict[str, Any]], cases: list[dict[str, Any]], cells: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return the JSON of a run."""
    return {
        "schema": 1,
        "date": "2026-11-28",
        "httpdyno": "0.1.0",
        "clients": clients,
        "groups": list(GROUPS),
        "cases": cases,
        "cells": cells,
    }


def large_matrix(clients: int = 45, cases: int = 150) -> dict[str, Any]:
    """Return a matrix with a cell for each pair; the same on every call."""
    random = Random(1)
    columns = [client_of(place) for place in range(clients)]
    rows = [case_of(place) for place in range(cases)]
    outcomes = random.choices(list(CHANCES), list(CHANCES.values()), k=clients * cases)
    # Few cases are unsafe with any client, and most of those with several.
    drawn = iter("fail" if one == "unsafe" else one for one in outcomes)
    cells = []
    for place, row in enumerate(rows):
        for number, column in enumerate(columns):
            outcome = next(drawn)
            if place % 17 == 3 and number % 11 == place % 3:
                outcome = "unsafe"
            cells.append(cell_of(column["id"], row["id"], outcome, random))
    return matrix_of(columns, rows, cells)
