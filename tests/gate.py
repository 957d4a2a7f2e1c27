"""Runs the tests that decide, repeats failures once at the end, and prints the results in its last lines.

``python tests/gate.py rust`` runs the crates' tests, ``python tests/gate.py python [ARGUMENTS]`` the Python ones, with
arguments of pytest's, ``python tests/gate.py summary [STEP]`` prints the results of both; a STEP is one that failed
itself.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

__all__ = ["Outcome", "Program", "failed_again", "failures_in", "outcome_of", "passed_in", "programs_in", "summary"]

ROOT: Final = Path(__file__).resolve().parent.parent
RECORDS: Final = ROOT / "target" / "gate"
MOST_UNSTEADY: Final = 2
"""More tests that fail and then pass fail the run: they are not accidents."""
MOST_AGAIN: Final = 10
"""More failures than that have a common cause, and are not run again."""
HANG_S: Final = 1800
"""Patience with one test program of the crates."""
RUN_ONE: Final = re.compile(r"^test result: \w+\. (\d+) passed; \d+ failed; (\d+) ignored", re.MULTILINE)
CARGO_TEST: Final = ("cargo", "test", "--release", "--locked", "--workspace")
TESTS_RAN: Final = (0, 1)
"""The exit statuses of pytest after it has run all chosen tests; the others mean that it ended earlier."""


@dataclass(frozen=True)
class Outcome:
    """Results of one suite."""

    passed: int
    failed: tuple[str, ...] = ()
    """Failed, and failed again."""
    unsteady: tuple[str, ...] = ()
    """Failed, and passed when it was run again: a defect of the test."""
    skipped: tuple[str, ...] = ()
    """Each skipped test's reason."""


def outcome_of(first: Outcome, again: Callable[[Sequence[str]], Iterable[str]]) -> Outcome:
    """Run the failed tests once more, alone; `again` returns the names that failed a second time."""
    if not first.failed or len(first.failed) > MOST_AGAIN:
        return first
    still = set(again(first.failed))
    unsteady = tuple(name for name in first.failed if name not in still)
    failed = tuple(name for name in first.failed if name in still)
    return Outcome(first.passed + len(unsteady), failed, unsteady, first.skipped)


def summary(outcomes: Sequence[Outcome], broken: str | None = None) -> tuple[list[str], bool]:
    """Return the last lines of a run, and whether it passed.

    Parameters
    ----------
    outcomes
        Of the suites that ran.
    broken
        The step that failed without a failed test, if any: a set-up, a compiler.
    """
    failed = [name for outcome in outcomes for name in outcome.failed]
    unsteady = [name for outcome in outcomes for name in outcome.unsteady]
    skipped = [reason for outcome in outcomes for reason in outcome.skipped]
    passed = sum(outcome.passed for outcome in outcomes)
    lines = [f"SKIPPED [{skipped.count(reason)}] {reason}" for reason in sorted(set(skipped))]
    lines += [f"UNSTEADY {name}" for name in unsteady]
    if len(unsteady) > MOST_UNSTEADY:
        lines.append(f"{len(unsteady)} tests failed and passed when run again: more than {MOST_UNSTEADY} fail the run")
    lines += [f"FAILED {name}" for name in failed]
    if broken:
        lines.append(f"FAILED the step {broken}: see above")
    too_unsteady = len(unsteady) if len(unsteady) > MOST_UNSTEADY else 0
    lines.append(f"{passed - too_unsteady} passed, {len(failed) + too_unsteady + bool(broken)} failed")
    return lines, not (failed or too_unsteady or broken)


# --- Rust -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """A test program of the crates."""

    name: str
    """Crate and target: ``dyno-http/bodies``."""
    argv: tuple[str, ...]
    folder: str
    """Where cargo would start it."""


def programs_in(messages: str) -> list[Program]:
    """Read the test programs from cargo's messages, one JSON object a line."""
    found = []
    for line in messages.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            folder = Path(message["manifest_path"]).parent
            name = f"{folder.name}/{message['target']['name']}"
            found.append(Program(name, (message["executable"],), str(folder)))
    return sorted(found, key=lambda program: program.name)


def passed_in(output: str) -> tuple[int, int]:
    """Read how many tests of a program passed, and how many it left out as measurements."""
    found = RUN_ONE.findall(output)
    return sum(int(passed) for passed, _ in found), sum(int(ignored) for _, ignored in found)


def failures_in(output: str) -> list[str]:
    """Read the names of the failed tests: libtest and libtest-mimic list them last, below ``failures:``."""
    _, found, below = output.rpartition("\nfailures:\n")
    listed = re.match(r"(?:[ ]{4}\S.*\n)*", below) if found else None
    return [line.strip() for line in listed[0].splitlines()] if listed else []


