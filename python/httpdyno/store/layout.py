"""The names of the files in the folder of a run."""

from typing import Final

__all__ = [
    "ARTIFACTS",
    "FIGURES",
    "LOCK",
    "MANIFEST",
    "OUTPUT",
    "PARTS",
    "PINNED",
    "REPORT",
    "SAMPLES",
    "TRIALS",
    "URLS",
    "artifacts_of",
    "figure_part",
    "load_report",
    "sample_part",
    "trial_part",
]

MANIFEST: Final = "manifest.json"
TRIALS: Final = "trials.parquet"
FIGURES: Final = "figures.parquet"
SAMPLES: Final = "samples.parquet"
REPORT: Final = "report.html"
"""What the run says, as a page."""
PARTS: Final = "parts"
"""Folder with three files for each finished trial, until the run is complete."""
ARTIFACTS: Final = "trials"
"""Folder with an archive for each trial, of what the engine and the subject wrote, and with the truth."""
PINNED: Final = "pinned"
"""There when no pruning may remove the run."""
URLS: Final = "urls.gz"
"""The list of URLs, one a line, until the run is complete; not there when a web made it."""
LOCK: Final = "lock"
"""Held by the process that is making the run; names that process."""
OUTPUT: Final = "output.txt"
"""What a run in the background printed."""


def trial_part(number: int | str) -> str:
    """Name the file of one trial's record; ``*`` for all."""
    return f"trial-{number:>06}.parquet" if number != "*" else "trial-*.parquet"


def figure_part(number: int | str) -> str:
    """Name the file of one trial's figures; ``*`` for all."""
    return f"figures-{number:>06}.parquet" if number != "*" else "figures-*.parquet"


def sample_part(number: int | str) -> str:
    """Name the file of one trial's samples; ``*`` for all."""
    return f"samples-{number:>06}.parquet" if number != "*" else "samples-*.parquet"


def artifacts_of(number: int) -> str:
    """Name the archive of one trial's artifacts."""
    return f"{ARTIFACTS}/{'ceiling' if number < 0 else f'{number:06}'}.zip"


def load_report(number: int) -> str:
    """Name the file of the load generator's own report of one trial."""
    return f"load-{number:06}.json"
