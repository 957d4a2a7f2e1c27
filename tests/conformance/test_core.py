"""The core of the reference client, without a network: bytes in, answers out."""

import pytest

from conformance.reference.client import errors
from conformance.reference.client.address import parse_address, resolve
from conformance.reference.client.codings import Content
from conformance.reference.client.content import framing_of, read_content
from conformance.reference.client.cookies import CookieJar
from conformance.reference.client.head import Head, read_head
from conformance.reference.client.http2 import (
    CONTINUATION,
    DATA,
    GOAWAY,
    HEADERS,
    PING,
    SETTINGS,
    Http2Session,
    frame_bytes,
)
from conformance.reference.client.incoming import Incoming, Parser, Result
from conformance.reference.client.redirects import Redirects
from conformance.reference.client.request import Request, http1_bytes
from conformance.reference.client.zstd_stored import XxHash64
from httpdyno.judge.scripted.codings import code

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def read_answer(incoming: Incoming, method: str) -> Parser[tuple[int, bytes]]:
    head = yield from read_head(incoming)
    content = bytearray()
    yield from read_content(incoming, framing_of(head, method), content.extend)
    return head.status, bytes(content)


def feed(parser: Parser[Result], incoming: Incoming, data: bytes, piece: int) -> Result:
    """Give bytes to a parser in pieces, and then a clean end."""
    pieces = [data[at : at + piece] for at in range(0, len(data), piece)]
    while True:
        try:
            next(parser)
        except StopIteration as end:
            result: Result = end.value
            return result
        if pieces:
            incoming.data += pieces.pop(0)
        else:
            assert incoming.end is None, "it waits for bytes after the end"
            incoming.end = "clean"


ANSWERS = {
    OK + b"Content-Length: 5\r\n\r\nhello": (200, b"hello"),
    OK + b"Content-Length: 5, 5\r\n\r\nhello": (200, b"hello"),
    OK + b"\r\nhello": (200, b"hello"),
    b"HTTP/1.0 404 \r\nContent-Length: 0\r\n\r\n": (404, b""),
    b"HTTP/1.1 103 Early\r\nLink: a\r\n\r\n" + OK + b"Content-Length: 1\r\n\r\na": (200, b"a"),
    b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n": (204, b""),
    CHUNKED + b"5\r\nhello\r\n0\r\n\r\n": (200, b"hello"),
    CHUNKED + b'00A;a="b;\\"c" ; d = e\r\nhellohello\r\n000\r\nX-Trailer: a\r\n\r\n': (200, b"hellohello"),
    OK + b"Transfer-Encoding:\r\n chunked\r\nContent-Length: 1\r\n\r\n1\r\na\r\n0\r\n\r\n": (200, b"a"),
}
BROKEN = {
    b"": errors.Incomplete,
    OK: errors.Incomplete,
    OK + b"Content-Length: 5\r\n\r\nhell": errors.Incomplete,
    CHUNKED + b"5\r\nhello\r\n": errors.Incomplete,
    CHUNKED + b"5\r\nhelloX\r\n0\r\n\r\n": errors.MalformedChunk,
    CHUNKED + b"+5\r\nhello\r\n0\r\n\r\n": errors.MalformedChunk,
    CHUNKED + b"5\nhello\n0\n\n": errors.MalformedChunk,
    CHUNKED + b'5;a="b\r\nhello\r\n0\r\n\r\n': errors.MalformedChunk,
    OK + b"Content-Length: -5\r\n\r\nhello": errors.MalformedFraming,
    OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello": errors.MalformedFraming,
    OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n": errors.UnknownCoding,
    OK + b" X: a\r\n\r\n": errors.MalformedHead,
    OK + b"X : a\r\n\r\n": errors.MalformedHead,
    OK + b"X: a\rb\r\n\r\n": errors.MalformedHead,
    OK + b"X: a\n\r\n": errors.MalformedHead,
    OK + b"X: " + b"a" * 90_000 + b"\r\n\r\n": errors.TooLarge,
    OK + b"X: a\r\n" * 3000 + b"\r\n": errors.TooLarge,
    b"HTTP/1.1 99 Odd\r\n\r\n": errors.MalformedHead,
    b"HTTP/2.0 200 OK\r\n\r\n": errors.MalformedHead,
    b"HTTP/1.1 101 Switching\r\n\r\n": errors.MalformedHead,
}


