"""A long-running origin keeps only recent records, and closes silent connections: its memory does not grow."""

import contextlib
import resource
import select
import socket
import ssl
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from doubles.origin import Origin
from httpdyno.lab.engine import Engine

PATIENCE_S = 300.0
NAMES = 200_000
AT_ONCE = 200
"""DNS queries without an answer: few enough that the kernel drops none."""
CONNECTIONS = 10_000
SLACK_KIB = 4_096
"""Permitted difference of memory, due to the allocator; records of 100,000 names take more."""


def ask_names(port: int, first: int, count: int) -> None:
    """Query a number of different names, over UDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.settimeout(PATIENCE_S)
        datagrams.connect(("127.0.0.1", port))
        for start in range(first, first + count, AT_ONCE):
            for number in range(start, start + AT_ONCE):
                name = f"n{number}".encode()
                question = bytes([len(name)]) + name + b"\x04test\x00" + struct.pack(">HH", 1, 1)
                datagrams.send(struct.pack(">6H", number & 0xFFFF, 0x0100, 1, 0, 0, 0) + question)
            for _ in range(AT_ONCE):
                datagrams.recv(512)


def ask_urls(engine: Engine, folder: Path, port: int, first: int, count: int) -> None:
    """Request a page of a number of different hosts."""
    urls = folder / "urls"
    urls.write_text("".join(f"http://h{number}.test/plain\n" for number in range(first, first + count)))
    argv = ["load", "--urls", str(urls), "--requests", str(count), "--connect-to", f"::127.0.0.1:{port}"]
    argv += ["--no-store"]
    # Connections belong to hosts: none is reused here.
    ran = subprocess.run(
        [engine.path, *argv, "--connections", "50"], capture_output=True, check=False, timeout=PATIENCE_S
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.measured
def test_two_hundred_thousand_names_leave_memory_as_it_was(engine: Engine, tmp_path: Path) -> None:
    origin = Origin(engine, tmp_path, options=["--dns-port", "0", "--control", "off"])
    try:
        half = NAMES // 2
        memory_kib = []
        for first in (0, half):
            ask_names(origin.ports["dns"], first, half)
            ask_urls(engine, tmp_path, origin.ports["http"], first, half)
            memory_kib.append(origin.memory_kib)
        counted = origin.stop()
    finally:
        origin.kill()
    assert counted["dns_queries"] == NAMES
    assert (counted["dns_repeated"], counted["requests"], counted["repeated"]) == (0, NAMES, 0)
    assert memory_kib[1] - memory_kib[0] < SLACK_KIB, memory_kib


@contextlib.contextmanager
def open_files(count: int) -> Iterator[None]:
    """Raise this process's limit of open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard not in (resource.RLIM_INFINITY,) and hard < count:
        pytest.skip(f"this machine lets a process have {hard} files open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def is_closed(stream: socket.socket) -> bool:
    """Whether the peer has closed it."""
    return bool(select.select([stream], [], [], 0)[0]) and stream.recv(1) == b""


def wait_closed(streams: list[socket.socket]) -> None:
    """Wait until the peer has closed all of them."""
    for stream in streams:
        stream.settimeout(PATIENCE_S)
        assert stream.recv(1) == b""


def ask(stream: socket.socket) -> None:
    """Get an answer, and keep the connection."""
    stream.settimeout(PATIENCE_S)
    stream.sendall(b"GET /plain HTTP/1.1\r\nHost: a.test\r\n\r\n")
    answer = b""
    while not answer.endswith(b"Hello, World!"):
        part = stream.recv(4096)
        assert part, answer
        answer += part


def test_one_connection_too_many_closes_the_one_that_was_silent_for_longest(engine: Engine, tmp_path: Path) -> None:
    origin = Origin(engine, tmp_path, options=["--max-connections", "3", "--control", "off"])
    try:
        address = ("127.0.0.1", origin.ports["http"])
        with contextlib.ExitStack() as stack:
            first, second, third = (stack.enter_context(socket.create_connection(address)) for _ in range(3))
            for stream in (first, second, third):
                ask(stream)
            ask(stack.enter_context(socket.create_connection(address)))
            wait_closed([first])
            assert not is_closed(second)
            assert not is_closed(third)
            ask(second)
        counted = origin.stop()
    finally:
        origin.kill()
    assert counted["let_go"] == {"connections": 1}


def test_silent_connections_are_closed_and_those_that_wait_for_an_answer_are_not(
    engine: Engine, tmp_path: Path
) -> None:
    origin = Origin(engine, tmp_path, options=["--idle-timeout", "1s", "--control", "off"])
    try:
        with contextlib.ExitStack() as stack:

            def connect(scheme: str = "http") -> socket.socket:
                return stack.enter_context(socket.create_connection(("127.0.0.1", origin.ports[scheme])))

            waiting = connect()
            waiting.sendall(b"GET /delay/5000 HTTP/1.1\r\nHost: a.test\r\n\r\n")
            silent, asked, half, parked = (connect() for _ in range(4))
            ask(asked)
            half.sendall(b"GET / HT")
            for _ in range(10):
                ask(parked)
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            encrypted = stack.enter_context(context.wrap_socket(connect("https"), server_hostname="a.test"))
            ask(encrypted)
            unshaken = connect("https")
            wait_closed([silent, asked, half, parked, unshaken])
            with contextlib.suppress(ssl.SSLError):
                assert encrypted.recv(1) == b""
            assert waiting.recv(12) == b"HTTP/1.1 200"
        counted = origin.stop()
    finally:
        origin.kill()
    assert counted["let_go"] == {"idle_connections": 6}


@pytest.mark.measured
def test_ten_thousand_idle_connections_are_held_and_let_go(engine: Engine, tmp_path: Path) -> None:
    options = ["--max-connections", str(CONNECTIONS), "--idle-timeout", "20s", "--control", "off"]
    memory_kib = []
    with open_files(CONNECTIONS + 1_000):
        origin = Origin(engine, tmp_path, options=options)
        try:
            for _ in range(3):
                with contextlib.ExitStack() as stack:
                    address = ("127.0.0.1", origin.ports["http"])
                    streams = [stack.enter_context(socket.create_connection(address)) for _ in range(CONNECTIONS)]
                    for stream in streams:
                        ask(stream)
                    memory_kib.append(origin.memory_kib)
                    ask(stack.enter_context(socket.create_connection(address)))
                    wait_closed(streams)
            counted = origin.stop()
        finally:
            origin.kill()
    assert counted["let_go"]["connections"] >= 3
    assert memory_kib[2] - memory_kib[0] < SLACK_KIB, memory_kib
    print(f"{memory_kib[2]} KiB with {CONNECTIONS:,} connections")
