"""The names of the files in the folder of a run."""

from typing import Final

__all__ = ["MANIFEST", "PARTS", "SAMPLES", "TRIALS", "sample_part", "trial_part"]

MANIFEST: Final = "manifest.json"
TRIALS: Final = "trials.parquet"
SAMPLES: Final = "samples.parquet"
PARTS: Final = "parts"
"""Folder with one pair of files for each finished trial, until the run is closed."""


def trial_part(number: int | str) -> str:
    """Name the file of one trial's record; ``*`` for all."""
    return f"trial-{number:>06}.parquet" if number != "*" else "trial-*.parquet"


def sample_part(number: int | str) -> str:
    """Name the file of one trial's samples; ``*`` for all."""
    return f"samples-{number:>06}.parquet" if number != "*" else "samples-*.parquet"
