"""``--web live``: who asks the real internet, how much of it at a time, and whether the user wants that."""

import sys
from dataclasses import dataclass
from typing import Final

import httpdyno
from httpdyno.cli.terminal import tell
from httpdyno.errors import Interrupted, InvalidValue, UsageError
from httpdyno.experiments.crawl.options import CrawlOptions
from httpdyno.lab.interruption import Interruption
from httpdyno.model import counted
from httpdyno.urls.hosts import HOSTS_COUNTED

__all__ = ["Traffic", "check_live", "confirm", "live_user_agent", "require_answer"]

_NO_COMMENT: Final = frozenset("()\\")
"""They end or change the comment of a user agent (RFC 9110, section 5.6.5)."""


def check_live(options: CrawlOptions) -> None:
    """Refuse what one of the webs cannot have.

    Raises
    ------
    UsageError
        If there is a limit per host for a web of ours, or a link to the real internet.
    """
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
    """Describe who asks: this program, and how the person behind it can be reached, if that was said.

    Raises
    ------
    InvalidValue
        If the contact cannot stand in a user agent.
    """
    contact = contact.strip()
    if not contact.isascii() or not contact.isprintable() or _NO_COMMENT & set(contact):
        raise InvalidValue(f"--contact: {contact[:60]!r} cannot stand in a user agent; give a mail address or a page")
    about = f"HTTP client benchmark; +{contact}" if contact else "HTTP client benchmark"
    return f"httpdyno/{httpdyno.__version__} ({about})"


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a run sends to the real internet."""

    trials: int
    urls: int
    """Of each trial."""
    hosts: int
    per_host: int
    user_agent: str

    @property
    def lines(self) -> tuple[str, str]:
        """What a user has to know before it is sent."""
        hosts = f"{'at least ' if self.hosts >= HOSTS_COUNTED else ''}{counted(self.hosts, 'host')}"
        contact = "" if "+" in self.user_agent or "@" in self.user_agent else "; --contact says how you can be reached"
        return (
            f"this will send {counted(self.trials * self.urls, 'request')} to {hosts} of the real internet: "
            f"{counted(self.urls, 'URL')} in {'each of ' if self.trials > 1 else ''}{counted(self.trials, 'trial')}; "
            "redirects come on top",
            f"they go out as {self.user_agent!r}, {self.per_host} at a time to a host{contact}",
        )


def require_answer(*, agreed: bool) -> None:
    """Refuse to begin where nobody can be asked, and nobody has agreed before.

    Raises
    ------
    UsageError
        If standard input is no terminal, and there is no ``--yes``.
    """
    if not agreed and not (sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()):
        raise UsageError("--web live asks before it starts, and there is no terminal to ask at; give --yes to agree")


def confirm(traffic: Traffic, interruption: Interruption, *, agreed: bool) -> None:
    """Print what will be sent, and ask whether it may.

    Raises
    ------
    Interrupted
        If it may not.
    """
    for line in traffic.lines:
        tell(line)
    if agreed:
        return
    with interruption.at_once("the question was open"):
        sys.stderr.write("Continue? [y/N] ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    if answer.strip().lower() not in {"y", "yes"}:
        raise Interrupted("not begun: nothing was sent")
