"""The adapter's settings, read from the environment."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

Value = TypeVar("Value")


class SettingError(Exception):
    """A variable has an invalid value; the message is one line that names it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of one crawl."""

    concurrency: int
    request_timeout: float
    """Seconds."""
    user_agent: str
    keepalive: bool
    check_json: bool
    harness: bool
    """Whether calls are timed in this process, in place of a crawl."""
    http_version: str
    """``1.1`` or ``2``; if empty, libcurl and the server negotiate it."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read the settings; an empty variable counts as missing.

    Raises
    ------
    SettingError
        If PycURL does not support a value.
    """
    one_of(environment, "METHOD", {"": None, "GET": None}, "empty or GET")
    return Settings(
        concurrency=concurrency(environment.get("CONCURRENCY") or "10"),
        request_timeout=request_timeout(environment.get("REQUEST_TIMEOUT") or "5"),
        user_agent=environment.get("USER_AGENT", ""),
        keepalive=one_of(environment, "KEEPALIVE", {"": True, "1": True, "0": False}, "0 or 1"),
        check_json=one_of(environment, "CHECK", {"": False, "json": True}, "empty or json"),
        harness=one_of(environment, "HARNESS", {"": False, "timeit": True}, "empty or timeit"),
        http_version=one_of(environment, "HTTP_VERSION", {"": "", "1.1": "1.1", "2": "2"}, "empty, 1.1 or 2"),
    )


def concurrency(text: str) -> int:
    """Read a whole number from 1."""
    if not text.isdecimal() or int(text) < 1:
        raise SettingError(f"CONCURRENCY must be a whole number from 1, not {text!r}")
    return int(text)


def request_timeout(text: str) -> float:
    """Read a number of seconds above 0."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise SettingError(f"REQUEST_TIMEOUT must be a number of seconds above 0, not {text!r}")
    return seconds


def one_of(environment: Mapping[str, str], name: str, values: Mapping[str, Value], wanted: str) -> Value:
    """Look up a variable's value among its permitted values."""
    text = environment.get(name, "")
    if text not in values:
        raise SettingError(f"{name} must be {wanted}, not {text!r}")
    return values[text]
