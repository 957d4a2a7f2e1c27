"""Requests: what is sent, as bytes of HTTP/1.1."""

import base64
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

from .address import Address
from .codings import OFFERED
from .mutation import wrong

_CONTENT_TYPE = "text/plain; charset=utf-8"


@dataclass(frozen=True)
class Request:
    """A request."""

    method: str
    address: Address
    content: bytes = b""
    authorization: str | None = None
    cookie: str = ""
    referer: str = ""
    host: str = ""
    """Value of Host; empty: that of the address."""
    proxy: Address | None = None
    """Server that it is sent to, in place of that of the address."""

    @property
    def is_idempotent(self) -> bool:
        """Whether it may be repeated (RFC 9110, section 9.2.2)."""
        return self.method in ("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE")

    def fields(self, user_agent: str) -> list[tuple[str, str]]:
        """Return the fields after Host that do not belong to the connection."""
        fields = [("User-Agent", user_agent), ("Accept", "*/*"), ("Accept-Encoding", OFFERED)]
        if self.authorization is not None:
            fields.append(("Authorization", self.authorization))
        if self.cookie:
            fields.append(("Cookie", self.cookie))
        if self.referer:
            fields.append(("Referer", self.referer))
        if self.content or self.method in ("POST", "PUT", "PATCH"):
            if not wrong("content-without-length") and not wrong("posts-in-chunks"):
                fields.append(("Content-Length", str(len(self.content))))
            fields.append(("Content-Type", _CONTENT_TYPE))
        return _spoil(fields)


def _spoil(fields: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Add and change the fields of a careless client."""
    changed = {
        "no-user-agent": ("User-Agent", ""),
        "sends-odd-accept": ("Accept", "everything"),
        "sends-odd-accept-encoding": ("Accept-Encoding", "gzip;q=high"),
    }
    added = {
        "user-agent-twice": ("User-Agent", "again"),
        "content-type-with-get": ("Content-Type", "text/plain"),
        "expects-with-get": ("Expect", "100-continue"),
        "length-with-get": ("Content-Length", "0"),
        "sends-proxy-connection": ("Proxy-Connection", "keep-alive"),
        "referer-in-first-request": ("Referer", "http://search.test/"),
        "te-without-connection": ("TE", "trailers"),
        "te-chunked": ("TE", "chunked"),
        "upgrade-without-connection": ("Upgrade", "h2c"),
        "posts-in-chunks": ("Transfer-Encoding", "chunked"),
    }
    for mutation, (name, value) in changed.items():
        if wrong(mutation):
            fields = [(known, value if known == name else old) for known, old in fields]
    return [
        (name, value)
        for name, value in [*fields, *(field for mutation, field in added.items() if wrong(mutation))]
        if value
    ]


def http1_bytes(request: Request, user_agent: str, *, keepalive: bool) -> bytes:
    """Return the bytes of a request in HTTP/1.1."""
    address = request.address
    if wrong("speaks-gopher") and address.path.startswith("/_"):
        return unquote_to_bytes(address.path[2:])
    target = f"http://{address.host_field}{address.target}" if request.proxy else address.target
    host = [] if wrong("no-host") else [("Host", request.host or address.host_field)]
    fields = request.fields(user_agent)
    if not keepalive and not wrong("hides-close"):
        fields.append(("Connection", "close"))
    fields = [*fields, *host] if wrong("host-comes-last") else [*host, *fields]
    version = "HTTP/1.0" if wrong("sends-1-0") else "HTTP/1.1"
    lines = [f"{request.method} {target} {version}", *(f"{name}: {value}" for name, value in fields), "", ""]
    end = "\n" if wrong("ends-lines-with-lf") else "\r\n"
    # A careless client sends characters of a host beyond latin-1, and bytes that are encoded already.
    head = end.join(lines).encode("latin-1", errors="replace")
    content = request.content
    if wrong("posts-in-chunks"):
        content = b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content)
    return head + content


def basic_authorization(userinfo: str) -> str:
    """Return the value of Authorization for the userinfo of an address (RFC 7617)."""
    if wrong("sends-userinfo-without-base64"):
        return f"Basic {unquote_to_bytes(userinfo).decode('latin-1')}"
    text = userinfo.encode() if wrong("keeps-encoding-of-userinfo") else unquote_to_bytes(userinfo)
    if b":" not in text:
        text += b":"
    return f"Basic {base64.b64encode(text).decode()}"
