"""Connections: names, TCP, TLS, deadlines, and the connections that are kept."""

import asyncio
import contextlib
import re
import socket
import struct
import time
from collections.abc import Awaitable
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from .address import Address
from .errors import FetchError, LookupFailed, Untrusted
from .incoming import Incoming, Parser
from .mutation import wrong
from .tls import READ_BYTES, Tls

if TYPE_CHECKING:
    from .http2 import Http2Session

POOL = 10
"""Connections of a client that closes those in use."""
HIDDEN_LIMIT_S = 4.0
OPEN_S = 3.5
RESOLUTION_DELAY_S = 0.05
STAGGER_S = 0.25
"""Time that an address gets before the next one is tried as well (RFC 8305)."""
Result = TypeVar("Result")


class Deadline:
    """Time of one URL."""

    def __init__(self, timeout_s: float) -> None:
        timeout_s = min(timeout_s, HIDDEN_LIMIT_S) if wrong("has-a-limit-of-its-own") else timeout_s
        self._timeout_s = timeout_s
        self._end = time.monotonic() + timeout_s

    async def limit(self, waiting: Awaitable[Result], unlimited: str = "") -> Result:
        """Wait until the end of the time; ``unlimited`` is the defect of a client that waits longer.

        Raises
        ------
        TimeoutError
            At the end of the time.
        """
        left_s: float | None = self._end - time.monotonic()
        if unlimited and (wrong(unlimited) or wrong("deadlocks-on-floods")):
            left_s = None
        elif wrong("timeout-restarts-with-each-byte"):
            left_s = self._timeout_s
        if left_s is not None and left_s <= 0:
            # A peer that always has bytes never suspends the task, and a timeout could not end it.
            asyncio.ensure_future(waiting).cancel()
            raise TimeoutError
        async with asyncio.timeout(left_s):
            return await waiting


class Connection:
    """A connection to a server."""

    def __init__(self, peer: socket.socket, origin: tuple[str, str, int]) -> None:
        self.origin = origin
        self.incoming = Incoming()
        self.http2: Http2Session | None = None
        self.is_used = False
        """Whether it has served a request."""
        self.users = 0
        """Requests that use it; over HTTP/2 there can be several."""
        self.is_given_up = False
        """Whether it takes no further request; the last one that uses it closes it."""
        self._reading: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()
        self.has_answered = False
        """Whether bytes came since the last request."""
        self.keep_until: float | None = None
        """When the server closes the connection, by the clock of `time.monotonic`; None: unknown."""
        self._peer = peer
        self._tls: Tls | None = None

    async def start_tls(self, tls: Tls) -> None:
        """Shake hands.

        Raises
        ------
        Untrusted, FetchError
            If the certificate is refused, or the handshake fails.
        """
        self._tls = tls
        try:
            while not tls.shake_hands():
                await self._flush()
                await self._read_from_peer()
        except Untrusted:
            await self._flush()
            raise
        except FetchError:
            if wrong("leaves-failed-handshakes-open"):
                await asyncio.sleep(OPEN_S)
            raise
        await self._flush()
        if tls.protocol == "h2":
            # It needs the package hpack, which the tests have; without HTTP/2 the client needs none.
            from .http2 import Http2Session

            self.http2 = Http2Session()

    async def send(self, data: bytes) -> None:
        """Send bytes; a peer that does not read them any more may have answered."""
        self.has_answered = False
        with contextlib.suppress(ConnectionError):
            if self._tls is None:
                await asyncio.get_running_loop().sock_sendall(self._peer, data)
                return
            self._tls.write(data)
            await self._flush()

    async def receive(self) -> None:
        """Wait for bytes, or the end of the connection; over HTTP/2 several requests wait for the same bytes."""
        if self.http2 is None:
            await self._receive()
            return
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._receive())
        await asyncio.shield(self._reading)

    async def _receive(self) -> None:
        before = len(self.incoming.data)
        while len(self.incoming.data) == before and not self.incoming.end:
            await self._read_from_peer()
            self._decrypt()
        self.has_answered |= len(self.incoming.data) > before

    async def _flush(self) -> None:
        async with self._writing:
            if self._tls and (data := self._tls.take_outgoing()):
                with contextlib.suppress(ConnectionError):
                    await asyncio.get_running_loop().sock_sendall(self._peer, data)

    async def _read_from_peer(self) -> None:
        try:
            data = await asyncio.get_running_loop().sock_recv(self._peer, READ_BYTES)
        except ConnectionError:
            self.incoming.end = "cut"
            data = b""
        self._add(data)

    def _add(self, data: bytes) -> None:
        if self._tls is None:
            self.incoming.data += data
            self.incoming.end = self.incoming.end or (None if data else "clean")
        else:
            self._tls.add_incoming(data)

    def _decrypt(self) -> None:
        if self._tls is None:
            return
        try:
            while data := self._tls.read():
                self.incoming.data += data
                if wrong("segments-are-lines") or wrong("first-segment-is-content"):
                    return
        except EOFError:
            self.incoming.end = "cut"
            return
        if data is not None:
            self.incoming.end = "clean"

    def is_idle(self) -> bool:
        """Return whether no byte and no end came since the last answer."""
        if wrong("trusts-kept-connections"):
            return True
        if self.keep_until is not None and time.monotonic() > self.keep_until:
            return False
        with contextlib.suppress(BlockingIOError):
            try:
                self._add(self._peer.recv(READ_BYTES))
            except ConnectionError:
                self.incoming.end = "cut"
            self._decrypt()
        has_surplus = self.incoming.data and self.http2 is None and not _keeps_surplus()
        return not has_surplus and not self.incoming.end

    def cut(self) -> None:
        """End the connection under a task that reads from it."""
        with contextlib.suppress(OSError):
            self._peer.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection."""
        if self._reading and not self._reading.done():
            self._reading.cancel()
            asyncio.get_running_loop().remove_reader(self._peer)
        self._peer.close()

    async def run(self, steps: Parser[Result], deadline: Deadline) -> Result:
        """Give a parser the bytes that it waits for, and send what it has for the peer."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                await self._send_frames()
                result: Result = end.value
                return result
            await self._send_frames()
            await deadline.limit(self.receive(), "no-timeout-for-answers")

    async def _send_frames(self) -> None:
        if self.http2 and self.http2.out:
            data = bytes(self.http2.out)
            self.http2.out.clear()
            has_answered = self.has_answered
            await self.send(data)
            self.has_answered = has_answered