def run_program(program: Program, *arguments: str) -> tuple[int, str]:
    """Run a test program to its end, at most half an hour; return its status and output."""
    try:
        ended = subprocess.run(
            [*program.argv, *arguments],
            cwd=program.folder,
            env=os.environ | {"CARGO_MANIFEST_DIR": program.folder},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=HANG_S,
            check=False,
        )
    except subprocess.TimeoutExpired as hung:
        return 1, (hung.stdout or b"").decode(errors="replace") + f"\nended after {HANG_S} s without an end\n"
    return ended.returncode, ended.stdout.decode(errors="replace")


def build_programs() -> list[Program] | None:
    """Build the crates' tests; None if that fails; cargo has printed the reason."""
    cargo = [*CARGO_TEST, "--no-run"]
    built = subprocess.run(
        [*cargo, "--message-format=json-render-diagnostics"], cwd=ROOT, stdout=subprocess.PIPE, check=False
    )
    if built.returncode:
        return None
    examples = Program("examples", (*CARGO_TEST, "--doc", "--quiet"), str(ROOT))
    return [*programs_in(built.stdout.decode()), examples]


def run_rust() -> Outcome | None:
    """Run the crates' tests, one program after the other; None when they cannot be built."""
    programs = build_programs()
    if programs is None:
        return None
    named = {program.name: program for program in programs}
    passed, failed = 0, []
    for program in programs:
        status, output = run_program(program)
        counts = passed_in(output)
        # The examples of the documentation have names that no program takes: they are run again together.
        names = failures_in(output) if program.name != "examples" else []
        passed += counts[0]
        print(f"{program.name}: {counts[0]} passed, {len(names)} failed, {counts[1]} left to make measure", flush=True)
        if status:
            print(output, flush=True)
            failed += [f"{program.name}::{name}" for name in names] or [program.name]

    def again(names: Sequence[str]) -> list[str]:
        still = []
        for name in names:
            program, _, test = name.partition("::")
            status, output = run_program(named[program], *(["--exact", test] if test else []))
            print(f"once more: {name}: {'failed' if status else 'passed'}\n{output if status else ''}", flush=True)
            still += [name] if status else []
        return still

    return outcome_of(Outcome(passed, tuple(failed)), again)


# --- Python ---------------------------------------------------------------------------------------------------------


def run_pytest(record: Path, *arguments: str) -> tuple[int, Outcome]:
    """Run pytest; return its status and its record."""
    record.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "--outcome", str(record), *arguments]
    # Its start is mostly the rewriting of assertions, which the compiled files cache.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if not record.exists():  # interrupted, or the arguments are wrong
        sys.exit(status or 1)
    left = json.loads(record.read_text(encoding="utf-8"))
    return status, Outcome(left["passed"], tuple(left["failed"]), skipped=tuple(left["skipped"]))


def run_python(arguments: Sequence[str]) -> Outcome:
    """Run the Python tests that decide, side by side: two workers for each CPU, because many tests wait."""
    cpus = len(os.sched_getaffinity(0))
    workers = ["-n", str(2 * cpus), "--no-loadscope-reorder"] if cpus > 1 else []
    durations = ["--durations=40", "--durations-min=3"]
    status, first = run_pytest(RECORDS / "first.json", *arguments, "-m", "not measured", *durations, *workers)
    if status and not first.failed:
        sys.exit(status)

    def again(names: Sequence[str]) -> list[str]:
        print("\nonce more, alone: what failed", flush=True)
        status, second = run_pytest(RECORDS / "again.json", *names)
        return failed_again(names, status, second.failed)

    return outcome_of(first, again)


def failed_again(names: Sequence[str], status: int, failed: Sequence[str]) -> list[str]:
    """Return the names that a second run of pytest has not shown to pass.

    Parameters
    ----------
    names
        The tests and files of the run.
    status
        Its exit status. After a file that cannot be imported, for example, no test has passed.
    failed
        Names in its record. A file of `names` fails again if one of its tests does.
    """
    if status not in TESTS_RAN:
        return list(names)
    still = [name for name in names if any(other == name or other.startswith(f"{name}::") for other in failed)]
    return still if still or not status else list(names)


def main(arguments: Sequence[str]) -> int:
    """Run one suite, or print the results of all."""
    RECORDS.mkdir(parents=True, exist_ok=True)
    what, *rest = arguments
    if what == "summary":
        left = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(RECORDS.glob("suite-*.json"))]
        outcomes = [
            Outcome(**{name: tuple(v) if isinstance(v, list) else v for name, v in one.items()}) for one in left
        ]
        lines, passed = summary(outcomes, rest[0] if rest else None)
    else:
        outcome = run_rust() if what == "rust" else run_python(rest)
        if outcome is None:
            return 1
        (RECORDS / f"suite-{what}.json").write_text(json.dumps(asdict(outcome)), encoding="utf-8")
        lines, passed = summary([outcome])
    print("\n".join(["", *lines]), flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
