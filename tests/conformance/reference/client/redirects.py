"""Redirects: the request that follows an answer (RFC 9110, section 15.4)."""

import re
from dataclasses import replace

from .address import Address, resolve, sends_blanks
from .cookies import CookieJar
from .errors import InvalidURL, RedirectRefused
from .head import Head
from .mutation import wrong
from .request import Request

FOLLOWED = (301, 302, 303, 307, 308)
MOST = 10


class Redirects:
    """Redirects of one URL: cookies, credentials, and a bound."""

    def __init__(self, first: Request) -> None:
        self._first = first
        self._count = 0
        self._jar = CookieJar()

    def next_request(self, request: Request, head: Head) -> Request | None:
        """Return the request that follows an answer; None if the answer is the last.

        Raises
        ------
        RedirectRefused, InvalidURL
            If the redirect must not be followed.
        """
        self._jar.store(request.address, head.values("set-cookie"))
        location = _location_of(head)
        if location is None:
            return None
        self._count += 1
        if self._count > _most():
            raise RedirectRefused("too many")
        base = self._first.address if wrong("resolves-against-first-address") else request.address
        address = resolve(base, location)
        is_accepted = wrong("uses-userinfo-of-locations") or wrong("host-field-has-userinfo")
        if address.userinfo is not None and not is_accepted:
            raise RedirectRefused("userinfo in Location")
        if head.status == 305:
            return replace(request, proxy=address)
        if wrong("drops-paths-of-locations"):
            address = replace(address, path="/")
        return self._follow(request, head.status, address)

    def _follow(self, request: Request, status: int, address: Address) -> Request:
        method, content = _method_after(request, status)
        is_same = address.origin == request.address.origin or wrong("credentials-follow-redirects")
        referer = request.address.text if wrong("referer-is-the-whole-address") else ""
        if wrong("referer-has-the-fragment"):
            referer = re.sub("//[^/?#]*@", "//", request.address.text)
        return Request(
            method,
            address,
            content,
            request.authorization if is_same else None,
            self._jar.value_for(address),
            referer,
            host=self._first.address.host_field if wrong("keeps-host-of-first-request") else "",
        )


def _most() -> int:
    if wrong("follows-without-limit"):
        return 10**9
    return 20 if wrong("follows-twenty") else 5 if wrong("follows-five") else MOST


def _location_of(head: Head) -> str | None:
    """Return the reference that a redirect names; None if the answer is no redirect."""
    if wrong("follows-refresh") and (refresh := head.values("refresh")):
        return refresh[0].partition("url=")[2]
    if not _is_followed(head):
        return None
    locations = head.values("location")
    if not locations:
        if wrong("requires-location"):
            raise RedirectRefused("no Location")
        return None
    if wrong("joins-lines-by-commas"):
        locations = [", ".join(locations)]
    if len(set(locations)) > 1 and not wrong("first-location-counts"):
        raise RedirectRefused("two Locations")
    return _checked(locations[0])


def _is_followed(head: Head) -> bool:
    if wrong("follows-every-location") or wrong("follows-location-of-interim"):
        return bool(head.values("location"))
    return head.status in FOLLOWED or (head.status == 305 and wrong("uses-proxy-of-305"))


def _checked(location: str) -> str:
    """Return a reference that can be followed: text of UTF-8, blanks encoded."""
    if wrong("serves-other-schemes") and re.match("(data|file|javascript):", location):
        raise OtherSchemeError
    if not sends_blanks():
        location = location.replace(" ", "%20")
    if wrong("sends-bytes-beyond-ascii"):
        return location
    try:
        return location.encode("latin-1").decode()
    except UnicodeDecodeError as error:
        raise InvalidURL("Location is no UTF-8") from error


class OtherSchemeError(Exception):
    """A careless client serves ``data:``, ``file:`` and ``javascript:`` itself, with status 200."""


def _method_after(request: Request, status: int) -> tuple[str, bytes]:
    """Return method and content of the request that follows (RFC 9110, section 15.4.2 to 15.4.9)."""
    method, content = request.method, request.content
    if wrong("303-keeps-method") and status == 303:
        return method, content
    becomes_get = (status in (301, 302) and method == "POST") or (status == 303 and method not in ("GET", "HEAD"))
    if wrong("every-redirect-becomes-get") or becomes_get:
        return "GET", content if wrong("drops-method-keeps-content") else b""
    return method, content