@pytest.mark.parametrize("piece", [1, 7, 1_000_000])
@pytest.mark.parametrize("data", ANSWERS)
def test_answers(data: bytes, piece: int) -> None:
    incoming = Incoming()
    assert feed(read_answer(incoming, "GET"), incoming, data, piece) == ANSWERS[data]


@pytest.mark.parametrize("piece", [1, 1_000_000])
@pytest.mark.parametrize("data", BROKEN, ids=lambda data: repr(data[:60]))
def test_broken_answers(data: bytes, piece: int) -> None:
    incoming = Incoming()
    with pytest.raises(errors.FetchError) as raised:
        feed(read_answer(incoming, "GET"), incoming, data, piece)
    assert raised.type is BROKEN[data]


def test_an_answer_ends_before_what_follows() -> None:
    incoming = Incoming()
    data = OK + b"Content-Length: 5\r\n\r\nhello" + OK
    assert feed(read_answer(incoming, "HEAD"), incoming, data, 1_000_000) == (200, b"")
    assert incoming.data == b"hello" + OK


RESOLVED = {
    # RFC 3986, section 5.4.
    "g": "/b/c/g",
    "./g": "/b/c/g",
    "g/": "/b/c/g/",
    "/g": "/g",
    "?y": "/b/c/d;p?y",
    "g?y": "/b/c/g?y",
    "#s": "/b/c/d;p?q",
    "g#s": "/b/c/g",
    ";x": "/b/c/;x",
    "": "/b/c/d;p?q",
    ".": "/b/c/",
    "./": "/b/c/",
    "..": "/b/",
    "../g": "/b/g",
    "../..": "/",
    "../../g": "/g",
    "../../../g": "/g",
    "/./g": "/g",
    "/../g": "/g",
    "g.": "/b/c/g.",
    "..g": "/b/c/..g",
    "./../g": "/b/g",
    "g/./h": "/b/c/g/h",
    "g;x=1/../y": "/b/c/y",
    "g?y/../x": "/b/c/g?y/../x",
}


@pytest.mark.parametrize("reference", RESOLVED)
def test_references(reference: str) -> None:
    address = resolve(parse_address("http://a/b/c/d;p?q"), reference)
    assert (address.host, address.target) == ("a", RESOLVED[reference])


@pytest.mark.parametrize(
    ("url", "host", "target"),
    [
        ("HTTP://A.Test:80", "a.test", "/"),
        ("https://a.test:444?x", "a.test:444", "/?x"),
        ("http://bücher.test/ü?é#f", "xn--bcher-kva.test", "/%C3%BC?%C3%A9"),
        ("http://u:p@a.test/%2f|", "a.test", "/%2f%7C"),
    ],
)
def test_addresses(url: str, host: str, target: str) -> None:
    address = parse_address(url)
    assert (address.host_field, address.target) == (host, target)


@pytest.mark.parametrize(
    "url",
    ["a", "ftp://a/", "http:///a", "http://a:65616/", "http://a:x/", "http://a b/", "http://a/%zz", "http://a%0d/"],
)
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(errors.InvalidURL):
        parse_address(url)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("content", [b"", b"a", b"hello world" * 20_000, bytes(300_000)], ids=len)
@pytest.mark.parametrize("piece", [1009, 1_000_000])
def test_codings(coding: str, content: bytes, piece: int) -> None:
    coded, read = code(content, [coding]), Content([coding])
    for at in range(0, len(coded), piece):
        read.feed(coded[at : at + piece])
    read.finish()
    assert read.length == len(content)
    cut = Content([coding])
    cut.feed(coded[:-1])
    with pytest.raises(errors.MalformedCoding):
        cut.finish()


