"""Makes the measurements: tests that need a quiet machine, a clock or luck. ``make measure`` calls it.

``python tests/measure.py [ARGUMENTS of pytest]`` measures and appends its figures to ``measurements.csv``; ``python
tests/measure.py --since COMMIT`` prints the changes since then.
"""

import csv
import datetime
import json
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from disturbance import INCONCLUSIVE, measured, wait_for_quiet
from gate import RECORDS, ROOT, Program, build_programs, failures_in, passed_in, run_program

__all__ = ["Change", "changes_since", "last_lines"]

FIGURES: Final = ROOT / "measurements.csv"
COLUMNS: Final = ("date", "commit", "machine", "test", "figure", "value", "unit")
CREPT: Final = 1.1
"""Smaller changes of a figure are ignored."""
FUZZ_S: Final = 30


@dataclass(frozen=True)
class Change:
    """A figure at a commit and since then: medians."""

    name: str
    before: float
    after: float
    unit: str

    @property
    def ratio(self) -> float:
        """After over before."""
        return self.after / self.before if self.before else float("inf")


def changes_since(commit: str, rows: Sequence[Mapping[str, str]], machine: str) -> list[Change]:
    """Compare each figure of a machine at a commit with later measurements, largest change first.

    Parameters
    ----------
    commit
        The beginning of its name.
    rows
        Of the file of figures, oldest first.
    """
    own = [row for row in rows if row["machine"] == machine]
    last = max((number for number, row in enumerate(own) if row["commit"].startswith(commit)), default=-1)
    before: dict[tuple[str, str], list[float]] = {}
    after: dict[tuple[str, str], list[float]] = {}
    for number, row in enumerate(own):
        place = after if number > last else before if row["commit"].startswith(commit) else {}
        place.setdefault((f"{row['test']} {row['figure']}", row["unit"]), []).append(float(row["value"]))
    changes = [
        Change(name, statistics.median(values), statistics.median(after[name, unit]), unit)
        for (name, unit), values in before.items()
        if (name, unit) in after
    ]
    return sorted(changes, key=lambda change: -max(change.ratio, 1 / change.ratio if change.ratio else float("inf")))


@dataclass(frozen=True)
class Attempt:
    """How one run of a program ended."""

    output: str
    failed: bool


@dataclass(frozen=True)
class Left:
    """Results of a part of the measurements."""

    passed: int = 0
    failed: tuple[str, ...] = ()
    inconclusive: tuple[str, ...] = ()
    figures: tuple[Mapping[str, object], ...] = ()


def measure_rust() -> Left:
    """Run the crates' tests with their measurements, and with other random inputs than the gate's."""
    os.environ.pop("PROPTEST_RNG_SEED", None)
    passed, failed, inconclusive = 0, [], []
    for program in build_programs() or sys.exit("measure: the crates' tests cannot be built"):

        def once(program: Program = program) -> list[Attempt]:
            more = [] if program.name == "examples" else ["--include-ignored"]
            status, output = run_program(program, *more)
            return [Attempt(output, bool(status))]

        (last,), disturbed = measured(once)
        passed += passed_in(last.output)[0]
        if last.failed:
            names = [f"{program.name}::{name}" for name in failures_in(last.output)] or [program.name]
            print(last.output, flush=True)
            failed += [] if disturbed else names
            inconclusive += [f"{name}: {disturbed}" for name in names] if disturbed else []
        print(f"{program.name}: {'failed' if last.failed else 'passed'}", flush=True)
    return Left(passed, tuple(failed), tuple(inconclusive))


def fuzz() -> Left:
    """Fuzz every parser for half a minute."""
    ended = subprocess.run([ROOT / "scripts" / "fuzz", "--together", str(FUZZ_S)], check=False)
    return Left(failed=("scripts/fuzz",)) if ended.returncode else Left(1)


def measure_python(arguments: Sequence[str]) -> list[Left]:
    """Run the properties with other examples than the gate's, side by side, then the Python measurements."""
    workers = ["-n", str(len(os.sched_getaffinity(0)))]
    return [
        run_measured("-m", "hypothesis and not measured", "--fresh-seeds", *workers, *arguments),
        run_measured("-m", "measured", "--fresh-seeds", "--durations", "15", *arguments),
    ]


def run_measured(*arguments: str) -> Left:
    """Run pytest; return its results."""
    record = RECORDS / "measured.json"
    record.unlink(missing_ok=True)
    pytest = [sys.executable, "-m", "pytest", "--outcome", str(record), *arguments]
    status = subprocess.run(pytest, cwd=ROOT, check=False).returncode
    if not record.exists():
        sys.exit(status or 1)
    left = json.loads(record.read_text(encoding="utf-8"))
    inconclusive = [reason for reason in left["skipped"] if reason.startswith(INCONCLUSIVE)]
    said = tuple(reason.removeprefix(f"{INCONCLUSIVE} ") for reason in inconclusive)
    return Left(left["passed"], tuple(left["failed"]), said, tuple(left["figures"]))


def last_lines(parts: Sequence[Left]) -> list[str]:
    """Return the final lines of the measurements."""
    failed = [name for part in parts for name in part.failed]
    inconclusive = [name for part in parts for name in part.inconclusive]
    passed = sum(part.passed for part in parts)
    return [
        *(f"{INCONCLUSIVE} {name}" for name in inconclusive),
        *(f"FAILED {name}" for name in failed),
        f"{passed} passed, {len(failed)} failed, {len(inconclusive)} inconclusive",
    ]


def append_figures(path: Path, figures: Sequence[Mapping[str, object]]) -> None:
    """Append figures with date, commit and machine."""
    git = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    commit = subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%MZ")
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            table.writeheader()
        for one in figures:
            table.writerow({**one, "date": date, "commit": commit, "machine": machine()})


def machine() -> str:
    """Name the kind of machine: figures of two kinds are not compared."""
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return f"{len(os.sched_getaffinity(0))} x {model[1] if model else platform.machine()}"


def print_changes(commit: str) -> None:
    """Print the changes in the file of figures since a commit."""
    with FIGURES.open(encoding="utf-8", newline="") as file:
        changes = changes_since(commit, list(csv.DictReader(file)), machine())
    if not changes:
        sys.exit(f"measure: {FIGURES.name} has nothing of this kind of machine both at {commit} and after it")
    for change in changes:
        crept = "  <-" if max(change.ratio, 1 / change.ratio if change.ratio else CREPT) >= CREPT else ""
        print(f"{change.ratio:7.2f}  {change.before:.4g} -> {change.after:.4g} {change.unit}  {change.name}{crept}")


def main(arguments: Sequence[str]) -> int:
    """Measure, or print the changes."""
    if arguments[:1] == ["--since"]:
        if len(arguments) != 2:
            sys.exit("measure: --since takes one commit: make measure ARGS='--since 1a2b3c4'")
        print_changes(arguments[1])
        return 0
    RECORDS.mkdir(parents=True, exist_ok=True)
    if disturbed := wait_for_quiet():
        print(f"measure: the machine is not quiet, {disturbed}: some measurements may be inconclusive", flush=True)
    # Arguments choose among the Python measurements: the others are left out then.
    others = [] if arguments else [measure_rust(), fuzz()]
    parts = [*others, *measure_python(arguments)]
    append_figures(FIGURES, [figure for part in parts for figure in part.figures])
    print("\n".join(["", *last_lines(parts)]), flush=True)
    return 1 if any(part.failed for part in parts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
