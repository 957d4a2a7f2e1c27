"""Where runs are made: the engine, the CPUs, the cache of builds, the folder of runs."""

from dataclasses import dataclass
from pathlib import Path

from httpdyno.lab.engine import Engine
from httpdyno.lab.room import Pinning

__all__ = ["Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run is made."""

    engine: Engine
    pinning: Pinning
    cache: Path
    runs: Path | None
    """None: nothing is kept."""
    command: tuple[str, ...]
    """The command line, for the manifest."""
    artifacts: str = "all"
    """Trials whose artifacts are kept: ``none``, ``failed`` or ``all``."""
