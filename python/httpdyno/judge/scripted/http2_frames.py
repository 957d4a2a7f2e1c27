"""Frames of HTTP/2: payloads for scripts, and the requests in the bytes of a client (RFC 9113, RFC 7541)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
TYPES: Final = {
    "DATA": 0,
    "HEADERS": 1,
    "PRIORITY": 2,
    "RST_STREAM": 3,
    "SETTINGS": 4,
    "PUSH_PROMISE": 5,
    "PING": 6,
    "GOAWAY": 7,
    "WINDOW_UPDATE": 8,
    "CONTINUATION": 9,
}
FLAGS: Final = {"END_STREAM": 0x1, "ACK": 0x1, "END_HEADERS": 0x4, "PADDED": 0x8, "PRIORITY": 0x20}
SETTINGS: Final = {
    "HEADER_TABLE_SIZE": 1,
    "ENABLE_PUSH": 2,
    "MAX_CONCURRENT_STREAMS": 3,
    "INITIAL_WINDOW_SIZE": 4,
    "MAX_FRAME_SIZE": 5,
    "MAX_HEADER_LIST_SIZE": 6,
    "ENABLE_CONNECT_PROTOCOL": 8,
}
ERRORS: Final = (
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
)
_HEAD: Final = 9


def encode_fields(fields: Sequence[tuple[str, str]]) -> bytes:
    """Return fields as literals without indexing and without Huffman codes (RFC 7541, section 6.2.2).

    No literal needs the state of the connection. Names and values are latin-1: a character is a byte.
    """
    return b"".join(
        b"\x00" + b"".join(_integer(len(text), 7) + text for text in (name.encode("latin-1"), value.encode("latin-1")))
        for name, value in fields
    )


def _integer(number: int, bits: int) -> bytes:
    """Return an integer with a prefix of so many bits (RFC 7541, section 5.1)."""
    most = (1 << bits) - 1
    if number < most:
        return bytes([number])
    number -= most
    found = bytearray([most])
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def encode_settings(settings: dict[str, int]) -> bytes:
    """Return the payload of SETTINGS; a name may be a number such as ``0x99``.

    Raises
    ------
    ValueError
        If a name is unknown, or a number too large.
    """
    payload = b""
    for name, value in settings.items():
        identifier = SETTINGS.get(name)
        if identifier is None:
            try:
                identifier = int(name, 0)
            except ValueError:
                raise ValueError(f"unknown setting `{name}`; known: {', '.join(SETTINGS)}, or a number") from None
        if not (0 <= identifier < 2**16 and 0 <= value < 2**32):
            raise ValueError(f"setting {name} = {value}: names have 16 bits, values 32")
        payload += identifier.to_bytes(2, "big") + value.to_bytes(4, "big")
    return payload


def error_code(error: str | int) -> bytes:
    """Return an error code in four bytes; raise ``ValueError`` for an unknown name."""
    if isinstance(error, str):
        if error not in ERRORS:
            raise ValueError(f"unknown error `{error}`; known: {', '.join(ERRORS)}, or a number")
        error = ERRORS.index(error)
    return error.to_bytes(4, "big")


def number_of(name: str | int, known: dict[str, int], what: str) -> int:
    """Return the number of a type or of a flag; raise ``ValueError`` for an unknown name."""
    if isinstance(name, int):
        return name
    if name not in known:
        raise ValueError(f"unknown {what} `{name}`; known: {', '.join(known)}, or a number")
    return known[name]


@dataclass(frozen=True, slots=True)
class ReadFrame:
    """A frame that was read."""

    type: int
    flags: int
    stream: int
    payload: bytes

    @property
    def name(self) -> str:
        """Name of the type, or its number."""
        return next((name for name, number in TYPES.items() if number == self.type), str(self.type))

    def fragment(self) -> bytes:
        """Return the part of a field section in HEADERS or CONTINUATION, without padding and priority."""
        start, end = 0, len(self.payload)
        if self.type == TYPES["CONTINUATION"]:
            return self.payload
        if self.flags & FLAGS["PADDED"] and self.payload:
            start, end = 1, end - self.payload[0]
        if self.flags & FLAGS["PRIORITY"]:
            start += 5
        return self.payload[start:end]

    def __str__(self) -> str:
        """Describe the frame: ``SETTINGS on 0: ENABLE_PUSH=0``, ``DATA END_STREAM on 1: 5 bytes``."""
        known = _FLAGS_OF.get(self.name, ())
        name = " ".join([self.name, *(flag for flag in known if self.flags & FLAGS[flag])])
        content = self._content()
        return f"{name} on {self.stream}{': ' if content else ''}{content}"

    def _content(self) -> str:
        match self.name:
            case "SETTINGS":
                pairs = [self.payload[at : at + 6] for at in range(0, len(self.payload), 6)]
                return ", ".join(f"{_setting(pair[:2])}={int.from_bytes(pair[2:])}" for pair in pairs)
            case "RST_STREAM":
                return _error(self.payload)
            case "GOAWAY":
                return _error(self.payload[4:8])
            case "WINDOW_UPDATE":
                return str(int.from_bytes(self.payload))
            case "PING":
                return self.payload.hex()
        return f"{len(self.payload)} bytes"


_FLAGS_OF: Final = {
    "DATA": ("END_STREAM",),
    "HEADERS": ("END_STREAM", "END_HEADERS"),
    "CONTINUATION": ("END_HEADERS",),
    "SETTINGS": ("ACK",),
    "PING": ("ACK",),
}


def _setting(identifier: bytes) -> str:
    number = int.from_bytes(identifier)
    return next((name for name, known in SETTINGS.items() if known == number), f"0x{number:x}")


def _error(code: bytes) -> str:
    number = int.from_bytes(code)
    return ERRORS[number] if number < len(ERRORS) else f"0x{number:x}"


def read_frames(sent: bytes) -> Iterator[ReadFrame]:
    """Yield the whole frames of a connection, after the preface; the rest may be incomplete."""
    for frame, _ in frames_with_ends(sent):
        yield frame


def frames_with_ends(sent: bytes) -> Iterator[tuple[ReadFrame, int]]:
    """Yield the whole frames of a connection, each with the number of bytes up to its end."""
    at = len(PREFACE) if sent.startswith(PREFACE) else 0
    while at + _HEAD <= len(sent):
        length = int.from_bytes(sent[at : at + 3], "big")
        end = at + _HEAD + length
        if end > len(sent):
            return
        stream = int.from_bytes(sent[at + 5 : at + 9], "big") & 0x7FFFFFFF
        yield ReadFrame(sent[at + 3], sent[at + 4], stream, sent[at + _HEAD : end]), end
        at = end


def show_requests(sent: bytes) -> bytes:
    r"""Return what a client sent over HTTP/2 as text: ``:method: GET\r\n`` and so on, an empty line, the content.

    Content stands where its frame came. A field section that cannot be decoded is shown as such.
    """
    from hpack import Decoder, HPACKError  # only cases over HTTP/2 need it

    decoder, shown, block = Decoder(), bytearray(), bytearray()
    for frame in read_frames(sent):
        if frame.type in {TYPES["HEADERS"], TYPES["CONTINUATION"]}:
            block += frame.fragment()
            if frame.flags & FLAGS["END_HEADERS"]:
                try:
                    for field in decoder.decode(bytes(block), raw=True):
                        name, value = field[0], field[1]
                        shown += _as_bytes(name) + b": " + _as_bytes(value) + b"\r\n"
                    shown += b"\r\n"
                except HPACKError as error:
                    shown += f"(undecodable: {error})\r\n\r\n".encode()
                block.clear()
        elif frame.type == TYPES["DATA"]:
            start, end = 0, len(frame.payload)
            if frame.flags & FLAGS["PADDED"] and frame.payload:
                start, end = 1, end - frame.payload[0]
            shown += frame.payload[start:end]
    return bytes(shown)


def _as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1", "replace")
