"""What a trial of a server left: the reports of the room, of the drive and of the generator, and its samples."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import polars as pl

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE

__all__ = ["ServerArtifacts", "load_began_ns"]


@dataclass(frozen=True, slots=True)
class ServerArtifacts:
    """Everything that tells how a server fared."""

    report: Mapping[str, Any]
    """The engine's report of the room, version 1."""
    drive: Mapping[str, Any] | None
    """Its report of the drive: what was proved before, during and after the load; None: it wrote none."""
    load: Mapping[str, Any] | None
    """The report of our own generator; None: it wrote none, or another one sent."""
    samples: pl.DataFrame | None
    """Every request of our own generator."""
    text: str = ""
    """What another generator printed."""
    stderr: str = ""
    """The end of what the server wrote to its standard error."""
    said: str = ""
    """The end of what the engine and the generator wrote to theirs."""


def load_began_ns(artifacts: ServerArtifacts) -> int | None:
    """Return when the load began, since the server's exec; None where there was none."""
    started_at_ns = (artifacts.report.get("subject") or {}).get("started_at_ns")
    if started_at_ns is None:
        return None
    try:
        if artifacts.load is not None:
            began = datetime.fromisoformat(str(artifacts.load["started"]))
            return round(began.timestamp() * 1e6) * 1000 - int(started_at_ns)
        generator = (artifacts.drive or {}).get("generator") or {}
        began_at_ns = generator.get("started_at_ns")
        return None if began_at_ns is None else int(began_at_ns) - int(started_at_ns)
    except (KeyError, TypeError, ValueError) as error:
        raise EngineFailed(f"when the load began cannot be read: {error}; {RENEW_ENGINE}") from error
