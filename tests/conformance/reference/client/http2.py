"""HTTP/2: a stream a request, several at once on a connection (RFC 9113)."""

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hpack import Decoder, Encoder, HPACKError

from .content import framing_of, read_content
from .errors import FetchError, ProtocolError, StreamRefused, TooLarge
from .head import Head, read_head
from .incoming import Incoming, Parser, bounded, need_more
from .mutation import wrong
from .request import Request

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_BYTES = 16384
BLOCK_BYTES = 64 * 1024
"""Largest block of fields, coded and decoded."""
WINDOW = 65535
WINDOW_MOST = 2**31 - 1
FLOOD = 10_000
"""Most frames without content on a connection."""
MOST_STREAMS = 100
"""Most streams at once where the server sets no limit."""
BUFFER_BYTES = 6 * 1024
"""Buffer of a frame of a client that keeps them all."""
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, PADDED, HAS_PRIORITY, ACK = 0x1, 0x4, 0x8, 0x20, 0x1
REFUSED_STREAM, CANCEL = 7, 8
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9a-z-]+")
_OF_CONNECTIONS = ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade")
Sink = Callable[[Head, bytes], None]


@dataclass(frozen=True)
class Frame:
    """A frame."""

    kind: int
    flags: int
    stream: int
    payload: bytes
    fields: tuple[tuple[str, str], ...] = ()
    """Of HEADERS, whose payload is the whole block without padding."""


@dataclass
class Stream:
    """A stream whose request was sent, and whose answer is not read to its end."""

    number: int
    window: int
    """Bytes of content that the server takes."""
    received: int = WINDOW
    """Bytes of content that the client takes."""
    is_answered: bool = False
    """Whether the last frame of the answer has come: the stream does not count for the server's limit."""
    is_reset: bool = False
    waiting: deque[Frame | FetchError] = field(default_factory=deque)
    """Frames that came while another request read, and the error that ends the stream."""


