"""Place of a run: the engine, the CPUs, the cache of builds, the folder of runs."""

from dataclasses import dataclass
from pathlib import Path

from httpdyno.lab.engine import Engine
from httpdyno.lab.room import Pinning


@dataclass(frozen=True, slots=True)
class Place:
    """Engine, CPUs and folders of a run."""

    engine: Engine
    pinning: Pinning
    cache: Path
    runs: Path | None
    """Folder of runs; None: the run is not stored."""
    command: tuple[str, ...]
    """The command line, for the manifest."""
    artifacts: str = "all"
    """Trials whose artifacts are kept: ``none``, ``failed`` or ``all``."""
