"""``--web live``: what the real internet is refused without, who asks it, and what a user is told beforehand."""

from typing import Final

import httpdyno
from httpdyno.errors import InvalidValue, UsageError
from httpdyno.experiments.crawl.crawl import Crawl
from httpdyno.experiments.crawl.options import CrawlOptions
from httpdyno.model import counted
from httpdyno.urls.source import HOSTS_COUNTED, UrlFile, count_hosts

__all__ = ["check_live", "live_user_agent", "sent", "traffic_lines"]

_NO_COMMENT: Final = frozenset("()\\")
"""They end or change the comment of a user agent (RFC 9110, section 5.6.5)."""


def check_live(options: CrawlOptions) -> None:
    """Refuse a limit per host for a web of ours, and a link to the real internet."""
    if options.on_live_web:
        if options.link != "direct":
            raise UsageError(
                "--link: the way to the real internet is what it is; leave it out, or give a --web of ours"
            )
        return
    for option, value in (("--per-host", options.per_host), ("--per-host-interval", options.per_host_interval_s)):
        if value is not None:
            raise UsageError(f"{option}: only the hosts of --web live are spared; leave it out, or give --web live")


def live_user_agent(contact: str) -> str:
    """Describe who asks: this program, and how the person behind it can be reached, if that was said."""
    contact = contact.strip()
    if not contact.isascii() or not contact.isprintable() or _NO_COMMENT & set(contact):
        raise InvalidValue(f"--contact: {contact[:60]!r} cannot stand in a user agent; give a mail address or a page")
    about = f"HTTP client benchmark; +{contact}" if contact else "HTTP client benchmark"
    return f"httpdyno/{httpdyno.__version__} ({about})"


def sent(crawl: Crawl, urls: UrlFile, trials: int) -> tuple[str, str]:
    """Describe what so many trials of a crawl send to the real internet."""
    with urls.file.path.open("rb") as lines:
        return traffic_lines(trials, urls.count, count_hosts(lines), crawl.per_host, crawl.user_agent)


def traffic_lines(trials: int, urls: int, hosts: int, per_host: int, user_agent: str) -> tuple[str, str]:
    """Describe so many trials, each of so many URLs of so many hosts, so many of one host at a time."""
    named = f"{'at least ' if hosts >= HOSTS_COUNTED else ''}{counted(hosts, 'host')}"
    contact = "" if "+" in user_agent or "@" in user_agent else "; --contact says how you can be reached"
    return (
        f"this will send {counted(trials * urls, 'request')} to {named} of the real internet: "
        f"{counted(urls, 'URL')} in {'each of ' if trials > 1 else ''}{counted(trials, 'trial')}; "
        "redirects come on top",
        f"they go out as {user_agent!r}, {per_host} at a time to a host{contact}",
    )