def frame_bytes(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return the bytes of a frame."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


class Http2Session:
    """Connection of HTTP/2: ``out`` has the bytes to send."""

    def __init__(self) -> None:
        # ENABLE_PUSH 0, MAX_HEADER_LIST_SIZE.
        settings = bytes.fromhex("0002 00000000 0006") + BLOCK_BYTES.to_bytes(4, "big")
        self.out = bytearray((b"" if wrong("sends-no-preface") else PREFACE) + frame_bytes(SETTINGS, 0, 0, settings))
        self.keeps = True
        self._decoder = Decoder(max_header_list_size=bounded(BLOCK_BYTES, "unbounded-header-blocks"))
        self._encoder = Encoder()
        self._streams: dict[int, Stream] = {}
        self._last = -1
        self._most_streams = 1
        self._knows_settings = False
        self._is_first = True
        self._window, self._initial_window = WINDOW, WINDOW
        self._received = WINDOW
        self._block: Frame | None = None
        """HEADERS whose block of fields goes on."""
        self._fields = bytearray()
        """The bytes of that block that have come."""
        self._failure: FetchError | None = None
        """Error of the connection."""
        self._frames = 0
        self._buffers: list[bytearray] = []

    @property
    def has_failed(self) -> bool:
        """Whether the connection has an error, which ends all its streams."""
        return self._failure is not None

    def exchange(self, incoming: Incoming, request: Request, user_agent: str, sink: Sink) -> Parser[Head]:
        """Send a request, and read its answer; ``sink`` gets the pieces of its content.

        Raises
        ------
        ProtocolError, StreamRefused, Incomplete, TooLarge
            If the answer is faulty, refused, cut, or exceeds a bound.
        """
        while _has_frame(incoming) or not self._may_open():
            yield from self._read_for_all(incoming)
        if not self.keeps:
            raise StreamRefused
        self._last += 2
        stream = self._streams[self._last] = Stream(self._last, self._initial_window)
        try:
            return (yield from self._answer(incoming, request, self._send_head(stream, request, user_agent), sink))
        finally:
            del self._streams[stream.number]

    def _may_open(self) -> bool:
        """Return whether the server's limit allows a further stream; one that ends has no limit any more."""
        count = sum(not stream.is_answered for stream in self._streams.values())
        return count < self._most_streams or not self.keeps or wrong("ignores-stream-limit")

    def _answer(self, incoming: Incoming, request: Request, sent: tuple[Stream, bytes], sink: Sink) -> Parser[Head]:
        stream, rest = sent
        head: Head | None = None
        length = 0
        while True:
            rest = self._send_content(stream, rest)
            if taken := (yield from _read_wrongly(incoming, request, head)):
                return taken
            frame = yield from self._read_frame(incoming, stream)
            if frame.kind == DATA:
                content = self._content(stream, frame)
                if head is None:
                    violate("stream-states", "DATA before the head")
                    continue
                length += len(content)
                sink(head, content)
            elif frame.kind == HEADERS:
                head = _read_head(frame, head)
            if _is_last(stream, frame, head, length):
                if wrong("reads-on-after-the-end") or wrong("appends-what-follows"):
                    head = yield from self._read_on(incoming, stream, head, sink)
                return self._end(stream, request, head, length, rest)

    def _read_on(self, incoming: Incoming, stream: Stream, head: Head | None, sink: Sink) -> Parser[Head | None]:
        """Read what follows an answer, as a careless client does; return the last head."""
        frame = yield from self._read_frame(incoming, stream)
        if wrong("reads-on-after-the-end"):
            raise ProtocolError("a frame after the end")
        if head and frame.kind == DATA:
            sink(head, frame.payload)
        elif frame.kind == HEADERS:
            head = _read_head(frame, None)
        return head

    def _end(self, stream: Stream, request: Request, head: Head | None, length: int, rest: bytes) -> Head:
        """End the stream, and return the head of its answer."""
        if head is None and wrong("interim-is-final"):
            head = Head(103, 1)
        if head is None:
            raise ProtocolError("the end without a final answer")
        self._check_length(request, head, length)
        if rest:
            self.out += frame_bytes(RST_STREAM, 0, stream.number, CANCEL.to_bytes(4, "big"))
        return head

    def _check_length(self, request: Request, head: Head, length: int) -> None:
        lengths = set(head.values("content-length"))
        if wrong("head-has-content") and lengths != {str(length)}:
            raise ProtocolError("content that is missing")
        if not lengths or request.method == "HEAD" or head.status == 304:
            return
        if wrong("accepts-short-content") or wrong("empty-data-is-the-end"):
            return
        if lengths != {str(length)}:
            violate("content-lengths", f"content of {length} bytes, not {', '.join(sorted(lengths))}")

    def _send_head(self, stream: Stream, request: Request, user_agent: str) -> tuple[Stream, bytes]:
        """Send the head of a request; return its stream, and the content to send."""
        address = request.address
        fields = [
            (":method", request.method),
            (":scheme", address.scheme),
            *([] if wrong("no-host") else [(":authority", address.host_field)]),
            (":path", address.target),
            *([("connection", "keep-alive")] if wrong("sends-connection-fields") else []),
            *request.fields(user_agent),
        ]
        if wrong("pseudo-fields-come-last"):
            fields = fields[4:] + fields[:4]
        if not wrong("sends-upper-case"):
            fields = [(name.lower(), value) for name, value in fields]
        flags = END_HEADERS | (0 if request.content else END_STREAM)
        self.out += frame_bytes(HEADERS, flags, stream.number, self._encoder.encode(fields))
        return stream, request.content[:-1] if wrong("cuts-its-content") else request.content

    def _send_content(self, stream: Stream, content: bytes) -> bytes:
        """Send what the windows allow; return the rest."""
        count = max(0, min(len(content), FRAME_BYTES, self._window, stream.window))
        if wrong("ignores-windows"):
            count = len(content)
        if not count:
            return content
        self._window -= count
        stream.window -= count
        is_last = count == len(content)
        self.out += frame_bytes(DATA, END_STREAM if is_last else 0, stream.number, content[:count])
        return content[count:]

    def _read_frame(self, incoming: Incoming, stream: Stream) -> Parser[Frame]:
        """Read a frame of a stream, or handle one of the connection."""
        while not stream.waiting:
            whole = yield from self._read_for_all(incoming)
            if whole and not stream.waiting and whole.kind not in (DATA, HEADERS):
                return whole
        found = stream.waiting.popleft()
        if isinstance(found, FetchError):
            raise found
        return found

    def _read_for_all(self, incoming: Incoming) -> Parser[Frame | None]:
        """Handle the next frame, whichever stream it belongs to; without one wait for bytes, and return None.

        While it waits, another request may read the frame.
        """
        if self._failure:
            raise self._failure
        try:
            if not _has_frame(incoming):
                if len(incoming.data) >= 3:
                    _check_size(incoming)
                yield from need_more(incoming)
                return None
            frame = self._take(_next_frame(incoming))
        except FetchError as error:
            self._failure = error
            raise
        while self._frames > FLOOD and wrong("deadlocks-on-floods"):
            yield
        return frame

    def _take(self, frame: Frame) -> Frame:
        """Handle a frame; return it, or PRIORITY in place of a frame that does nothing."""
        ignored = replace(frame, kind=PRIORITY)
        if self._is_first and (frame.kind != SETTINGS or frame.flags & ACK):
            violate("frame-order", "no SETTINGS first")
        self._is_first = False
        if self._block is None or frame.kind != CONTINUATION:
            self._count(frame)
        if self._block is not None or frame.kind == HEADERS:
            block = self._gather(frame)
            if block is None:
                return ignored
            frame = block
        if frame.kind not in (DATA, HEADERS):
            self._handle(frame)
            return frame
        stream = self._streams.get(frame.stream)
        if stream is None:
            violate("stream-states", "a frame of a stream that is not open")
            return ignored
        stream.waiting.append(frame)
        stream.is_answered |= bool(frame.flags & END_STREAM)
        return frame

    def _count(self, frame: Frame) -> None:
        """Count frames without content."""
        self._frames += not (frame.kind in (DATA, HEADERS) and bool(frame.payload or frame.flags & END_STREAM))
        if wrong("keeps-a-buffer-a-frame"):
            self._buffers.append(bytearray(BUFFER_BYTES))
        elif self._frames > FLOOD and not wrong("deadlocks-on-floods"):
            raise TooLarge("frames without content")

    def _gather(self, frame: Frame) -> Frame | None:
        """Add a frame to a block of fields; return HEADERS with the whole block, None if it goes on."""
        if self._block is None:
            block = _without_padding(frame)
            if frame.flags & HAS_PRIORITY and not wrong("knows-no-priority"):
                block = block[5:]
            self._block, self._fields = frame, bytearray(block)
        else:
            if (frame.kind, frame.stream) != (CONTINUATION, self._block.stream) or wrong("knows-no-continuation"):
                violate("frame-order", "a block of fields that is interrupted")
            if frame.kind != CONTINUATION:
                return None
            self._fields += frame.payload
            if len(self._fields) > bounded(BLOCK_BYTES, "unbounded-header-blocks"):
                raise TooLarge("a block of fields")
        if not frame.flags & END_HEADERS:
            return None
        headers, self._block = self._block, None
        return replace(headers, fields=tuple(self._decode(self._fields)))

    def _decode(self, block: bytearray) -> list[tuple[str, str]]:
        if wrong("reads-plain-literals-only") and not _is_plain(block):
            raise ProtocolError("another representation of a field")
        try:
            return [(str(name), str(value)) for name, value in self._decoder.decode(bytes(block))]
        except HPACKError as error:
            violate("hpack-errors", str(error))
            return [(":status", "200")]

    def _handle(self, frame: Frame) -> None:
        handlers = {
            PRIORITY: self._on_priority,
            RST_STREAM: self._on_reset,
            SETTINGS: self._on_settings,
            PING: self._on_ping,
            GOAWAY: self._on_goaway,
            WINDOW_UPDATE: self._on_window,
        }
        if handler := handlers.get(frame.kind):
            handler(frame)
        elif frame.kind in (PUSH_PROMISE, CONTINUATION) or wrong("unknown-frames-are-errors"):
            violate("frame-order", f"a frame of type {frame.kind}")

    def _on_priority(self, frame: Frame) -> None:
        if frame.stream == 0 or len(frame.payload) != 5:
            violate("frame-forms", "PRIORITY")

    def _on_reset(self, frame: Frame) -> None:
        if frame.stream == 0 or frame.stream > self._last or len(frame.payload) != 4:
            violate("frame-forms", "RST_STREAM")
            return
        stream = self._streams.get(frame.stream)
        if stream is None:
            return
        code = int.from_bytes(frame.payload, "big")
        if wrong("reset-is-the-end") and code != REFUSED_STREAM:
            stream.is_reset = True
            return
        stream.is_answered = True
        stream.waiting.append(StreamRefused() if code == REFUSED_STREAM else ProtocolError(f"reset with code {code}"))

    def _on_settings(self, frame: Frame) -> None:
        payload = frame.payload
        if frame.stream or len(payload) % 6 or (frame.flags & ACK and payload):
            violate("frame-forms", "SETTINGS")
            return
        if frame.flags & ACK:
            return
        if wrong("refuses-unknown-settings") and payload[:2] > b"\0\x06":
            raise ProtocolError("an unknown setting")
        if not self._knows_settings:
            self._knows_settings, self._most_streams = True, MOST_STREAMS
        for at in range(0, len(payload), 6):
            self._set(int.from_bytes(payload[at : at + 2], "big"), int.from_bytes(payload[at + 2 : at + 6], "big"))
        if not wrong("does-not-acknowledge-settings"):
            self.out += frame_bytes(SETTINGS, ACK, 0)

    def _set(self, name: int, value: int) -> None:
        if name == 1:
            self._encoder.header_table_size = min(value, 4096)
        elif name == 3:
            self._most_streams = value
        elif (name == 2 and value) or (name == 5 and not FRAME_BYTES <= value < 2**24):
            violate("setting-values", f"setting {name} of {value}")
        elif name == 4:
            if value > WINDOW_MOST:
                violate("setting-values", "an initial window beyond 2^31 - 1")
                return
            for stream in self._streams.values():
                stream.window += value - self._initial_window
            self._initial_window = value
            self._check_windows()

    def _on_ping(self, frame: Frame) -> None:
        if frame.stream or len(frame.payload) != 8:
            violate("frame-forms", "PING")
            return
        if not frame.flags & ACK or wrong("answers-answers-to-ping"):
            self.out += b"" if wrong("does-not-answer-ping") else frame_bytes(PING, ACK, 0, frame.payload)

    def _on_goaway(self, frame: Frame) -> None:
        if frame.stream or len(frame.payload) < 8:
            violate("frame-forms", "GOAWAY")
            return
        if wrong("ignores-goaway"):
            return
        self.keeps = False
        if wrong("goaway-ends-every-stream") and self._streams:
            raise ProtocolError("GOAWAY")
        for stream in self._streams.values():
            if int.from_bytes(frame.payload[:4], "big") & WINDOW_MOST < stream.number:
                stream.waiting.append(StreamRefused())

    def _on_window(self, frame: Frame) -> None:
        increment = int.from_bytes(frame.payload, "big") & WINDOW_MOST
        if len(frame.payload) != 4 or not increment or frame.stream > self._last:
            violate("window-rules", "WINDOW_UPDATE")
            return
        if frame.stream == 0:
            self._window += increment
        elif stream := self._streams.get(frame.stream):
            stream.window += increment
        self._check_windows()

    def _check_windows(self) -> None:
        if max([self._window, *(stream.window for stream in self._streams.values())]) > WINDOW_MOST:
            violate("window-rules", "a window beyond 2^31 - 1")

    def _content(self, stream: Stream, frame: Frame) -> bytes:
        count = len(frame.payload)
        self._received -= count
        stream.received -= count
        if min(self._received, stream.received) < 0:
            violate("window-rules", "more content than the window")
        if wrong("opens-no-window"):
            return _without_padding(frame)
        if self._received < WINDOW // 2:
            self.out += frame_bytes(WINDOW_UPDATE, 0, 0, (WINDOW - self._received).to_bytes(4, "big"))
            self._received = WINDOW
        if stream.received < WINDOW // 2 and not frame.flags & END_STREAM:
            increment = (WINDOW - stream.received).to_bytes(4, "big")
            self.out += frame_bytes(WINDOW_UPDATE, 0, stream.number, increment)
            stream.received = WINDOW
        return _without_padding(frame)


def _is_plain(block: bytes | bytearray) -> bool:
    """Return whether a block has entries of the static table and literals without indexing and Huffman codes alone."""
    at = 0
    while at < len(block):
        first = block[at]
        at += 1
        if first & 0x80:
            if first & 0x7F > 61:
                return False
            continue
        if first & 0xF0:
            return False
        at += first == 0x0F
        for _ in range(1 if first else 2):
            if at >= len(block) or block[at] & 0x80:
                return False
            at += 1 + block[at]
    return True


def violate(rules: str, text: str) -> None:
    """Raise `ProtocolError`, unless the client ignores these rules: `ignores-` and their name."""
    if not wrong(f"ignores-{rules}"):
        raise ProtocolError(text)


def _is_last(stream: Stream, frame: Frame, head: Head | None, length: int) -> bool:
    if stream.is_reset or (length and wrong("first-segment-is-content")):
        return True
    if frame.kind == DATA and not frame.payload and wrong("empty-data-is-the-end"):
        return True
    if head and head.values("content-length") == [str(length)] and wrong("stops-at-the-content-length"):
        return True
    return frame.kind in (DATA, HEADERS) and bool(frame.flags & END_STREAM)


def _read_head(frame: Frame, head: Head | None) -> Head | None:
    """Read a section of fields; return the final head, None after an interim one."""
    if head is not None and not frame.flags & END_STREAM:
        violate("frame-order", "trailers that do not end the stream")
    return head_of(list(frame.fields), head)


def _read_wrongly(incoming: Incoming, request: Request, head: Head | None) -> Parser[Head | None]:
    """Return the head of an answer that a careless client takes for whole; None for a right client."""
    if wrong("any-end-is-clean") and incoming.end and not _has_frame(incoming):
        return head
    if not wrong("reads-http1-over-http2"):
        return None
    while len(incoming.data) < len(b"HTTP/"):
        yield from need_more(incoming)
    if not incoming.data.startswith(b"HTTP/"):
        return None
    head = yield from read_head(incoming)
    yield from read_content(incoming, framing_of(head, request.method), lambda _: None)
    return head


def _next_frame(incoming: Incoming) -> Frame:
    """Take a whole frame."""
    _check_size(incoming)
    head = incoming.take(9)
    payload = incoming.take(int.from_bytes(head[:3], "big"))
    if wrong("refuses-unknown-flags") and head[4] & ~(END_STREAM | END_HEADERS | PADDED | HAS_PRIORITY):
        raise ProtocolError("unknown flags")
    return Frame(head[3], head[4], int.from_bytes(head[5:9], "big") & WINDOW_MOST, payload)


def _check_size(incoming: Incoming) -> None:
    length = int.from_bytes(incoming.data[:3], "big")
    if length > FRAME_BYTES and not wrong("accepts-large-frames"):
        raise ProtocolError(f"a frame of {length} bytes")


def _has_frame(incoming: Incoming) -> bool:
    """Return whether a whole frame has come."""
    data = incoming.data
    return len(data) >= 9 and len(data) >= 9 + int.from_bytes(data[:3], "big")


def _without_padding(frame: Frame) -> bytes:
    if not frame.flags & PADDED or wrong("knows-no-padding"):
        return frame.payload
    if not frame.payload or frame.payload[0] >= len(frame.payload):
        violate("padding-rules", "more padding than payload")
        return frame.payload[1:]
    return frame.payload[1 : len(frame.payload) - frame.payload[0]]


def _check_fields(fields: tuple[tuple[str, str], ...]) -> None:
    for name, value in fields:
        is_odd = not _NAME.fullmatch(name) or re.search("[\0\r\n]|^[ \t]|[ \t]$", value)
        if is_odd or name in _OF_CONNECTIONS:
            violate("field-rules", f"the field {name}")


def _check_trailers(pseudo: list[tuple[str, str]]) -> None:
    if wrong("refuses-trailers"):
        raise ProtocolError("trailers")
    if pseudo:
        violate("field-rules", "a pseudo-header in trailers")


def head_of(fields: list[tuple[str, str]], head: Head | None) -> Head | None:
    """Return the head that a block of fields makes: the final one, or ``head`` after trailers; None if it is interim.

    Raises
    ------
    ProtocolError
        If a field is forbidden in HTTP/2, or the status is missing.
    """
    pseudo = [(name, value) for name, value in fields if name.startswith(":")]
    usual = tuple((name, value) for name, value in fields if not name.startswith(":"))
    if not wrong("unbounded-header-blocks"):  # To search hundreds of MiB takes longer than the time of a case.
        _check_fields(usual)
    if len(fields) > 50 and wrong("refuses-many-fields"):
        raise TooLarge("fields")
    if head is not None:
        _check_trailers(pseudo)
        return head
    if fields[: len(pseudo)] != pseudo:
        violate("field-rules", "a pseudo-header after a field")
    if not pseudo and wrong("status-defaults-to-200"):
        return Head(200, 1, usual)
    if wrong("reads-statuses-as-numbers"):
        return Head(int(dict(pseudo)[":status"]), 1, usual)
    if [name for name, _ in pseudo] != [":status"] or not re.fullmatch("[1-5][0-9][0-9]", pseudo[0][1]):
        violate("field-rules", "no status")
    status = int(re.sub("[^0-9]", "0", dict(pseudo).get(":status", "200"))[:3])
    if status == 101:
        violate("field-rules", "101 over HTTP/2")
    return Head(status, 1, usual) if status >= 200 or wrong("interim-is-final") else None
