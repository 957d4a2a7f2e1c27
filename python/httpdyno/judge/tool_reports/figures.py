"""Finds single figures in a report's text or JSON, and converts them to nanoseconds and bytes."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from httpdyno.errors import UnreadableReport
from httpdyno.model import Count, ToolLatency

_SPAN: Final = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>us|ms|s|m|h)")
_SPANS_NS: Final[Mapping[str, float]] = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "h": 3600e9}
_SIZE: Final = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>[KMGTP]?)i?B")
_SIZES: Final[Mapping[str, int]] = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}


def find(pattern: str, text: str, *, what: str) -> re.Match[str]:
    """Find a line, or a part of one, that every report contains."""
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise UnreadableReport(f"it has no {what}")
    return match


def find_number(pattern: str, text: str) -> int:
    """Return the whole number of a line; 0 if the report leaves the line out."""
    match = re.search(pattern, text, re.MULTILINE)
    return int(match[1]) if match else 0


def span_ns(text: str) -> int:
    """Parse a time such as ``473.86us`` or ``1.50s``, as wrk and h2load write it."""
    match = _SPAN.fullmatch(text)
    if match is None:
        raise UnreadableReport(f"{text!r} is not a time")
    return round(float(match["number"]) * _SPANS_NS[match["unit"]])


def size_bytes(text: str) -> int:
    """Parse a size such as ``28.45MB``; wrk means powers of 1024."""
    match = _SIZE.fullmatch(text)
    if match is None:
        raise UnreadableReport(f"{text!r} is not a size")
    return round(float(match["number"]) * _SIZES[match["unit"]])


def latency_of(
    unit_ns: float,
    mean: float | str | None = None,
    *,
    least: float | str | None = None,
    most: float | str | None = None,
    percentiles: Iterable[tuple[float | str, float | str]] = (),
) -> ToolLatency:
    """Convert times in a unit into latencies; None and NaN mean unknown. Percentiles are in per cent."""

    def in_ns(time: float | str | None) -> int | None:
        return None if time is None or math.isnan(float(time)) else round(float(time) * unit_ns)

    shares = {float(percent): round(float(time) * unit_ns) for percent, time in percentiles}
    return ToolLatency(in_ns(mean), in_ns(least), in_ns(most), shares)


def count_answers(statuses: Iterable[tuple[str, float | str]]) -> tuple[int, int]:
    """Return the number of answers, and the number of those with another status than 2xx."""
    found = [(status, int(count)) for status, count in statuses]
    return sum(count for _, count in found), sum(count for status, count in found if not status.startswith("2"))


def counts(found: Iterable[tuple[str, int]]) -> tuple[Count, ...]:
    """Add errors by kind; kinds that never occurred are left out."""
    total = Counter[str]()
    for name, count in found:
        total[name] += count
    return tuple(Count(name, count) for name, count in total.items() if count)


def document(text: str) -> dict[str, Any]:
    """Read a report that is one JSON object."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UnreadableReport(f"it is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise UnreadableReport("it is not a JSON object")
    return found


def _at(found: Any, path: tuple[str, ...]) -> Any:  # noqa: ANN401  # JSON is anything
    for depth, key in enumerate(path):
        if not isinstance(found, dict) or key not in found:
            raise UnreadableReport(f"it has no {'.'.join(path[: depth + 1])}")
        found = found[key]
    return found


def number(found: dict[str, Any], *path: str) -> float:
    """Return a number of a JSON report."""
    value = _at(found, path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnreadableReport(f"{'.'.join(path)} is not a number")
    return value


def numbers(found: dict[str, Any], *path: str) -> dict[str, float]:
    """Return the numbers of a JSON object by name; nulls are left out."""
    value = _at(found, path)
    if not isinstance(value, dict):
        raise UnreadableReport(f"{'.'.join(path)} is not an object")
    return {name: number(value, name) for name, part in value.items() if part is not None}
