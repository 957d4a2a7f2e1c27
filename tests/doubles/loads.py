"""Loads from the reports in ``tests/fixtures/load-reports``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from httpdyno.experiments.load.judge import LOAD_RULES
from httpdyno.experiments.load.records import load_trial
from httpdyno.judge.validity import with_validity
from httpdyno.model import Trial

__all__ = ["REPORTS", "judge_load", "keep_load_report", "load_fixture"]

REPORTS = Path(__file__).parents[1] / "fixtures" / "load-reports"


def load_fixture(name: str) -> dict[str, Any]:
    """Return the report of a load."""
    return dict(json.loads((REPORTS / f"{name}.json").read_text(encoding="utf-8")))


def judge_load(number: int, report: Mapping[str, Any], *, target: str, checks: str = "") -> Trial:
    """Make the record of a load and judge it by the rules of the page: these reports have no judgement."""
    return with_validity(load_trial(number, report, target=target, checks=checks), LOAD_RULES)


def keep_load_report(folder: Path, number: int, report: Mapping[str, Any]) -> Path:
    """Keep the report of one trial in the folder of its run."""
    path = folder / f"load-{number:06}.json"
    path.write_text(json.dumps(report), encoding="utf-8")
    return path
