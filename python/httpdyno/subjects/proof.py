"""What a probe found of one build, kept beside it: the claims, whether each works, and which engine saw that."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from httpdyno.subjects.cache import BuildPlace
from httpdyno.subjects.probe import ProbeResult

__all__ = ["read_proof", "write_proof"]

_FILE: Final = "probe.json"


def read_proof(place: BuildPlace, engine: str) -> tuple[ProbeResult, ...] | None:
    """Read what was found; None when this build was never probed with this engine, or the file cannot be read."""
    try:
        values = json.loads((place.path / _FILE).read_text(encoding="utf-8"))
        return tuple(ProbeResult(**result) for result in values["results"]) if values["engine"] == engine else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_proof(place: BuildPlace, engine: str, results: Sequence[ProbeResult]) -> None:
    """Write what was found, whole or not at all."""
    text = json.dumps({"engine": engine, "results": [asdict(result) for result in results]}, indent=2)
    written = place.path / f"{_FILE}.new"
    written.write_text(f"{text}\n", encoding="utf-8")
    written.replace(place.path / _FILE)
