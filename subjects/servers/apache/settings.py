"""The server's settings, read from the environment."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass


class SettingError(Exception):
    """A variable has an invalid value; the message is one line that names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one server."""

    host: str
    port: int
    threads: int | None
    """Of each process; None: 25."""
    workers: int | None
    """Processes; None: as many as are needed, up to 16."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read the settings; an empty variable counts as missing.

    Raises
    ------
    SettingError
        If Apache does not support a value.
    """
    for name in ("WORKLOADS_MS", "TIMEOUT_MS"):
        if environment.get(name):
            raise SettingError(f"{name} must be empty: Apache serves documents, and nothing that waits")
    return Settings(
        host=host(environment.get("HOST") or "127.0.0.1"),
        port=number(environment, "PORT", 1, 65_535) or 8080,
        threads=number(environment, "THREADS", 1, 10_000),
        workers=number(environment, "WORKERS", 1, 1_000),
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


def is_whole(text: str) -> bool:
    """Whether the text is a number of some ASCII digits."""
    return text.isascii() and text.isdecimal() and len(text) < 10
