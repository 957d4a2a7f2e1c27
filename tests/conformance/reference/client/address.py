"""Addresses: parts of a URL, references to others, and the target of a request (RFC 3986; RFC 9112, section 3.2)."""

import re
from dataclasses import dataclass, replace
from urllib.parse import unquote

from .errors import InvalidURL
from .mutation import wrong

_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?", re.DOTALL)
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[0-9a-z._-]+|\[[0-9a-f:.]+\]")
_SENT_AS_IT_IS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?@!$&'()*+,;=%[]")
_DELIMITERS = ";=,:@!$&'()*+"
_CUT = 2048


@dataclass(frozen=True)
class Address:
    """Parts of a URL; the path is never empty, ``query`` is None or has its question mark."""

    scheme: str
    host: str
    port: int
    path: str
    query: str | None = None
    userinfo: str | None = None
    text: str = ""
    """As it was given."""

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port."""
        return self.scheme, self.host, self.port

    @property
    def host_field(self) -> str:
        """Value of Host: the port only if it is not the default."""
        host = self.host
        if wrong("host-field-has-userinfo") and self.userinfo:
            host = f"{self.userinfo}@{host}"
        is_default = self.port == _DEFAULT_PORTS[self.scheme] or wrong("host-without-port")
        return host if is_default else f"{host}:{self.port}"

    @property
    def lookup_name(self) -> str:
        """Name that is looked up."""
        name = re.split(r"[\r\n]", unquote(self.host))[0] if "%" in self.host or "\r" in self.host else self.host
        name = name.encode("idna").decode() if not name.isascii() else name
        return f"{name}:{self.port}" if wrong("port-is-part-of-the-name") else name

    @property
    def target(self) -> str:
        """Target of a request, as latin-1."""
        text = f"{self.path}{self.query or ''}"
        if wrong("decodes-before-sending"):
            return unquote(text)
        if wrong("drops-empty-query") and self.query == "?":
            text = self.path
        if wrong("merges-slashes"):
            text = re.sub("//+", "/", text)
        if wrong("cuts-long-addresses"):
            text = text[:_CUT]
        target = "".join(_encode(character) for character in text)
        if wrong("sends-fragments"):
            target += (_PARTS.fullmatch(self.text) or [""] * 6)[5] or ""
        return f"{self.scheme}://{self.host_field}{target}" if wrong("sends-absolute-form") else target


def sends_blanks() -> bool:
    """Return whether a careless client sends blanks in a target."""
    return wrong("sends-blanks") or wrong("reads-cr-as-blank")


def _encode(character: str) -> str:
    """Encode a character that an address must not have."""
    if character in _DELIMITERS and wrong("encodes-delimiters"):
        return f"%{ord(character):02X}"
    is_raw = (
        (character in '"<>{}|^`\\' and wrong("sends-forbidden-characters"))
        or (character == " " and sends_blanks())
        or (character in "\r\0" and wrong("sends-control-characters"))
        or (not character.isascii() and wrong("sends-bytes-beyond-ascii"))
    )
    if character in _SENT_AS_IT_IS:
        return character
    coded = character.encode()
    return coded.decode("latin-1") if is_raw else "".join(f"%{byte:02X}" for byte in coded)


def parse_address(text: str) -> Address:
    """Return the parts of a URL.

    Raises
    ------
    InvalidURL
        If it is no absolute http or https URL.
    """
    found = _PARTS.fullmatch(text)
    if not found or (re.search(r"[\0-\x1f\x7f]", text) and not wrong("sends-control-characters")):
        raise InvalidURL(text)
    scheme, authority, path, query = found[1] or "", found[2], found[3], found[4]
    if not wrong("schemes-depend-on-case"):
        scheme = scheme.lower()
    if scheme not in _DEFAULT_PORTS and (wrong("unknown-schemes-are-http") or wrong("speaks-gopher")):
        scheme = "http"
    if scheme not in _DEFAULT_PORTS or authority is None:
        raise InvalidURL(text)
    if not authority and wrong("skips-empty-hosts"):
        authority, slash, rest = path.lstrip("/").partition("/")
        path = slash + rest
    userinfo, at, host_port = authority.rpartition("@")
    host, port = _parse_host(host_port, scheme)
    _check_characters(path + (query or ""))
    if not path and not wrong("empty-path-stays-empty"):
        path = "/"
    return Address(scheme, host, port, path, query, userinfo if at else None, text)


def _parse_host(text: str, scheme: str) -> tuple[str, int]:
    found = re.fullmatch(r"(\[[^]]*\]|[^:]*)(?::([0-9]*))?", text, re.DOTALL)
    if not found and wrong("decodes-hosts"):
        return unquote(text), _DEFAULT_PORTS[scheme]
    if not found:
        raise InvalidURL(text)
    host = found[1]
    if host != host.lower() and wrong("refuses-upper-case-hosts"):
        raise InvalidURL(text)
    port = int(found[2]) if found[2] else _DEFAULT_PORTS[scheme]
    if wrong("ports-wrap-at-16-bits"):
        port %= 2**16
    if not 0 < port < 2**16:
        raise InvalidURL(text)
    if wrong("keeps-encoded-hosts") or (wrong("hosts-in-utf-8") and not host.isascii()):
        return host, port
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError as error:
            raise InvalidURL(text) from error
    if not _HOST.fullmatch(host.lower()):
        raise InvalidURL(text)
    return host.lower(), port


def _check_characters(text: str) -> None:
    """Raise `InvalidURL` for a blank, or a percent sign without two digits."""
    if " " in text and not sends_blanks():
        raise InvalidURL(text)
    if re.search("%(?![0-9A-Fa-f]{2})", text) and not wrong("sends-broken-percent"):
        raise InvalidURL(text)


def resolve(base: Address, reference: str) -> Address:
    """Return the address that a reference names (RFC 3986, section 5.2); its fragment is left out.

    Raises
    ------
    InvalidURL
        If that is no http or https URL.
    """
    if wrong("joins-addresses-as-text") and not reference.startswith(("http:", "https:")):
        return parse_address(f"{base.scheme}://{base.host_field}{base.path}{base.query or ''}{reference}")
    found = _PARTS.fullmatch(reference)
    if not found:
        raise InvalidURL(reference)
    scheme, authority, path, query = found[1], found[2], found[3], found[4]
    if scheme:
        address = parse_address(reference)
        return _with_first_scheme(base, replace(address, path=_path(address.path)))
    if authority is not None and not wrong("double-slash-is-a-path"):
        address = parse_address(f"{base.scheme}:{reference}")
        return replace(address, path=_path(address.path))
    if authority is not None:
        path = f"//{authority}{path}"
    _check_characters(path + (query or ""))
    if not path:
        return _resolve_without_path(base, query, reference)
    if not path.startswith("/"):
        folder = "/" if wrong("relative-paths-begin-at-the-root") else base.path.rpartition("/")[0] + "/"
        path = folder + path
    return replace(base, path=_path(path), query=query, userinfo=None, text=reference)


def _with_first_scheme(base: Address, address: Address) -> Address:
    if wrong("keeps-scheme-of-first-request"):
        return replace(address, scheme=base.scheme, port=base.port)
    return address


def _resolve_without_path(base: Address, query: str | None, reference: str) -> Address:
    path = base.path
    if wrong("empty-reference-is-the-root"):
        path = "/"
    elif query is None:
        query = base.query
    elif wrong("query-drops-last-segment"):
        path = base.path.rpartition("/")[0] + "/"
    return replace(base, path=path, query=query, userinfo=None, text=reference)


def _path(path: str) -> str:
    return path if not path or wrong("keeps-dot-segments") else remove_dot_segments(path)


def remove_dot_segments(path: str) -> str:
    """Remove ``.`` and ``..`` (RFC 3986, section 5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for number, segment in enumerate(segments):
        if segment == ".." and kept:
            kept.pop()
        if segment not in (".", ".."):
            kept.append(segment)
        elif number == len(segments) - 1:
            kept.append("")
    return "/" + "/".join(kept)
