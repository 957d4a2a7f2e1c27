"""`httpdyno fetch` over HTTP/2: the requests of its connections, and URLs whose connection a server ends."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from doubles.origin import Origin
from httpdyno.lab.engine import Engine

PATIENCE_S = 300.0

Serve = Callable[[str], Origin]
Fetch = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def serve(engine: Engine, tmp_path: Path) -> Iterator[Serve]:
    """Serve a web on free ports."""
    with ExitStack() as running:

        def begin(web: str) -> Origin:
            origin = Origin(engine, tmp_path, web=web)
            running.callback(origin.kill)
            return origin

        yield begin


@pytest.fixture
def fetch(engine: Engine) -> Iterator[Fetch]:
    """Start `httpdyno fetch` over HTTP/2, with every host at an origin."""
    with ExitStack() as running:

        def begin(origin: Origin, *arguments: str) -> "subprocess.Popen[str]":
            argv = [sys.executable, "-m", "httpdyno", "fetch", "--insecure", "--http-version", "2"]
            to = f":443:127.0.0.1:{origin.ports['https']}"
            environment = os.environ | {"HTTPDYNO_ENGINE": str(engine.path), "REQUEST_TIMEOUT": "60"}
            process = running.enter_context(
                subprocess.Popen(
                    [*argv, "--connect-to", to, *arguments],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            running.callback(process.kill)
            return process

        yield begin


def codes_of(rows: str) -> Counter[str]:
    """Count the rows of each code."""
    return Counter(row.rsplit(",", 4)[1] for row in rows.splitlines())


def test_urls_of_a_host_share_its_connection(serve: Serve, fetch: Fetch) -> None:
    origin = serve("plain")
    process = fetch(origin, "--concurrency", "10")
    assert process.stdin
    assert process.stdout
    # The connection is there before the others come, which are ten at a time on it.
    process.stdin.write("https://a.test/plain\n")
    process.stdin.flush()
    first = process.stdout.readline()
    process.stdin.write("".join(f"https://a.test/delay/100?{number}\n" for number in range(60)))
    process.stdin.close()
    rows = first + process.stdout.read()
    assert process.wait(PATIENCE_S) == 0
    assert codes_of(rows) == {"200": 61}
    seen = origin.stop()
    assert (seen["connections"], seen["requests"], seen["reused"]) == (1, 61, 60)
    assert seen["http_versions"] == {"2": 61}
    assert 1 < seen["peak_concurrency"] <= 10


def test_each_host_has_a_connection_of_its_own(serve: Serve, fetch: Fetch) -> None:
    # They have one address, but different names. One connection at most waits for one URL at a time.
    origin = serve("plain")
    urls = "".join(f"https://host{number // 10}.test/plain?{number}\n" for number in range(30))
    rows, _ = fetch(origin, "--concurrency", "1").communicate(urls, PATIENCE_S)
    assert codes_of(rows) == {"200": 30}
    seen = origin.stop()
    assert (seen["connections"], seen["requests"], seen["reused"]) == (3, 30, 27)


def test_without_keeping_alive_each_url_has_a_connection(serve: Serve, fetch: Fetch) -> None:
    origin = serve("plain")
    urls = "".join(f"https://a.test/plain?{number}\n" for number in range(12))
    rows, _ = fetch(origin, "--concurrency", "4", "--keepalive", "false").communicate(urls, PATIENCE_S)
    assert codes_of(rows) == {"200": 12}
    seen = origin.stop()
    assert (seen["connections"], seen["requests"], seen["reused"]) == (12, 12, 0)


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize(("retries", "asked"), [(0, 4), (2, 12)])
def test_goaway_instead_of_every_answer_is_an_error(
    retries: int, asked: int, concurrency: int, serve: Serve, fetch: Fetch
) -> None:
    # A request that the server has not processed is sent again three times, with each of the requested retries.
    origin = serve("contract")
    urls = "".join(f"https://goaway.test/?{number}\n" for number in range(6)) + "https://http2-empty.test/\n"
    rows, _ = fetch(origin, "--concurrency", str(concurrency), "--retries", str(retries)).communicate(urls, PATIENCE_S)
    assert codes_of(rows) == {"GoAway": 6, "200": 1}
    assert {row.rsplit(",", 1)[1] for row in rows.splitlines()} == {"0"}
    seen = origin.stop()
    assert set(seen["faults"]) == {"goaway"}
    assert seen["statuses"] == {"200": 1}
    # A URL that joins the connection of another one as it ends may find out before its request is sent.
    if concurrency == 1:
        assert (seen["faults"]["goaway"], seen["connections"]) == (6 * asked, 6 * asked + 1)
    else:
        assert 0 < seen["faults"]["goaway"] <= 6 * asked


@pytest.mark.parametrize("concurrency", [1, 10])
def test_what_goaway_left_unanswered_is_asked_again(concurrency: int, serve: Serve, fetch: Fetch) -> None:
    # After each answer the server ends the connection, while further requests may be on their way over it: those were
    # not processed, and go over a new connection without requested retries.
    origin = serve("contract")
    urls = "".join(f"https://http2-closes.test/?{number}\n" for number in range(40))
    rows, _ = fetch(origin, "--concurrency", str(concurrency)).communicate(urls, PATIENCE_S)
    assert codes_of(rows) == {"200": 40}
    assert len({row.rsplit(",", 4)[0] for row in rows.splitlines()}) == 40
    seen = origin.stop()
    assert seen["statuses"] == {"200": 40}
    assert seen["connections"] > 1