@pytest.mark.parametrize(
    ("data", "digest"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_the_checksum_of_zstd(data: bytes, digest: int) -> None:
    hashed = XxHash64()
    hashed.update(data)
    assert hashed.digest() == digest


@pytest.mark.parametrize(
    ("line", "url", "is_sent"),
    [
        ("a=1", "http://x.test/", True),
        ("a=1", "http://y.x.test/", False),
        ("a=1; Domain=x.test", "http://y.x.test/", True),
        ("a=1; Domain=test", "http://y.test/", False),
        ("a=1; Domain=y.test", "http://y.test/", False),
        ("a=1; Path=/p", "http://x.test/p/q", True),
        ("a=1; Path=/p", "http://x.test/pq", False),
        ("a=1; Secure", "http://x.test/", False),
        ("a=1; Secure", "https://x.test/", True),
        ("a=1; Max-Age=0", "http://x.test/", False),
    ],
)
def test_cookies(line: str, url: str, is_sent: bool) -> None:
    jar = CookieJar()
    jar.store(parse_address("http://x.test/"), [line])
    assert jar.value_for(parse_address(url)) == ("a=1" if is_sent else "")


@pytest.mark.parametrize(
    ("method", "status", "following"),
    [
        ("GET", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("HEAD", 303, "HEAD"),
        ("POST", 307, "POST"),
        ("POST", 308, "POST"),
        ("GET", 200, None),
        ("GET", 304, None),
    ],
)
def test_redirects(method: str, status: int, following: str | None) -> None:
    first = Request(method, parse_address("http://x.test/a/b"), b"text", "Basic YTpi")
    found = Redirects(first).next_request(first, Head(status, 1, (("location", "//y.test/c"),)))
    if following is None:
        assert found is None
        return
    assert found
    assert (found.method, found.address.host, found.address.target) == (following, "y.test", "/c")
    assert found.authorization is None
    assert found.content == (b"" if following == "GET" and method == "POST" else b"text")


def test_a_request() -> None:
    sent = http1_bytes(Request("POST", parse_address("http://x.test/"), b"text"), "me", keepalive=False)
    head, _, content = sent.partition(b"\r\n\r\n")
    assert content == b"text"
    assert head.splitlines() == [
        b"POST / HTTP/1.1",
        b"Host: x.test",
        b"User-Agent: me",
        b"Accept: */*",
        b"Accept-Encoding: gzip, deflate, br, zstd",
        b"Content-Length: 4",
        b"Content-Type: text/plain; charset=utf-8",
        b"Connection: close",
    ]


STATUS, LENGTH = b"\x88", b"\x0f\x0d\x015"
"""`:status: 200` and `content-length: 5` in HPACK."""
FIRST = frame_bytes(SETTINGS, 0, 0)
HELLO = frame_bytes(DATA, 1, 1, b"hello")
WHOLE = frame_bytes(HEADERS, 4, 1, STATUS + LENGTH) + HELLO
HTTP2 = {
    FIRST + WHOLE: 200,
    FIRST + frame_bytes(187, 0, 0, b"a") + WHOLE: 200,
    FIRST
    + frame_bytes(HEADERS, 0, 1, STATUS)
    + frame_bytes(CONTINUATION, 4, 1, LENGTH)
    + frame_bytes(DATA, 1, 1, b"hello"): 200,
    WHOLE: errors.ProtocolError,
    FIRST + HELLO: errors.ProtocolError,
    FIRST + frame_bytes(HEADERS, 5, 1, LENGTH): errors.ProtocolError,
    FIRST + frame_bytes(HEADERS, 4, 1, STATUS + LENGTH) + frame_bytes(DATA, 1, 1, b"hell"): errors.ProtocolError,
    FIRST + frame_bytes(HEADERS, 4, 3, STATUS): errors.ProtocolError,
    FIRST + frame_bytes(HEADERS, 12, 1, b"\x09" + STATUS): errors.ProtocolError,
    FIRST + frame_bytes(GOAWAY, 0, 0, bytes(8)): errors.StreamRefused,
    FIRST + frame_bytes(PING, 0, 0, b"short"): errors.ProtocolError,
    FIRST + frame_bytes(SETTINGS, 0, 0, b"short"): errors.ProtocolError,
    FIRST: errors.Incomplete,
}


@pytest.mark.parametrize("piece", [1, 1_000_000])
@pytest.mark.parametrize("data", HTTP2)
def test_http2(data: bytes, piece: int) -> None:
    incoming, expected = Incoming(), HTTP2[data]
    content = bytearray()
    request = Request("GET", parse_address("https://x.test/"))
    parser = Http2Session().exchange(incoming, request, "me", lambda _, more: content.extend(more))
    if isinstance(expected, int):
        assert feed(parser, incoming, data, piece).status == expected
        assert content == b"hello"
        return
    with pytest.raises(errors.FetchError) as raised:
        feed(parser, incoming, data, piece)
    assert raised.type is expected
