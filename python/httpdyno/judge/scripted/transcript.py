"""Transcript of a script: what the engine received and sent on each connection, and each DNS query."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE
from httpdyno.judge.scripted.http2_frames import PREFACE, frames_with_ends, read_frames, show_requests

_SHOWN_BYTES: Final = 400
_SHORT: Final = 1500
"""Length of a shortened transcript, in characters."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a connection."""

    at_us: int
    got: bytes = b""
    sent: int | None = None
    """Number of bytes that the origin sent."""
    step: int | None = None
    end: str | None = None


@dataclass(frozen=True)
class Connection:
    """One connection to a host of a script."""

    host: str
    number: int
    """Counts the connections of the host that sent a byte, from 1; 0: it sent none."""
    scheme: str
    at_us: int
    handshake: str
    requests: int
    alpn: str | None = None
    tls_version: str | None = None
    server_name: str | None = None
    truncated: bool = False
    events: Sequence[Event] = ()

    @cached_property
    def got(self) -> bytes:
        """Everything that the origin got."""
        return b"".join(event.got for event in self.events)

    @cached_property
    def text(self) -> bytes:
        """What the origin got, HTTP/2 decoded to lines."""
        return show_requests(self.got) if self.is_http2 else self.got

    @cached_property
    def frames(self) -> str:
        r"""What the client sent over HTTP/2 and when the origin sent and it ended, a line each, in order of time.

        ``PREFACE``, frames such as ``HEADERS END_STREAM END_HEADERS on 1: 40 bytes``, ``sent by step 3``,
        ``end: peer_closed``. Automatic answers of the origin are left out.
        """
        if not self.is_http2:
            return ""
        lines, read = ["PREFACE"], 0
        frames = frames_with_ends(self.got)
        following = next(frames, None)
        for event in self.events:
            read += len(event.got)
            while following and following[1] <= read:
                lines.append(str(following[0]))
                following = next(frames, None)
            if event.step:
                lines.append(f"sent by step {event.step}")
            if event.end:
                lines.append(f"end: {event.end}")
        return "".join(f"{line}\n" for line in lines)

    @property
    def is_http2(self) -> bool:
        """Whether the client spoke HTTP/2."""
        return self.got.startswith(PREFACE)

    @property
    def end(self) -> str | None:
        """How it ended; None if that is not recorded."""
        return next((event.end for event in reversed(self.events) if event.end), None)


@dataclass(frozen=True, slots=True)
class Query:
    """One DNS query."""

    host: str
    name: str
    type: str
    transport: str
    at_us: int


@dataclass(frozen=True, slots=True)
class Transcript:
    """Connections and queries of the hosts of a script, in order of time."""

    connections: tuple[Connection, ...] = ()
    queries: tuple[Query, ...] = ()

    def of(self, *hosts: str) -> "Transcript":
        """Return what belongs to some hosts."""
        return Transcript(
            tuple(one for one in self.connections if one.host in hosts),
            tuple(one for one in self.queries if one.host in hosts),
        )

    @property
    def speaking(self) -> tuple[Connection, ...]:
        """The connections on which a byte came."""
        return tuple(one for one in self.connections if one.number)

    @property
    def requests(self) -> int:
        """Number of whole heads of requests."""
        return sum(one.requests for one in self.connections)

    @property
    def text(self) -> bytes:
        """What all connections got, joined."""
        return b"".join(one.text for one in self.connections)

    @property
    def frames(self) -> str:
        """The frames of all connections, joined."""
        return "".join(one.frames for one in self.connections)

    def lines(self) -> list[str]:
        """Describe all events in order of time, a line each, bytes escaped."""
        times = [*(one.at_us for one in self.connections), *(one.at_us for one in self.queries)]
        start = min(times, default=0)
        found = [(one.at_us, f"{one.host}: query {one.name} {one.type} over {one.transport}") for one in self.queries]
        for one in self.connections:
            name = f"{one.host}: connection {one.number or 'without a byte'}"
            tls = f", {one.alpn or 'no ALPN'}, TLS {one.tls_version or 'none'}" if one.handshake == "ok" else ""
            handshake = f", handshake {one.handshake}" if one.handshake != "none" else ""
            found.append((one.at_us, f"{name}: {one.scheme}{handshake}{tls}"))
            found += [(event.at_us, f"{name}: {_describe(event, one)}") for event in one.events]
            if one.truncated:
                found.append((one.events[-1].at_us if one.events else one.at_us, f"{name}: (more came, not recorded)"))
        found.sort(key=lambda line: line[0])
        return [f"{(at_us - start) / 1000:9.1f} ms  {text}" for at_us, text in found]

    def shortened(self) -> str:
        """Return the beginning of the lines, for records."""
        text = "\n".join(self.lines())
        return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."


def _describe(event: Event, connection: Connection) -> str:
    if event.end:
        return f"end: {event.end}"
    if event.sent is not None:
        return f"sent {event.sent} bytes{f' (step {event.step})' if event.step else ''}"
    frames = ""
    if connection.is_http2:
        # Only events that begin with a whole frame can be named.
        names = [f"{frame.name} on {frame.stream}" for frame in read_frames(event.got)]
        frames = f" [{', '.join(names)}]" if names else ""
    return f"got {len(event.got)} bytes{frames}: {escape(event.got)}"


def escape(got: bytes) -> str:
    r"""Return bytes as text with escapes, ``GET / HTTP/1.1\r\n``; the rest of a long one is left out."""
    text = got[:_SHOWN_BYTES].decode("latin-1").encode("unicode_escape").decode("ascii")
    return text + (f"... and {len(got) - _SHOWN_BYTES} more" if len(got) > _SHOWN_BYTES else "")


def read_transcript(text: str) -> Transcript:
    """Read the transcript of the engine, JSON lines."""
    connections, queries = [], []
    try:
        for line in text.splitlines():
            values = json.loads(line)
            if "query" in values:
                queries.append(Query(*(values[key] for key in ("host", "query", "type", "transport", "at_us"))))
            else:
                connections.append(_connection(values))
    except (ValueError, KeyError, TypeError) as error:
        raise EngineFailed(f"the engine's transcript cannot be read ({error!r}): {RENEW_ENGINE}") from error
    return Transcript(tuple(connections), tuple(queries))


def _connection(values: dict[str, Any]) -> Connection:
    events = tuple(
        Event(
            event["at_us"],
            base64.b64decode(event.get("got", "")),
            event.get("sent"),
            event.get("step"),
            event.get("end"),
        )
        for event in values["events"]
    )
    return Connection(
        values["host"],
        values["connection"],
        values["scheme"],
        values["at_us"],
        values.get("handshake") or "none",
        values["requests"],
        values.get("alpn"),
        values.get("tls_version"),
        values.get("server_name"),
        bool(values.get("truncated")),
        events,
    )
