"""The contract of servers (subjects/CONTRACT.md), checked for each of them on this machine's loopback."""

import errno
import fcntl
import json
import os
import socket
import sys
import tempfile
import termios
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest

from doubles.claims import require_claims
from httpdyno.judge.conformance import Answer, Request
from httpdyno.lab.conformance import CaseRunner, results_of, try_claims
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.room import Pinning
from httpdyno.lab.server_process import ServerProcess, start_server
from httpdyno.subjects.build import Build

QUICK = {"WORKLOADS_MS": "0,5"}
TEXTS = ["", "a", 'quotes " and \\', "line\nfeed", "\u0000\u001f", "Grüße, Καλημέρα, 👋🏽", "x" * 60_000]
NO_REQUESTS = [
    b"",
    b"{",
    b"text=a&count=1",
    b'{"text": "a", "count": 1',
    b'{"text": "a", "count": 1} and more',
    b"null",
    b"[]",
    b'["a", 1]',
    b"{}",
    b'{"text": "a"}',
    b'{"count": 1}',
    b'{"text": null, "count": 1}',
    b'{"text": 1, "count": 1}',
    b'{"text": "a", "count": null}',
    b'{"text": "a", "count": "1"}',
    b'{"text": "a", "count": true}',
    b'{"text": "a", "count": 1.5}',
    b'{"text": "a", "count": [1]}',
    b'{"text": "a", "count": 0}',
    b'{"text": "a", "count": -1}',
    b'{"text": "a", "count": -99999999999999999999}',
    b'{"text": "\xff", "count": 1}',
    b"[" * 20_000,
]
REFUSED = [
    ("HOST", "nowhere"),
    ("HOST", "300.1.1.1"),
    ("PORT", "0"),
    ("PORT", "65536"),
    ("PORT", "http"),
    ("THREADS", "0"),
    ("THREADS", "-1"),
    ("THREADS", "two"),
    ("WORKERS", "0"),
    ("WORKERS", "1.5"),
    ("WORKLOADS_MS", "5,"),
    ("WORKLOADS_MS", "5, 10"),
    ("WORKLOADS_MS", "-5"),
    ("TIMEOUT_MS", "0"),
    ("TIMEOUT_MS", "1e3"),
]
AT_ONCE = 4
"""Servers that run at the same time where only their end is checked; requests in flight at an end."""
HANG_S = 300.0
"""Patience with what happens soon, on however busy a machine."""
NEVER_MS = 600_000
"""The longest wait that a server must accept: a server that waits for its end at SIGTERM exceeds all patience."""
ESTABLISHED = "01"
NOT_THERE = "/not-there-and-asked-for"


def asked(text: str, count: int) -> bytes:
    return json.dumps({"text": text, "count": count}).encode()


def started(server: ServerProcess) -> ServerProcess:
    assert server.ready(Interruption()), f"it does not answer; it printed: {server.output}"
    return server


def answer(server: ServerProcess, request: Request) -> Answer:
    answer = server.send(request)
    assert answer is not None, f"no answer to {request.method} {request.path}; it printed: {server.output}"
    return answer


def alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + HANG_S
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.01)
    return False


