"""What the load generator tells while it sends: one JSON object a line, about five a second."""

import json
from dataclasses import dataclass

__all__ = ["LoadProgress", "parse_load_progress"]


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far a load is."""

    elapsed_s: float
    requests: int
    """Answers so far."""
    errors: int
    requests_per_s: float
    """Of the time since the line before."""
    open: int
    """Requests that are sent and not answered."""
    p50_ns: int | None
    """Median response time so far; None before the first answer."""
    p99_ns: int | None


def parse_load_progress(line: bytes) -> LoadProgress | None:
    """Read one line; None when it is no progress, as progress must never stop a measurement."""
    try:
        values = json.loads(line)
        return LoadProgress(
            elapsed_s=float(values["elapsed_s"]),
            requests=int(values["requests"]),
            errors=int(values["errors"]),
            requests_per_s=float(values["rps"]),
            open=int(values["open"]),
            p50_ns=_whole(values.get("response_p50_ns")),
            p99_ns=_whole(values.get("response_p99_ns")),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
