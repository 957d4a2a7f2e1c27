"""Servers that misbehave, each path in its own way; as a program it prints its port and serves until it is ended."""

import random
import socket
import socketserver
import struct
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import chain, count, repeat

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n"
HELLO = OK + b"Content-Length: 5\r\n\r\nhello"
PIECE = 64 << 10
MEBIBYTE = 1 << 20
SLOW_S = 0.05
"""Pause between two bytes of slow behaviours: shorter than any timeout, and without an end."""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

Bytes = Iterator[bytes]


def _endless(start: bytes, again: bytes) -> Callable[[str], Bytes]:
    """Send a start, then the same for ever."""
    many = again * max(1, PIECE // len(again))
    return lambda _: chain([start], repeat(many))


def _once(answer: bytes) -> Callable[[str], Bytes]:
    return lambda _: iter([answer])


def _slow(start: bytes, again: bytes) -> Callable[[str], Bytes]:
    def send(_: str) -> Bytes:
        yield start
        for byte in repeat(again):
            time.sleep(SLOW_S)
            yield byte

    return send


def _chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


def _bomb(window: int, name: bytes) -> Callable[[str], Bytes]:
    """Send zeros without end, each mebibyte of them as a kibibyte."""
    coder = zlib.compressobj(9, zlib.DEFLATED, window)
    head = coder.compress(b"") + coder.flush(zlib.Z_SYNC_FLUSH)
    # After a full flush, the same zeros are the same bytes.
    coder.compress(bytes(MEBIBYTE))
    coder.flush(zlib.Z_FULL_FLUSH)
    zeros = coder.compress(bytes(MEBIBYTE)) + coder.flush(zlib.Z_FULL_FLUSH)
    start = CHUNKED + b"Content-Encoding: " + name + b"\r\n\r\n" + _chunk(head)
    return _endless(start, _chunk(zeros))


def _chain(path: str) -> Bytes:
    """Redirect to a new location each time."""
    number = int(path.partition("?")[2] or 0) + 1
    yield b"HTTP/1.1 302 Found\r\nLocation: /redirect-chain?%d\r\nContent-Length: 0\r\n\r\n" % number


def _garbage(_: str) -> Bytes:
    chance = random.Random(1)
    return (chance.randbytes(PIECE) for _ in count())


BEHAVIOURS: dict[str, Callable[[str], Bytes]] = {
    "honest": _once(HELLO),
    "garbage": _garbage,
    "another-protocol": _once(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "empty-lines": _endless(b"", b"\r\n"),
    "endless-reason": _endless(b"HTTP/1.1 200 ", b"a"),
    "endless-headers": _endless(OK, b"a: b\r\n"),
    "endless-header": _endless(OK + b"a: ", b"a"),
    "endless-interim": _endless(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "endless-body": _endless(OK + b"\r\n", bytes(PIECE)),
    "endless-chunks": _endless(CHUNKED + b"\r\n", _chunk(bytes(PIECE))),
    "endless-small-chunks": _endless(CHUNKED + b"\r\n", b"1\r\na\r\n"),
    "endless-chunk-extension": _endless(CHUNKED + b"\r\n5;", b"a=b;"),
    "endless-chunk-size": _endless(CHUNKED + b"\r\n", b"0"),
    "endless-trailers": _endless(CHUNKED + b"\r\n0\r\n", b"a: b\r\n"),
    "length-of-a-petabyte": _endless(OK + b"Content-Length: 1000000000000000\r\n\r\n", bytes(PIECE)),
    "length-beyond-64-bits": _once(OK + b"Content-Length: 18446744073709551616\r\n\r\nhello"),
    "length-below-zero": _once(OK + b"Content-Length: -5\r\n\r\nhello"),
    "two-lengths": _once(OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!"),
    "length-too-long": _once(OK + b"Content-Length: 9\r\n\r\nhello"),
    "length-too-short": _once(OK + b"Content-Length: 2\r\n\r\nhello"),
    "chunk-beyond-64-bits": _once(CHUNKED + b"\r\n10000000000000000\r\nhello"),
    "chunk-of-all-64-bits": _once(CHUNKED + b"\r\nffffffffffffffff\r\nhello"),
    "gzip-bomb": _bomb(31, b"gzip"),
    "deflate-bomb": _bomb(15, b"deflate"),
    "coding-of-nonsense": _once(OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello"),
    "redirect-to-itself": _once(b"HTTP/1.1 301 Moved\r\nLocation: /redirect-to-itself\r\nContent-Length: 0\r\n\r\n"),
    "redirect-chain": _chain,
    "redirect-to-nonsense": _once(b"HTTP/1.1 301 Moved\r\nLocation: http://[x/\r\nContent-Length: 0\r\n\r\n"),
    "redirect-of-a-mebibyte": _once(b"HTTP/1.1 301 Moved\r\nLocation: /" + b"a" * MEBIBYTE + b"\r\n\r\n"),
    "switched-protocols": _endless(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", bytes(PIECE)),
    "content-where-none-is": _once(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n" + HELLO),
    "slow-head": _slow(OK, b"a"),
    "slow-body": _slow(OK + b"Content-Length: 100000\r\n\r\n", b"a"),
    "slow-chunks": _slow(CHUNKED + b"\r\n", b"1\r\na\r\n"),
    "silence": lambda _: iter(lambda: time.sleep(SLOW_S) or b"", None),
    "nothing": _once(b""),
}
"""Answer to a request of that path; then the connection is closed."""


def _frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return struct.pack(">I", len(content))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + content


SETTINGS = _frame(4, 0, 0)
DATA, HEADERS, RESET, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 6, 7, 8, 9
END_OF_HEADERS = 4
STATUS_200 = b"\x88"
RUBBISH: dict[str, tuple[bytes, bytes]] = {
    "frames-of-garbage": (SETTINGS, bytes(range(256)) * 16),
    "endless-settings": (SETTINGS, SETTINGS),
    "endless-pings": (SETTINGS, _frame(PING, 0, 0, bytes(8))),
    "endless-continuations": (
        SETTINGS + _frame(HEADERS, 0, 1, STATUS_200),
        _frame(CONTINUATION, 0, 1, b"\x00\x01a\x01b"),
    ),
    "headers-of-nothing": (SETTINGS, _frame(HEADERS, END_OF_HEADERS, 1, STATUS_200 + bytes(16_000))),
    "endless-data": (SETTINGS + _frame(HEADERS, END_OF_HEADERS, 1, STATUS_200), _frame(DATA, 0, 1, bytes(16_384))),
    "endless-empty-data": (SETTINGS + _frame(HEADERS, END_OF_HEADERS, 1, STATUS_200), _frame(DATA, 0, 1)),
    "unrequested-streams": (SETTINGS, _frame(HEADERS, END_OF_HEADERS, 2, STATUS_200)),
    "windows-beyond-bounds": (SETTINGS, _frame(WINDOW, 0, 0, struct.pack(">I", 0x7FFFFFFF))),
    "endless-goodbyes": (SETTINGS, _frame(GOAWAY, 0, 0, struct.pack(">II", 0x7FFFFFFF, 0))),
    "endless-resets": (SETTINGS, _frame(RESET, 0, 1, struct.pack(">I", 8))),
    "frame-too-long": (SETTINGS, b"\xff\xff\xff" + bytes(6) + bytes(PIECE)),
}
"""Answer to the preface of HTTP/2: once, and then for ever. The n-th connection of a server gets the n-th kind."""


class Server(socketserver.ThreadingTCPServer):
    """On every address of the loopback device, so that each behaviour can be a host of its own."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 1_000

    def __init__(self, bytes_per_s: float = 0) -> None:
        super().__init__(("0.0.0.0", 0), Handler)
        self.bytes_per_s = bytes_per_s
        self.rubbish = count()
        self.port = int(self.server_address[1])

    def verify_request(self, request: object, client_address: object) -> bool:
        """Answer only this machine."""
        del request
        return isinstance(client_address, tuple) and str(client_address[0]).startswith("127.")

    def handle_error(self, request: object, client_address: object) -> None:
        """Log nothing: the client has disconnected."""

    def urls(self) -> list[str]:
        """Return the URL of each behaviour."""
        return [f"http://127.0.1.{number}:{self.port}/{name}" for number, name in enumerate(BEHAVIOURS, 1)]


class Handler(socketserver.BaseRequestHandler):
    """Misbehaves on one connection."""

    server: Server

    def handle(self) -> None:
        """Read a request, and answer by its path."""
        connection: socket.socket = self.request
        connection.settimeout(60)
        received = b""
        while b"\r\n\r\n" not in received:
            piece = connection.recv(PIECE)
            if not piece:
                return
            received += piece
        if received.startswith(PREFACE[:14]):
            start, again = list(RUBBISH.values())[next(self.server.rubbish) % len(RUBBISH)]
            answer = chain([start], repeat(again * max(1, PIECE // len(again))))
        else:
            path = received.split(b" ", 2)[1].decode("latin-1")
            answer = BEHAVIOURS.get(path.strip("/").partition("?")[0], BEHAVIOURS["honest"])(path)
        self._send(connection, answer)

    def _send(self, connection: socket.socket, answer: Bytes) -> None:
        began, sent = time.monotonic(), 0
        for piece in answer:
            connection.sendall(piece)
            sent += len(piece)
            if self.server.bytes_per_s:
                time.sleep(max(0.0, sent / self.server.bytes_per_s - (time.monotonic() - began)))


def main() -> None:
    """Serve until standard input is closed."""
    with Server(float(sys.argv[1]) if len(sys.argv) > 1 else 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        print(server.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
