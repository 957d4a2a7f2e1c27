"""HTTP/2: one request after another on a connection (RFC 9113)."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from hpack import Decoder, Encoder, HPACKError

from .errors import ProtocolError, StreamRefused, TooLarge
from .head import Head
from .incoming import Incoming, Parser, bounded, read_exactly
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
        self._stream = -1
        self._is_open = self._is_reset = False
        self._most_streams = 1
        self._is_first = True
        self._window, self._stream_window, self._initial_window = WINDOW, WINDOW, WINDOW
        self._received = WINDOW
        self._stream_received = WINDOW
        self._frames = 0

    def exchange(self, incoming: Incoming, request: Request, user_agent: str, sink: Sink) -> Parser[Head]:
        """Send a request, and read its answer; ``sink`` gets the pieces of its content.

        Raises
        ------
        ProtocolError, StreamRefused, Incomplete, TooLarge
            If the answer is faulty, refused, cut, or exceeds a bound.
        """
        while (self._most_streams == 0 and not wrong("ignores-stream-limit")) or _has_frame(incoming):
            yield from self._read_frame(incoming)
        if not self.keeps:
            raise StreamRefused
        self._stream += 2
        self._is_open = True
        self._stream_window, self._stream_received = self._initial_window, WINDOW
        rest = self._send_head(request, user_agent)
        head: Head | None = None
        length = 0
        while True:
            rest = self._send_content(rest)
            if head and incoming.end and not _has_frame(incoming) and wrong("any-end-is-clean"):
                return head
            frame = yield from self._read_frame(incoming)
            if frame.kind == DATA:
                content = self._content(frame)
                if head is None:
                    violate("stream-states", "DATA before the head")
                    continue
                length += len(content)
                sink(head, content)
            elif frame.kind == HEADERS:
                head = yield from self._read_head(incoming, frame, head)
            if self._is_last(frame, head, length):
                if wrong("reads-on-after-the-end") or wrong("appends-what-follows"):
                    yield from self._read_on(incoming, head, sink)
                return self._end(request, head, length, rest)

    def _read_on(self, incoming: Incoming, head: Head | None, sink: Sink) -> Parser[None]:
        """Read what follows an answer, as a careless client does."""
        frame = yield from self._read_frame(incoming)
        if wrong("reads-on-after-the-end"):
            raise ProtocolError("a frame after the end")
        if head and frame.kind == DATA:
            sink(head, frame.payload)

    def _is_last(self, frame: Frame, head: Head | None, length: int) -> bool:
        if self._is_reset or (length and wrong("first-segment-is-content")):
            return True
        if head and head.values("content-length") == [str(length)] and wrong("stops-at-the-content-length"):
            return True
        return frame.kind in (DATA, HEADERS) and bool(frame.flags & END_STREAM)

    def _end(self, request: Request, head: Head | None, length: int, rest: bytes) -> Head:
        """End the stream, and return the head of its answer."""
        if head is None and wrong("interim-is-final"):
            head = Head(103, 1)
        if head is None:
            raise ProtocolError("the end without a final answer")
        self._is_open = False
        self._check_length(request, head, length)
        if rest:
            self.out += frame_bytes(RST_STREAM, 0, self._stream, CANCEL.to_bytes(4, "big"))
        return head

    def _check_length(self, request: Request, head: Head, length: int) -> None:
        lengths = set(head.values("content-length"))
        if wrong("head-has-content") and lengths != {str(length)}:
            raise ProtocolError("content that is missing")
        if not lengths or request.method == "HEAD" or head.status == 304 or wrong("accepts-short-content"):
            return
        if lengths != {str(length)}:
            violate("content-lengths", f"content of {length} bytes, not {', '.join(sorted(lengths))}")

    def _send_head(self, request: Request, user_agent: str) -> bytes:
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
        self.out += frame_bytes(HEADERS, flags, self._stream, self._encoder.encode(fields))
        return request.content[:-1] if wrong("cuts-its-content") else request.content

    def _send_content(self, content: bytes) -> bytes:
        """Send what the windows allow; return the rest."""
        count = max(0, min(len(content), FRAME_BYTES, self._window, self._stream_window))
        if wrong("ignores-windows"):
            count = len(content)
        if not count:
            return content
        self._window -= count
        self._stream_window -= count
        is_last = count == len(content)
        self.out += frame_bytes(DATA, END_STREAM if is_last else 0, self._stream, content[:count])
        return content[count:]

    def _read_frame(self, incoming: Incoming) -> Parser[Frame]:
        """Read a frame, and handle it unless it has content or fields of the stream."""
        frame = yield from self._next_frame(incoming)
        if self._is_first and (frame.kind != SETTINGS or frame.flags & ACK):
            violate("frame-order", "no SETTINGS first")
        self._is_first = False
        has_content = frame.kind in (DATA, HEADERS) and bool(frame.payload or frame.flags & END_STREAM)
        self._frames += not has_content
        while self._frames > FLOOD and wrong("deadlocks-on-floods"):
            yield
        if self._frames > FLOOD:
            raise TooLarge("frames without content")
        if frame.kind in (DATA, HEADERS):
            if frame.stream == self._stream and self._is_open:
                return frame
            violate("stream-states", "a frame of a stream that is not open")
            return replace(frame, kind=PRIORITY)
        self._handle(frame)
        return frame

    def _next_frame(self, incoming: Incoming) -> Parser[Frame]:
        head = yield from read_exactly(incoming, 9)
        length = int.from_bytes(head[:3], "big")
        if length > FRAME_BYTES and not wrong("accepts-large-frames"):
            raise ProtocolError(f"a frame of {length} bytes")
        payload = yield from read_exactly(incoming, length)
        if wrong("refuses-unknown-flags") and head[4] & ~(END_STREAM | END_HEADERS | PADDED | HAS_PRIORITY):
            raise ProtocolError("unknown flags")
        return Frame(head[3], head[4], int.from_bytes(head[5:9], "big") & WINDOW_MOST, payload)

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
        if frame.stream == 0 or frame.stream > self._stream or len(frame.payload) != 4:
            violate("frame-forms", "RST_STREAM")
            return
        if frame.stream != self._stream or not self._is_open:
            return
        code = int.from_bytes(frame.payload, "big")
        if code == REFUSED_STREAM:
            raise StreamRefused
        if wrong("reset-is-the-end"):
            self._is_reset = True
            return
        raise ProtocolError(f"reset with code {code}")

    def _on_settings(self, frame: Frame) -> None:
        payload = frame.payload
        if frame.stream or len(payload) % 6 or (frame.flags & ACK and payload):
            violate("frame-forms", "SETTINGS")
            return
        if frame.flags & ACK:
            return
        if wrong("refuses-unknown-settings") and payload[:2] > b"\0\x06":
            raise ProtocolError("an unknown setting")
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
            self._stream_window += value - self._initial_window
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
        if wrong("goaway-ends-every-stream") and self._is_open:
            raise ProtocolError("GOAWAY")
        if self._is_open and int.from_bytes(frame.payload[:4], "big") & WINDOW_MOST < self._stream:
            raise StreamRefused

    def _on_window(self, frame: Frame) -> None:
        increment = int.from_bytes(frame.payload, "big") & WINDOW_MOST
        if len(frame.payload) != 4 or not increment or frame.stream > self._stream:
            violate("window-rules", "WINDOW_UPDATE")
            return
        if frame.stream == 0:
            self._window += increment
        elif frame.stream == self._stream:
            self._stream_window += increment
        self._check_windows()

    def _check_windows(self) -> None:
        if max(self._window, self._stream_window) > WINDOW_MOST:
            violate("window-rules", "a window beyond 2^31 - 1")

    def _content(self, frame: Frame) -> bytes:
        count = len(frame.payload)
        self._received -= count
        self._stream_received -= count
        if min(self._received, self._stream_received) < 0:
            violate("window-rules", "more content than the window")
        if wrong("opens-no-window"):
            return _without_padding(frame)
        if self._received < WINDOW // 2:
            self.out += frame_bytes(WINDOW_UPDATE, 0, 0, (WINDOW - self._received).to_bytes(4, "big"))
            self._received = WINDOW
        if self._stream_received < WINDOW // 2 and not frame.flags & END_STREAM:
            increment = (WINDOW - self._stream_received).to_bytes(4, "big")
            self.out += frame_bytes(WINDOW_UPDATE, 0, self._stream, increment)
            self._stream_received = WINDOW
        return _without_padding(frame)

    def _read_head(self, incoming: Incoming, frame: Frame, head: Head | None) -> Parser[Head | None]:
        """Read a block of fields; return the final head, None after an interim one."""
        if head is not None and not frame.flags & END_STREAM:
            violate("frame-order", "trailers that do not end the stream")
        block = bytearray(_without_padding(frame))
        if frame.flags & HAS_PRIORITY and not wrong("knows-no-priority"):
            del block[:5]
        while not frame.flags & END_HEADERS:
            stream = frame.stream
            frame = yield from self._next_frame(incoming)
            if (frame.kind, frame.stream) != (CONTINUATION, stream) or wrong("knows-no-continuation"):
                violate("frame-order", "a block of fields that is interrupted")
                if frame.kind != CONTINUATION:
                    frame = Frame(CONTINUATION, 0, stream, b"")
            block += frame.payload
            if len(block) > bounded(BLOCK_BYTES, "unbounded-header-blocks"):
                raise TooLarge("a block of fields")
        if wrong("reads-plain-literals-only") and not _is_plain(block):
            raise ProtocolError("another representation of a field")
        try:
            fields = [(str(name), str(value)) for name, value in self._decoder.decode(bytes(block))]
        except HPACKError as error:
            violate("hpack-errors", str(error))
            fields = [(":status", "200")]
        return head_of(fields, head)


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
    for name, value in usual:
        is_odd = not _NAME.fullmatch(name) or re.search("[\0\r\n]|^[ \t]|[ \t]$", value)
        if is_odd or name in _OF_CONNECTIONS:
            violate("field-rules", f"the field {name}")
    if len(fields) > 50 and wrong("refuses-many-fields"):
        raise TooLarge("fields")
    if head is not None:
        _check_trailers(pseudo)
        return head
    if fields[: len(pseudo)] != pseudo:
        violate("field-rules", "a pseudo-header after a field")
    if not pseudo and wrong("status-defaults-to-200"):
        return Head(200, 1, usual)
    if [name for name, _ in pseudo] != [":status"] or not re.fullmatch("[1-5][0-9][0-9]", pseudo[0][1]):
        violate("field-rules", "no status")
    status = int(re.sub("[^0-9]", "0", dict(pseudo).get(":status", "200"))[:3])
    if status == 101:
        violate("field-rules", "101 over HTTP/2")
    return Head(status, 1, usual) if status >= 200 or wrong("interim-is-final") else None
