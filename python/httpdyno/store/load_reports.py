"""The load generator's own reports, kept beside the records of a run: their histograms draw its charts."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpdyno.store.files import storing, write_whole
from httpdyno.store.layout import load_report

__all__ = ["keep_load_report", "read_load_report"]


def keep_load_report(folder: Path, number: int, report: Mapping[str, Any]) -> Path:
    """Keep the report of one trial in the folder of its run."""
    path = folder / load_report(number)
    content = json.dumps(report, separators=(",", ":")).encode() + b"\n"
    with storing(folder):
        write_whole(path, lambda file: file.write(content))
    return path


def read_load_report(folder: Path, number: int) -> dict[str, Any] | None:
    """Read the report of one trial; None where there is none, or it is damaged: the records are whole without it."""
    try:
        values = json.loads((folder / load_report(number)).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None
