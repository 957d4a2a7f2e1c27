"""``--web live``: who asks the real internet, how much of it at a time, and whether the user wants that."""

import sys
from dataclasses import dataclass
from typing import Final

import httpdyno
from httpdyno.cli.terminal import tell
from httpdyno.errors import Interrupted, InvalidValue, UsageError
from httpdyno.lab.interruption import Interruption
from httpdyno.model import LIVE, counted, parse_duration_ns
from httpdyno.urls.hosts import HOSTS_COUNTED

__all__ = ["LiveOptions", "Traffic", "confirm", "live_user_agent", "require_answer"]

_NO_COMMENT: Final = frozenset("()\\")
"""They end or change the comment of a user agent (RFC 9110, section 5.6.5)."""


@dataclass(frozen=True, slots=True)
class LiveOptions:
    """The options that only the real internet needs, as they were typed."""

    per_host: int | None = None
    per_host_interval: str | None = None
    contact: str = ""
    yes: bool = False

    @property
    def per_host_interval_s(self) -> float:
        """The least time between two URLs of one host.

        Raises
        ------
        InvalidValue
            If it cannot be read.
        """
        if self.per_host_interval is None:
            return 0.0
        return parse_duration_ns(self.per_host_interval, name="--per-host-interval") / 1e9

    def check(self, web: str, link: str) -> None:
        """Refuse what one of the webs cannot have.

        Raises
        ------
        UsageError
            If there is a limit per host for a web of ours, or a link to the real internet.
        """
        if web == LIVE:
            if link != "direct":
                raise UsageError(
                    "--link: the way to the real internet is what it is; leave it out, or give a --web of ours"
                )
            return
        for option, value in (("--per-host", self.per_host), ("--per-host-interval", self.per_host_interval)):
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


def require_answer(options: LiveOptions) -> None:
    """Refuse to begin where nobody can be asked, and nobody has agreed before.

    Raises
    ------
    UsageError
        If standard input is no terminal, and there is no ``--yes``.
    """
    if not options.yes and not (sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()):
        raise UsageError("--web live asks before it starts, and there is no terminal to ask at; give --yes to agree")


def confirm(traffic: Traffic, options: LiveOptions, interruption: Interruption) -> None:
    """Print what will be sent, and ask whether it may.

    Raises
    ------
    Interrupted
        If it may not.
    """
    for line in traffic.lines:
        tell(line)
    if options.yes:
        return
    with interruption.at_once("the question was open"):
        sys.stderr.write("Continue? [y/N] ")
        sys.stderr.flush()
        answer = sys.stdin.readline()
    if answer.strip().lower() not in {"y", "yes"}:
        raise Interrupted("not begun: nothing was sent")