def _keeps_surplus() -> bool:
    return any(
        wrong(mutation)
        for mutation in (
            "keeps-surplus-bytes",
            "leaves-content-of-205",
            "leaves-content-of-redirects",
            "leaves-trailers-unread",
        )
    )


class Pool:
    """Connections, those that are kept by their origin."""

    def __init__(self, version: str, *, shares: bool) -> None:
        self._version = version
        self._shares = shares
        self._connecting: dict[tuple[str, str, int], asyncio.Lock] = {}
        self._kept: dict[tuple[str, str, int], list[Connection]] = {}
        self._opened: list[Connection] = []

    async def take(self, address: Address, deadline: Deadline, *, may_reuse: bool) -> Connection:
        """Return a kept connection that is still open, or a new one; over HTTP/2 one that others use.

        Raises
        ------
        LookupFailed, OSError, Untrusted, FetchError, TimeoutError
            If the name has no address, no address accepts, or the handshake fails.
        """
        if self._version != "2":
            return (self._take_kept(address.origin) if may_reuse else None) or await self.connect(address, deadline)
        # The first request to an origin connects, the others wait for its connection.
        lock = self._connecting.setdefault(address.origin, asyncio.Lock())
        await deadline.limit(lock.acquire())
        try:
            kept = self._take_kept(address.origin) if may_reuse else None
            if kept:
                return kept
            connection = await self.connect(address, deadline)
            if self._shares:
                self._kept.setdefault(address.origin, []).append(connection)
            return connection
        finally:
            lock.release()

    def _take_kept(self, origin: tuple[str, str, int]) -> Connection | None:
        kept = self._kept.get(origin, [])
        while kept:
            connection = kept[-1]
            if connection.users and connection.http2 and connection.http2.keeps and not connection.incoming.end:
                return connection
            if not connection.users and connection.is_idle():
                if connection.http2 is None:
                    kept.pop()
                return connection
            self.give_up(connection)
        self._kept.pop(origin, None)
        return None

    def give(self, connection: Connection) -> None:
        """Keep a connection."""
        connection.is_used = True
        kept = self._kept.setdefault(connection.origin, [])
        if connection.is_given_up:
            self.give_up(connection)
        elif connection not in kept:
            kept.append(connection)

    def give_up(self, connection: Connection) -> None:
        """Close a connection as soon as no request uses it."""
        connection.is_given_up = True
        kept = self._kept.get(connection.origin, [])
        if connection in kept:
            kept.remove(connection)
        if not connection.users:
            connection.close()
        elif connection.http2 and connection.http2.has_failed:
            connection.cut()

    def _open(self, peer: socket.socket, address: Address) -> Connection:
        connection = Connection(peer, address.origin)
        if wrong("closes-connections-in-use"):
            self._opened.append(connection)
            if len(self._opened) > POOL:
                self._opened.pop(0).cut()
        return connection

    async def connect(self, address: Address, deadline: Deadline) -> Connection:
        """Open a connection.

        Raises
        ------
        LookupFailed, OSError, Untrusted, FetchError, TimeoutError
            If the name has no address, no address accepts, or the handshake fails.
        """
        if self._version == "2" and address.scheme != "https":
            raise FetchError("HTTP/2 needs https")
        if wrong("falls-back-to-clear-text"):
            address = replace(address, scheme="http", port=80)
        limit = "repeats-lookups-without-end" if wrong("repeats-lookups-without-end") else "no-timeout-for-lookups"
        if wrong("lookups-have-a-second"):
            deadline = Deadline(1.0)
        addresses = await deadline.limit(look_up(address.lookup_name, deadline), limit)
        if wrong("first-address-only"):
            addresses = addresses[:1]
        peer = await deadline.limit(_first_that_accepts(addresses, address.port), "no-timeout-for-connects")
        connection = self._open(peer, address)
        if address.scheme == "https":
            name = "server.test" if wrong("sends-another-server-name") else address.lookup_name.strip("[]")
            if not wrong("keeps-the-final-dot"):
                name = name.removesuffix(".")
            if wrong("refuses-ip-addresses") and name.replace(".", "").isdigit():
                raise Untrusted("an IP address")
            shaking = connection.start_tls(Tls(name, self._version))
            try:
                await deadline.limit(shaking, "no-timeout-for-handshakes")
            except BaseException:
                connection.close()
                raise
        if self._version == "2" and connection.http2 is None:
            connection.close()
            raise FetchError("the server does not speak HTTP/2")
        return connection


