"""The publications' figures as collected for the project, if that folder is in the parent of the checkout."""

import csv
from pathlib import Path
from typing import Final

import pytest

COLLECTED: Final = Path(__file__).resolve().parents[3] / "shared" / "data" / "published"


def collected(name: str) -> list[dict[str, str]]:
    """Read one of the files; without it the test is skipped, with the reason."""
    if not (COLLECTED / name).is_file():
        pytest.skip(f"the collected figures ({name}) are not in the folder above this checkout")
    with (COLLECTED / name).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def number(text: str) -> float | None:
    """Read a figure; None for an empty cell."""
    return float(text) if text else None
