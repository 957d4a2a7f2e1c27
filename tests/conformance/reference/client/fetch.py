"""The fetch of one URL: its requests, and what of them is repeated or followed."""

import asyncio
import re
import time
from dataclasses import dataclass, replace

from .address import parse_address
from .codings import Content
from .connection import Connection, Deadline, Pool, canonical_name
from .content import framing_of, read_content
from .errors import ConnectionClosed, FetchError, Incomplete, StreamRefused
from .head import Head, read_head
from .incoming import Incoming
from .mutation import wrong
from .redirects import OtherSchemeError, Redirects
from .request import Request, basic_authorization, http1_bytes

USER_AGENT = "httpdyno-reference/1"


@dataclass(frozen=True)
class Settings:
    """Settings of the process, as the contract of subjects names them."""

    concurrency: int = 10
    timeout_s: float = 5.0
    user_agent: str = USER_AGENT
    keepalive: bool = True
    version: str = ""
    method: str = "GET"
    content: bytes = b""


@dataclass(frozen=True)
class Answer:
    """What a URL was answered: status, and bytes of decoded content."""

    status: int
    length: int


@dataclass(frozen=True)
class Exchanged:
    """Answer to one request, and the request that follows it, if any."""

    answer: Answer
    following: Request | None = None


class Fetcher:
    """Fetches URLs."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pool = Pool(settings.version, shares=settings.keepalive)
        self._six = asyncio.Semaphore(6)

    async def fetch(self, url: str) -> Answer:
        """Fetch a URL.

        Raises
        ------
        FetchError, OSError, TimeoutError
            If there is no whole answer in time.
        """
        deadline = Deadline(self._settings.timeout_s)
        address = parse_address(url)
        authorization = basic_authorization(address.userinfo) if address.userinfo is not None else None
        request = Request(self._settings.method, address, self._settings.content, authorization)
        if wrong("host-is-the-canonical-name"):
            request = replace(request, host=await asyncio.to_thread(canonical_name, address.host))
        redirects = Redirects(request)
        if wrong("six-connections-a-host"):
            await self._six.acquire()
        while True:
            try:
                exchanged = await self._exchange_again(request, redirects, deadline)
            except OtherSchemeError:
                return Answer(200, 0)
            if exchanged.following is None:
                if wrong("six-connections-a-host"):
                    self._six.release()
                return exchanged.answer
            request = exchanged.following

    async def _repeat_wrongly(self, request: Request, redirects: Redirects, deadline: Deadline) -> Exchanged | None:
        """Repeat a request that a right client does not repeat; return None for a right client."""
        repeats = 30 if wrong("repeats-without-limit") else 1 if wrong("repeats-every-request") else 0
        for number in range(repeats + 1 if repeats else 0):
            try:
                return await self._exchange(request, redirects, deadline, may_reuse=not number)
            except (FetchError, TimeoutError):
                deadline = Deadline(self._settings.timeout_s)
                if number == repeats:
                    raise
        if not wrong("repeats-after-error-answers"):
            return None
        exchanged = await self._exchange(request, redirects, deadline, may_reuse=True)
        if exchanged.answer.status in (408, 413, 503):
            exchanged = await self._exchange(request, redirects, deadline, may_reuse=False)
        return exchanged

    async def _exchange_again(self, request: Request, redirects: Redirects, deadline: Deadline) -> Exchanged:
        """Exchange a request; repeat it once if the server has not processed it."""
        if repeated := await self._repeat_wrongly(request, redirects, deadline):
            return repeated
        try:
            return await self._exchange(request, redirects, deadline, may_reuse=True)
        except (ConnectionClosed, StreamRefused) as error:
            may_repeat = request.is_idempotent or isinstance(error, StreamRefused)
            if not may_repeat or wrong("does-not-repeat") or wrong("trusts-kept-connections"):
                raise
        except Incomplete:
            if not wrong("no-answer-is-an-empty-one"):
                raise
            return Exchanged(Answer(200, 0))
        return await self._exchange(request, redirects, deadline, may_reuse=False)

    async def _exchange(
        self, request: Request, redirects: Redirects, deadline: Deadline, *, may_reuse: bool
    ) -> Exchanged:
        server = request.proxy or request.address
        connection = await self._pool.take(server, deadline, may_reuse=may_reuse)
        connection.users += 1
        keeps = False
        try:
            speak = self._exchange2 if connection.http2 else self._exchange1
            exchanged, keeps = await speak(connection, request, redirects, deadline)
            return exchanged
        except TimeoutError:
            keeps = wrong("keeps-timed-out-connections")
            raise
        finally:
            connection.users -= 1
            if keeps and (self._settings.keepalive or wrong("ignores-opt-out")) and not wrong("keeps-no-connection"):
                self._pool.give(connection)
            else:
                self._pool.give_up(connection)

    async def _exchange1(
        self, connection: Connection, request: Request, redirects: Redirects, deadline: Deadline
    ) -> tuple[Exchanged, bool]:
        settings, incoming = self._settings, connection.incoming
        await deadline.limit(connection.send(http1_bytes(request, settings.user_agent, keepalive=settings.keepalive)))
        try:
            head = await connection.run(read_head(incoming), deadline)
        except Incomplete as error:
            if connection.is_used and not connection.has_answered:
                raise ConnectionClosed from error
            raise
        framing = framing_of(head, request.method)
        connection.keep_until = _end_of_keeping(head)
        following = redirects.next_request(request, head)
        if following and wrong("broken-redirects-are-answers"):
            following = None
        elif following and not wrong("reads-content-of-redirects"):
            keeps = framing.keeps and (wrong("leaves-content-of-redirects") or _is_whole(incoming, head, request))
            return Exchanged(Answer(head.status, 0), following), keeps
        content = Content(head.elements("content-encoding"))
        try:
            await connection.run(read_content(incoming, framing, content.feed), deadline)
        except FetchError:
            if wrong("continues-cut-content"):
                rest = await self._exchange(request, redirects, deadline, may_reuse=False)
                return Exchanged(Answer(head.status, content.length + rest.answer.length)), False
            if not wrong("broken-redirects-are-answers"):
                raise
            return Exchanged(Answer(head.status, content.length)), False
        if wrong("requires-notify-always") and not framing.keeps:
            await _require_clean_end(connection, deadline)
        if framing.kind != "none" or wrong("empty-content-is-an-error"):
            content.finish()
        return Exchanged(Answer(head.status, content.length), following), framing.keeps

    async def _exchange2(
        self, connection: Connection, request: Request, redirects: Redirects, deadline: Deadline
    ) -> tuple[Exchanged, bool]:
        session = connection.http2
        assert session
        contents: list[Content] = []

        def sink(head: Head, piece: bytes) -> None:
            if not contents:
                contents.append(Content(head.elements("content-encoding")))
            contents[0].feed(piece)

        steps = session.exchange(connection.incoming, request, self._settings.user_agent, sink)
        try:
            head = await connection.run(steps, deadline)
        except Incomplete as error:
            if connection.is_used and not connection.has_answered:
                raise ConnectionClosed from error
            raise
        for content in contents:
            content.finish()
        length = contents[0].length if contents else 0
        return Exchanged(Answer(head.status, length), redirects.next_request(request, head)), session.keeps


def _end_of_keeping(head: Head) -> float | None:
    """Return when the server closes the connection, if `Keep-Alive` says so; None if it does not."""
    found = re.search(r"\btimeout=([0-9]{1,6})\b", ",".join(head.values("keep-alive")))
    return time.monotonic() + int(found[1]) if found and not wrong("ignores-keep-alive") else None


def _is_whole(incoming: Incoming, head: Head, request: Request) -> bool:
    """Return whether the content of a redirect has come; it is removed then."""
    steps = read_content(incoming, framing_of(head, request.method), lambda _: None)
    try:
        next(steps)
    except StopIteration:
        return True
    except FetchError:
        pass
    return False


async def _require_clean_end(connection: Connection, deadline: Deadline) -> None:
    while not connection.incoming.end:
        await deadline.limit(connection.receive())
    if connection.incoming.end == "cut":
        raise Incomplete
