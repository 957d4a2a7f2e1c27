"""Cookies of one chain of redirects (RFC 6265)."""

from dataclasses import dataclass

from .address import Address
from .mutation import wrong


@dataclass(frozen=True)
class Cookie:
    """A cookie; ``domain`` is a host, ``is_host_only`` as RFC 6265, section 5.3 defines it."""

    name: str
    value: str
    domain: str
    is_host_only: bool
    path: str
    is_secure: bool

    def goes_to(self, address: Address) -> bool:
        """Return whether a request to an address has the cookie."""
        if self.is_secure and address.scheme != "https" and not wrong("ignores-secure"):
            return False
        return self._matches_host(address.host) and self._matches_path(address.path)

    def _matches_host(self, host: str) -> bool:
        if host == self.domain or wrong("cookies-go-everywhere"):
            return True
        is_exact = self.is_host_only and not wrong("host-only-cookies-go-to-subdomains")
        return host.endswith(f".{self.domain}") and not is_exact

    def _matches_path(self, path: str) -> bool:
        if path == self.path or wrong("ignores-cookie-path"):
            return True
        return path.startswith(self.path if self.path.endswith("/") else f"{self.path}/")


class CookieJar:
    """Cookies that the answers of a chain have set."""

    def __init__(self) -> None:
        self._cookies: dict[tuple[str, str, str], Cookie] = {}

    def store(self, address: Address, lines: list[str]) -> None:
        """Keep the cookies of the ``Set-Cookie`` lines of an answer."""
        for line in lines:
            cookie, is_expired = parse_cookie(address, line)
            if cookie is None:
                continue
            key = cookie.name, cookie.domain, cookie.path
            if is_expired and not wrong("ignores-max-age"):
                self._cookies.pop(key, None)
            else:
                self._cookies[key] = cookie

    def value_for(self, address: Address) -> str:
        """Return the value of ``Cookie`` for a request; empty without cookies."""
        return "; ".join(f"{one.name}={one.value}" for one in self._cookies.values() if one.goes_to(address))


def parse_cookie(address: Address, line: str) -> tuple[Cookie | None, bool]:
    """Return the cookie of a line, None if it is refused, and whether it has expired."""
    pair, *texts = (part.strip() for part in line.split(";"))
    name, equals, value = pair.partition("=")
    options = {key.strip().lower(): given.strip() for key, _, given in (text.partition("=") for text in texts)}
    domain = options.get("domain", "").lstrip(".").lower()
    if not equals or (domain and not _may_set(address.host, domain)):
        return None, False
    folder = address.path.rpartition("/")[0] or "/"
    path = options.get("path", "")
    cookie = Cookie(
        name.strip(),
        value.strip(),
        domain or address.host,
        not domain,
        path if path.startswith("/") else folder,
        "secure" in options,
    )
    age = options.get("max-age", "")
    return cookie, age.lstrip("-").isdecimal() and int(age) <= 0


def _may_set(host: str, domain: str) -> bool:
    """Return whether a host may set a cookie for a domain; a name without a dot is a public suffix."""
    if wrong("accepts-foreign-domains"):
        return True
    if "." not in domain and not wrong("accepts-top-level-domains"):
        return False
    return host == domain or host.endswith(f".{domain}")