async def look_up(name: str, deadline: Deadline) -> list[str]:
    """Return the addresses of a name.

    Raises
    ------
    LookupFailed
        If there is none.
    """
    del deadline
    if wrong("looks-up-by-udp-alone") or wrong("asks-once") or wrong("counts-aliases"):
        await asyncio.to_thread(_ask_by_udp, name)
    if wrong("refuses-odd-names") and re.search(r"^[0-9]+\.|_|\.$|[^.]{63}", name):
        raise LookupFailed(name)
    while True:
        try:
            if wrong("remembers-addresses"):
                if name not in _REMEMBERED:
                    _REMEMBERED[name] = await _look_up_families(name)
                return _REMEMBERED[name]
            return await _look_up_families(name.strip("[]"))
        except (OSError, UnicodeError) as error:
            if not wrong("repeats-lookups-until-timeout") and not wrong("repeats-lookups-without-end"):
                raise LookupFailed(str(error)) from error
            await asyncio.sleep(0.1)


async def _look_up_families(name: str) -> list[str]:
    """Return the addresses of both families, in turn; the slower one gets a moment (RFC 8305, section 3)."""
    families = [asyncio.create_task(_look_up_family(name, one)) for one in (socket.AF_INET6, socket.AF_INET)]
    done, waiting = await asyncio.wait(families, return_when=asyncio.FIRST_COMPLETED)
    if not any(task.exception() is None for task in done) or wrong("needs-both-families"):
        done |= (await asyncio.wait(waiting))[0] if waiting else set()
    elif waiting:
        done |= (await asyncio.wait(waiting, timeout=RESOLUTION_DELAY_S))[0]
    found = [task.result() for task in families if task in done and task.exception() is None]
    errors = [error for task in done if (error := task.exception()) is not None]
    if errors and (not found or wrong("needs-both-families")):
        raise errors[0]
    if wrong("ipv4-only"):
        found = [[address for address in one if ":" not in address] for one in found]
    return [address for pair in zip_longest(*found) for address in pair if address]


async def _look_up_family(name: str, family: socket.AddressFamily) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(name, None, family=family, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


_REMEMBERED: dict[str, list[str]] = {}
ASK_S = 2.0


def canonical_name(name: str) -> str:
    """Return the name at the end of the aliases of a name."""
    return socket.getaddrinfo(name, None, flags=socket.AI_CANONNAME)[0][3]


def _ask_by_udp(name: str) -> None:
    """Raise `LookupFailed` if the answer by UDP is truncated."""
    servers = re.findall(r"^nameserver\s+(\S+)", Path("/etc/resolv.conf").read_text(encoding="utf-8"), re.MULTILINE)
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    query = struct.pack("!6H", 1, 0x100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.settimeout(ASK_S)
        peer.sendto(query, (servers[0], 53))
        answer = peer.recv(4096)
    number, flags, _, answers, _, _ = struct.unpack("!6H", answer[:12])
    if flags & 0x200 and wrong("looks-up-by-udp-alone"):
        raise LookupFailed("a truncated answer")
    if wrong("asks-once") and (number != 1 or flags & 0xF or answer[12 : len(query)].lower() != query[12:].lower()):
        raise LookupFailed("no answer")
    if wrong("counts-aliases") and answers > 9:
        raise LookupFailed("too many aliases")


async def _first_that_accepts(addresses: list[str], port: int) -> socket.socket:
    """Connect to addresses in their order; each next one is tried as well after a while, or after a failure."""
    error: BaseException = LookupFailed("no address")
    trying: set[asyncio.Task[socket.socket]] = set()
    left = list(dict.fromkeys(addresses))
    try:
        while left or trying:
            if left:
                trying.add(asyncio.create_task(_connect(left.pop(0), port)))
            done, trying = await asyncio.wait(
                trying, timeout=STAGGER_S if left else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                if task.exception() is None:
                    return task.result()
                error = task.exception() or error
        raise error
    finally:
        for task in trying:
            task.cancel()


async def _connect(address: str, port: int) -> socket.socket:
    peer = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        peer.setblocking(False)
        await asyncio.get_running_loop().sock_connect(peer, (address, port))
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        peer.close()
        raise
    return peer