def connected(server: ServerProcess) -> socket.socket:
    """Connect to the server; if all ports are in use, wait for a free one."""
    deadline = time.monotonic() + HANG_S
    while True:
        try:
            return socket.create_connection(("127.0.0.1", int(server.port)), timeout=HANG_S)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def has_read(server: ServerProcess, clients: list[socket.socket]) -> bool:
    """Whether the server has accepted each connection and read all sent data.

    Once true it stays so: sent data is in the server's kernel before its queue is read.
    """
    if any(int.from_bytes(fcntl.ioctl(client, termios.TIOCOUTQ, bytes(4)), sys.byteorder) for client in clients):
        return False
    rows = [line.split() for line in Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    place, asking = hexadecimal(int(server.port)), {hexadecimal(client.getsockname()[1]) for client in clients}
    # The kernel lists a connection twice where one page of the table ends and the next begins.
    read = {
        remote
        for _, local, remote, state, queues, _, _, _, _, inode, *_ in rows
        if (local, state, queues.partition(":")[2]) == (place, ESTABLISHED, "00000000") and inode != "0"
    }
    return asking <= read


def hexadecimal(port: int) -> str:
    """Write a port of 127.0.0.1 as the kernel's table does: another program may have it at another address."""
    return f"0100007F:{port:04X}"


@contextmanager
def in_flight(server: ServerProcess, content: bytes) -> Iterator[None]:
    """Have some requests in flight that the server has read."""
    head = f"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(content)}\r\n\r\n".encode()
    with ExitStack() as stack:
        clients = [stack.enter_context(connected(server)) for _ in range(AT_ONCE)]
        for client in clients:
            client.sendall(head + content)
        assert eventually(lambda: has_read(server, clients)), f"it does not read them; it printed: {server.output}"
        yield


@pytest.fixture(scope="module")
def running(server: Build) -> Iterator[ServerProcess]:
    """Start the server once, for all tests that neither change it nor need another setting."""
    waits = "workloads" in server.subject.capabilities.endpoints
    with start_server(server, QUICK if waits else {}) as process:
        yield started(process)


@pytest.fixture
def waiting(server: Build, running: ServerProcess) -> ServerProcess:
    """Return the server; skip one without work to wait for."""
    if "workloads" not in server.subject.capabilities.endpoints:
        pytest.skip("it serves documents alone")
    return running


@pytest.fixture
def shared() -> Iterator[Path]:
    """Return a folder for temporary files like /tmp: a server may run as another user than the one that starts it."""
    with tempfile.TemporaryDirectory(prefix="server-", dir="/tmp") as folder:
        Path(folder).chmod(0o1777)
        yield Path(folder)


def test_every_claim_holds_and_nothing_is_left_unclaimed(engine: Engine, server: Build) -> None:
    runner = CaseRunner(engine, server, Pinning(), Interruption())
    require_claims(server.subject, results_of(list(try_claims(runner))))


def test_texts_come_back_once_for_each_wait(waiting: ServerProcess) -> None:
    for method in ("POST", "GET"):
        for text in TEXTS:
            for count in (1, 3):
                found = answer(waiting, Request("/", method, asked(text, count)))
                assert (found.status, json.loads(found.content)) == (200, {"texts": [text] * 2 * count})


def test_forms_of_a_request_that_do_not_matter(waiting: ServerProcess) -> None:
    for content in (b' {"count":1,\n"text":"a"}\n', b'{"text":"\\u0061","count":1,"other":[{}]}'):
        found = answer(waiting, Request("/", "POST", content))
        assert (found.status, json.loads(found.content)) == (200, {"texts": ["a", "a"]})
    assert answer(waiting, Request("/", "POST", asked("a", 100))).status == 200


def test_invalid_content_is_refused(waiting: ServerProcess) -> None:
    found = {content[:60]: answer(waiting, Request("/", "POST", content)).status for content in NO_REQUESTS}
    assert found == dict.fromkeys(found, 400)
    assert answer(waiting, Request("/", "GET", b"{")).status == 400
    assert answer(waiting, Request("/")).status == 400
    assert answer(waiting, Request("/", "POST", asked("a", 10**30))).status == 400
    # And it continues.
    assert answer(waiting, Request("/", "POST", asked("a", 1))).status == 200


def test_other_paths_are_not_found(server: Build, running: ServerProcess) -> None:
    paths = ["/nothing", "/plainer", "/json.json", "/document.json", "/main.py"]
    static = "workloads" not in server.subject.capabilities.endpoints
    statuses = {path: answer(running, Request(path)).status for path in [*paths, *(["/"] if static else [])]}
    assert statuses == dict.fromkeys(statuses, 404)


def test_a_target_may_be_a_whole_url(running: ServerProcess) -> None:
    # RFC 9112, 3.2.2: every server must take it; rewrk, the published benchmark's generator, sends no other.
    with socket.create_connection(("127.0.0.1", int(running.port)), timeout=HANG_S) as connection:
        url = f"http://127.0.0.1:{running.port}/plain"
        connection.sendall(f"GET {url} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
        said = b"".join(iter(lambda: connection.recv(65536), b""))
    assert said.startswith(b"HTTP/1.1 200 "), said
    assert b"Hello, World!" in said


def test_a_session_is_not_ended_by_the_server(running: ServerProcess) -> None:
    with closing(HTTPConnection("127.0.0.1", int(running.port), timeout=HANG_S)) as connection:
        connection.connect()
        first = connection.sock
        for _ in range(1_100):  # Apache ends it after 100 by default, nginx after 1,000
            connection.request("GET", "/plain")
            response = connection.getresponse()
            assert response.read() == b"Hello, World!"
            if response.headers.get("Connection") == "close":
                pytest.skip("it keeps no connection, and says so")
        assert connection.sock is first


def test_a_setting_that_cannot_be_honoured_is_named(server: Build) -> None:
    claims = server.subject.capabilities
    settings = [
        *REFUSED,
        *(("THREADS", number) for number in {"": ("1", "2"), "one": ("2",)}.get(claims.threads, ())),
        *(("WORKERS", number) for number in {"": ("1", "2"), "one": ("2",)}.get(claims.workers, ())),
        *([] if "workloads" in claims.endpoints else [("WORKLOADS_MS", "500"), ("TIMEOUT_MS", "500")]),
    ]

    def refusal(setting: tuple[str, str]) -> tuple[int | None, list[str]]:
        name, value = setting
        with start_server(server, {name: value}) as process:
            return process.status(HANG_S), process.output.splitlines()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = dict(zip(settings, pool.map(refusal, settings), strict=True))
    for (name, value), (status, lines) in ends.items():
        assert (status, len(lines)) == (127, 1), (name, value, lines)
        assert name in lines[0], (value, lines)


def test_empty_settings_count_as_missing(server: Build) -> None:
    with start_server(server, dict.fromkeys(("THREADS", "WORKERS", "WORKLOADS_MS", "TIMEOUT_MS"), "")) as process:
        assert answer(started(process), Request("/plain")).status == 200


def test_an_address_that_is_taken_ends_it(server: Build, running: ServerProcess) -> None:
    with start_server(server, {"PORT": running.port}) as second:
        assert second.status(HANG_S) not in {0, 127, -9}, second.output
        assert second.output.strip()


def contents(server: Build) -> list[Path]:
    return sorted(path for path in server.folder.rglob("*") if "__pycache__" not in path.parts)


def test_sigterm_ends_it_and_leaves_nothing(server: Build, shared: Path) -> None:
    before = contents(server)
    with start_server(server, {"TMPDIR": str(shared)}) as process:
        said = started(process).output
        paths = ["/plain", "/json", NOT_THERE] * 10
        for path in paths:
            answer(process, Request(path))
        assert process.end(patience_s=HANG_S) == 0, process.output
        assert eventually(lambda: not alive(process.process.pid))
        # A server that prints a line for each request has done so now; it may print a line about its end.
        more = process.output.removeprefix(said)
        assert NOT_THERE not in more
        assert len(more.splitlines()) < paths.count(NOT_THERE), more
    assert list(shared.iterdir()) == []
    assert contents(server) == before


def test_sigterm_ends_it_in_the_midst_of_requests(server: Build, shared: Path) -> None:
    if "workloads" not in server.subject.capabilities.endpoints:
        pytest.skip("it serves documents alone, none of which takes long")
    before = contents(server)
    with start_server(server, {"TMPDIR": str(shared), "WORKLOADS_MS": str(NEVER_MS)}) as process:
        with in_flight(started(process), asked("a", 1)):
            assert process.end(patience_s=HANG_S) == 0, process.output
        assert eventually(lambda: not alive(process.process.pid))
    assert list(shared.iterdir()) == []
    assert contents(server) == before
