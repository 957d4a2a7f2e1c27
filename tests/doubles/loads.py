"""Loads from the reports in ``tests/fixtures/load-reports``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["REPORTS", "keep_load_report", "load_fixture"]

REPORTS = Path(__file__).parents[1] / "fixtures" / "load-reports"


def load_fixture(name: str) -> dict[str, Any]:
    """Return the report of a load."""
    return dict(json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8")))


def keep_load_report(folder: Path, number: int, report: Mapping[str, Any]) -> Path:
    """Keep the report of one trial in the folder of its run."""
    path = folder / f"load-{number:06}.json"
    path.write_text(json.dumps(report), encoding="utf-8")
    return path
