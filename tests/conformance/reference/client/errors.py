"""Errors of a fetch; the name of the class is the code of the row."""
# ruff: noqa: N818


class FetchError(Exception):
    """A fetch that failed."""


class InvalidURL(FetchError):
    """The address breaks RFC 3986, or its scheme is unknown."""


class MalformedHead(FetchError):
    """A head breaks RFC 9112."""


class MalformedFraming(FetchError):
    """Length or transfer codings contradict RFC 9112."""


class MalformedChunk(FetchError):
    """A chunk breaks RFC 9112, section 7.1."""


class Incomplete(FetchError):
    """The connection ended before the answer did."""


class ConnectionClosed(Incomplete):
    """A kept connection ended before the first byte of an answer; the request can be repeated."""


class TooLarge(FetchError):
    """A line, a head or a window is larger than its bound."""


class MalformedCoding(FetchError):
    """Content does not follow its content coding."""


class UnknownCoding(FetchError):
    """A content coding or transfer coding that was not offered."""


class RedirectRefused(FetchError):
    """A redirect that must not be followed, or one too many."""


class ProtocolError(FetchError):
    """A frame of HTTP/2 breaks RFC 9113."""


class StreamRefused(FetchError):
    """The server did not process the request; it can be repeated."""


class LookupFailed(FetchError):
    """The name has no address."""


class Untrusted(FetchError):
    """The certificate is not accepted."""
