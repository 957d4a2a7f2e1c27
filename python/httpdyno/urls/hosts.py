"""How many hosts a list leads to, as the engine tells them apart when it spares them."""

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["HOSTS_COUNTED", "count_hosts"]

HOSTS_COUNTED: Final = 1_000_000
"""More hosts than these are not counted: a list may have ten times as many, and nobody decides otherwise for it."""
_AUTHORITY: Final = re.compile(
    rb"https?://(?:[^/?#\\@]*@)*(?:www\.)?(\[[^\]/?#\\]*\]|[^:/?#\\@]+?)\.?(?::[0-9]*)?(?=[/?#\\]|$)", re.I
)


def count_hosts(urls: Iterable[bytes]) -> int:
    """Count the hosts of a list without their case, ports and a first ``www.``; ``HOSTS_COUNTED`` at most."""
    hosts: set[bytes] = set()
    for url in urls:
        if found := _AUTHORITY.match(url.strip()):
            hosts.add(found[1].lower())
            if len(hosts) >= HOSTS_COUNTED:
                break
    return len(hosts)
