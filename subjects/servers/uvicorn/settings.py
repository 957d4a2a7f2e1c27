"""The server's settings, read from the environment."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

LONGEST_MS = 600_000
MOST_WAITS = 100


class SettingError(Exception):
    """A variable has an invalid value; the message is one line that names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one server."""

    host: str
    port: int
    workers: int
    """Processes."""
    workloads_s: tuple[float, ...]
    """How long each wait takes."""
    timeout_s: float | None
    """After how long a request is abandoned; None: never."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read the settings; an empty variable counts as missing.

    Raises
    ------
    SettingError
        If uvicorn does not support a value.
    """
    timeout_ms = number(environment, "TIMEOUT_MS", 1, LONGEST_MS)
    # The event loop of a process has one thread, and no other number is possible.
    number(environment, "THREADS", 1, 1)
    return Settings(
        host=host(environment.get("HOST") or "127.0.0.1"),
        port=number(environment, "PORT", 1, 65_535) or 8080,
        workers=number(environment, "WORKERS", 1, 1_000) or 1,
        workloads_s=workloads_s(environment.get("WORKLOADS_MS") or "500,1000,2000"),
        timeout_s=None if timeout_ms is None else timeout_ms / 1000,
    )


def host(text: str) -> str:
    """Read an IPv4 address."""
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        raise SettingError(f"HOST must be an IPv4 address, not {text!r}") from None


def number(environment: Mapping[str, str], name: str, lowest: int, highest: int) -> int | None:
    """Read a whole number; None when the variable is missing."""
    text = environment.get(name, "")
    if not text:
        return None
    if not is_whole(text) or not lowest <= int(text) <= highest:
        wanted = f"a whole number from {lowest} to {highest}" if highest > lowest else f"{lowest}"
        raise SettingError(f"{name} must be {wanted}, not {text!r}")
    return int(text)


def workloads_s(text: str) -> tuple[float, ...]:
    """Read the waits: whole milliseconds, joined by commas."""
    waits = text.split(",")
    if len(waits) > MOST_WAITS or not all(is_whole(wait) and int(wait) <= LONGEST_MS for wait in waits):
        wanted = f"up to {MOST_WAITS} whole milliseconds up to {LONGEST_MS}, joined by commas"
        raise SettingError(f"WORKLOADS_MS must be {wanted}, not {text!r}")
    return tuple(int(wait) / 1000 for wait in waits)


def is_whole(text: str) -> bool:
    """Whether the text is a number of some ASCII digits."""
    return text.isascii() and text.isdecimal() and len(text) < 10
