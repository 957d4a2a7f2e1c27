"""The final lines of a run of the tests: tests that failed twice, tests that failed once, and the limit of these."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from gate import (
    MOST_AGAIN,
    TESTS_RAN,
    Outcome,
    Program,
    failed_again,
    failures_in,
    outcome_of,
    passed_in,
    programs_in,
    summary,
)

FAILED_TWICE_OF_FOUR = """
running 4 tests
test holds ... ok
test long_one ... ignored, measurement: needs a quiet machine
test parsing::breaks ... FAILED
test parsing::panics ... FAILED

failures:

---- parsing::breaks stdout ----

failures:
    not a name: output of a test

failures:
    parsing::breaks
    parsing::panics

test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

"""


def test_failed_tests_of_a_program_are_read_from_its_last_list() -> None:
    assert failures_in(FAILED_TWICE_OF_FOUR) == ["parsing::breaks", "parsing::panics"]
    assert failures_in(FAILED_TWICE_OF_FOUR.partition("\nfailures")[0]) == []
    assert passed_in(FAILED_TWICE_OF_FOUR) == (1, 1)
    assert passed_in("it crashed") == (0, 0)


def test_programs_are_read_from_the_messages_of_cargo() -> None:
    artifact = {"reason": "compiler-artifact", "manifest_path": "/tree/crates/dyno-http/Cargo.toml"}
    messages = [
        {**artifact, "target": {"name": "bodies"}, "profile": {"test": True}, "executable": "/target/bodies-1"},
        {**artifact, "target": {"name": "dyno_http"}, "profile": {"test": False}, "executable": None},
        {"reason": "build-finished", "success": True},
    ]
    (found,) = programs_in("\n".join(json.dumps(message) for message in messages))
    assert found == Program("dyno-http/bodies", ("/target/bodies-1",), "/tree/crates/dyno-http")


@pytest.mark.parametrize(
    ("failed", "again", "expected"),
    [
        ((), None, Outcome(5)),
        (("a",), (), Outcome(6, unsteady=("a",))),
        (("a", "b"), ("b",), Outcome(6, failed=("b",), unsteady=("a",))),
        (tuple("abcdefghijk"), None, Outcome(5, failed=tuple("abcdefghijk"))),
    ],
)
def test_what_failed_is_run_once_more(
    failed: tuple[str, ...], again: tuple[str, ...] | None, expected: Outcome
) -> None:
    def run(names: Sequence[str]) -> tuple[str, ...]:
        assert again is not None, "nothing to be run again, or too much"
        assert tuple(names) == failed
        return again

    assert len("abcdefghijk") > MOST_AGAIN
    assert outcome_of(Outcome(5, failed), run) == expected


@pytest.mark.parametrize(
    ("status", "failed", "expected"),
    [
        (0, [], []),
        (1, ["tests/a.py::one"], ["tests/a.py::one"]),
        # The first time the file could not be imported; now one of its tests fails.
        (1, ["tests/b.py::two"], ["tests/b.py"]),
        (1, ["tests/c.py::three"], ["tests/a.py::one", "tests/b.py"]),
        # The file cannot be imported, the program ended by an error of its own, a name does not exist, no test ran.
        (2, ["tests/a.py"], ["tests/a.py::one", "tests/b.py"]),
        (3, [], ["tests/a.py::one", "tests/b.py"]),
        (4, [], ["tests/a.py::one", "tests/b.py"]),
        (5, [], ["tests/a.py::one", "tests/b.py"]),
    ],
)
def test_a_second_run_that_ends_early_clears_no_test(status: int, failed: list[str], expected: list[str]) -> None:
    assert failed_again(["tests/a.py::one", "tests/b.py"], status, failed) == expected


def test_pytest_has_run_no_test_if_a_file_cannot_be_imported(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    found = []
    for text in ("def test_it(): pass\n", "def test_it(): assert False\n", "import a_module_that_is_missing\n"):
        file.write_text(text, encoding="utf-8")
        command = [
            sys.executable,
            "-B",
            "-m",
            "pytest",
            "-q",
            "--rootdir",
            tmp_path,
            "-c",
            "/dev/null",
            f"{file}::test_it",
        ]
        found.append(subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode)
    assert [status in TESTS_RAN for status in found] == [True, True, False], found


@pytest.mark.parametrize(
    ("outcomes", "broken", "last", "passes"),
    [
        ([Outcome(5), Outcome(7)], None, ["12 passed, 0 failed"], True),
        ([Outcome(5, unsteady=("a",))], None, ["UNSTEADY a", "5 passed, 0 failed"], True),
        ([Outcome(5, failed=("a",))], None, ["FAILED a", "5 passed, 1 failed"], False),
        ([Outcome(5)], "setup", ["FAILED the step setup: see above", "5 passed, 1 failed"], False),
        (
            [Outcome(5, unsteady=("a", "b")), Outcome(4, unsteady=("c",))],
            None,
            [
                *("UNSTEADY a", "UNSTEADY b", "UNSTEADY c"),
                "3 tests failed and passed when run again: more than 2 fail the run",
                "6 passed, 3 failed",
            ],
            False,
        ),
        (
            [Outcome(5, skipped=("no go", "no room", "no go"))],
            None,
            ["SKIPPED [2] no go", "SKIPPED [1] no room", "5 passed, 0 failed"],
            True,
        ),
    ],
)
def test_the_last_lines(outcomes: list[Outcome], broken: str | None, last: list[str], passes: bool) -> None:
    assert summary(outcomes, broken) == (last, passes)
