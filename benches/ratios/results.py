"""Results as JSON, a case at a time: a case that is measured again replaces what there was of it."""

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from httpdyno.errors import InvalidValue
from ratios.case import Case, Measured
from ratios.figures import Finding, Round, find

__all__ = ["Result", "read_results", "result_of", "save"]

_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Result:
    """A case as it was measured, and when and where."""

    case: Case
    rounds: tuple[Round, ...]
    versions: Mapping[str, str]
    notes: tuple[str, ...]
    at: str
    """UTC, RFC 3339."""
    machine: str
    disturbance: str | None
    """What else was running; None: nothing."""

    @property
    def findings(self) -> list[Finding]:
        """Hold the rounds against the case's targets."""
        return [find(target, self.rounds) for target in self.case.targets]


def result_of(case: Case, measured: Measured, *, at: str, disturbance: str | None) -> Result:
    """Put a measurement together with when, and where."""
    return Result(case, measured.rounds, measured.versions, measured.notes, at, machine(), disturbance)


def machine() -> str:
    """Name this machine: its CPU, how many of them, the version of its kernel."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cpu = names[0] if names else platform.machine()
    return f"{os.cpu_count()} x {cpu}, Linux {platform.release().partition('-')[0]}"


def document(result: Result) -> dict[str, Any]:
    """Give a result in the form in which it is kept."""
    return {
        "title": result.case.title,
        "at": result.at,
        "machine": result.machine,
        "disturbance": result.disturbance,
        "versions": dict(result.versions),
        "notes": list(result.notes),
        "rounds": [{name: dict(figures) for name, figures in measured.items()} for measured in result.rounds],
        "targets": [_finding(finding) for finding in result.findings],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    target, found = finding.target, finding.spread
    return {
        "of": target.of,
        "to": target.to,
        "figure": target.figure,
        "inverse": target.inverse,
        "at_least": target.at_least,
        "at_most": target.at_most,
        "every_round": target.every_round,
        "median": found.median if found else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "met": finding.met,
    }


def read_results(path: Path, cases: Mapping[str, Case]) -> dict[str, Result]:
    """Read what was kept; a case that there is no more is left out. Empty when nothing was.

    Raises
    ------
    InvalidValue
        If the file is not of this program.
    """
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["version"] != _VERSION:
            raise InvalidValue(f"{path}: is of version {found['version']}; delete it")
        return {
            name: Result(
                case=cases[name],
                rounds=tuple(kept["rounds"]),
                versions=kept["versions"],
                notes=tuple(kept["notes"]),
                at=kept["at"],
                machine=kept["machine"],
                disturbance=kept["disturbance"],
            )
            for name, kept in found["cases"].items()
            if name in cases
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidValue(f"{path}: is not a file of results ({error!r}); delete it") from error


def save(results: Mapping[str, Result], path: Path) -> None:
    """Write all results, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = path.with_suffix(".new")
    kept = {"version": _VERSION, "cases": {name: document(result) for name, result in results.items()}}
    written.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    written.replace(path)
