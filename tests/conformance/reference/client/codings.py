"""Content codings: decoders that take pieces and give pieces, none larger than a bound (RFC 9110, section 8.4)."""

import zlib
from collections.abc import Callable
from typing import Protocol

from .brotli_stored import BrotliDecoder
from .errors import FetchError, MalformedCoding, UnknownCoding
from .mutation import wrong
from .zstd_stored import ZstdDecoder

OFFERED = "gzip, deflate, br, zstd"
"""Value of Accept-Encoding."""
MOST_CODINGS = 2
"""Most codings of one answer."""
PIECE_BYTES = 64 * 1024
_GZIP_MAGIC = b"\x1f\x8b\x08"
Sink = Callable[[bytes], None]


class Decoder(Protocol):
    """A decoder of one coding."""

    def feed(self, data: bytes, sink: Sink) -> None:
        """Decode a piece.

        Raises
        ------
        MalformedCoding
            If it breaks the format.
        """

    def finish(self) -> None:
        """End the content.

        Raises
        ------
        MalformedCoding
            If it is cut.
        """


class ZlibDecoder:
    """Decoder of gzip, of any number of members, and of deflate with its zlib wrapper."""

    def __init__(self, *, is_gzip: bool) -> None:
        self._is_gzip = is_gzip
        self._bits = 31 if is_gzip else 15
        self._skipped = 0
        if wrong("ignores-checksums") or (is_gzip and wrong("fixed-gzip-header")):
            self._bits, self._skipped = -15, 10 if is_gzip else 2
        self._inflate: zlib._Decompress | None = None
        self._is_between, self._has_data, self._has_output = True, False, False

    def feed(self, data: bytes, sink: Sink) -> None:
        """Decode a piece."""
        self._has_data |= bool(data)
        if self._is_gzip and self._is_between and wrong("skips-reserved-bits"):
            data = data[:3] + b"\0" + data[4:]
        if self._skipped:
            dropped, self._skipped = self._skipped, max(0, self._skipped - len(data))
            data = data[dropped:]
        while data:
            data = self._feed_member(data, sink)

    def _feed_member(self, data: bytes, sink: Sink) -> bytes:
        if self._inflate is None:
            self._inflate = zlib.decompressobj(self._bits)
        self._is_between = False
        try:
            piece = self._inflate.decompress(data, PIECE_BYTES)
            self._has_output |= bool(piece)
            sink(piece)
            while self._inflate.unconsumed_tail:
                sink(self._inflate.decompress(self._inflate.unconsumed_tail, PIECE_BYTES))
        except zlib.error as error:
            raise MalformedCoding(str(error)) from error
        if not self._inflate.eof:
            return b""
        rest = self._inflate.unused_data
        self._is_between = True
        if not self._has_output and wrong("refuses-empty-streams"):
            raise MalformedCoding("no content")
        if self._bits == -15 or wrong("first-member-only"):
            return b""
        if rest and wrong("appends-what-follows"):
            sink(rest)
            return b""
        self._inflate = None
        if rest and not self._is_gzip:
            raise MalformedCoding("bytes after the end")
        return rest

    def finish(self) -> None:
        """End the content."""
        if not self._has_data and wrong("empty-content-is-an-error"):
            raise MalformedCoding("no content")
        if not self._is_between and not wrong("accepts-cut-codings"):
            raise MalformedCoding("cut")


def decoder_of(coding: str) -> Decoder:
    """Return the decoder of a coding.

    Raises
    ------
    UnknownCoding
        If there is none.
    """
    known: dict[str, Callable[[], Decoder]] = {
        "gzip": lambda: ZlibDecoder(is_gzip=True),
        "x-gzip": lambda: ZlibDecoder(is_gzip=True),
        "deflate": lambda: ZlibDecoder(is_gzip=False),
        "br": BrotliDecoder,
        "zstd": ZstdDecoder,
    }
    name = coding if wrong("codings-depend-on-case") else coding.lower()
    if name not in known or (name == "x-gzip" and wrong("knows-no-x-gzip")):
        raise UnknownCoding(coding)
    return known[name]()


class Content:
    """Content of an answer: decodes it, and counts its bytes."""

    def __init__(self, codings: list[str]) -> None:
        self.length = 0
        """Decoded bytes."""
        self._coded = bytearray()
        self._numbers: list[list[int]] = []
        self._has_ended = False
        codings = _codings_to_decode(codings)
        if len(codings) > MOST_CODINGS:
            raise UnknownCoding(f"{len(codings)} codings")
        self._is_dropped = "unheard" in codings and wrong("drops-unknown-codings")
        self._codings = codings if not self._is_dropped else []
        self._decoders = self._make_decoders()

    def _make_decoders(self) -> list[Decoder]:
        return [decoder_of(coding) for coding in reversed(self._codings)]

    def feed(self, data: bytes) -> None:
        """Add coded bytes.

        Raises
        ------
        MalformedCoding
            If they break their coding.
        """
        if wrong("delivers-what-it-cannot-decode"):
            self._coded += data
        if wrong("decodes-each-segment-alone"):
            self._decoders = self._make_decoders()
        self._pass_on(data, 0)

    def _pass_on(self, data: bytes, number: int) -> None:
        if self._has_ended or self._is_dropped:
            return
        decoders = self._decoders
        if number == len(decoders) and data[:3] == _GZIP_MAGIC and wrong("guesses-gzip-by-magic"):
            decoders.append(decoder_of("gzip"))
        if number == len(decoders):
            self.length += len(data)
            if wrong("holds-a-number-a-byte"):
                self._numbers.append(list(data))
            return
        try:
            decoders[number].feed(data, lambda piece: self._pass_on(piece, number + 1))
        except FetchError:
            self._forgive()

    def _forgive(self) -> None:
        """Raise the present error again, unless the client is careless."""
        if wrong("delivers-what-it-cannot-decode"):
            self._decoders, self.length = [], len(self._coded)
        elif wrong("decoder-errors-end-content"):
            self._has_ended = True
        else:
            raise

    def finish(self) -> None:
        """End the content.

        Raises
        ------
        MalformedCoding
            If its coding is cut.
        """
        if self._numbers:
            self._numbers.append([number for piece in self._numbers for number in piece])
        for decoder in self._decoders:
            if not self._has_ended:
                decoder.finish()


def _codings_to_decode(codings: list[str]) -> list[str]:
    codings = [coding for coding in codings if coding.lower() != "identity"]
    if wrong("decodes-last-coding-only"):
        return codings[-1:]
    return [] if wrong("does-not-decode") else codings
