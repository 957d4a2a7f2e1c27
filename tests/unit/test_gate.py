"""The final lines of a run of the tests: tests that failed twice, tests that failed once, and the limit of these."""

import json
from collections.abc import Sequence

import pytest

from gate import MOST_AGAIN, Outcome, Program, failures_in, outcome_of, passed_in, programs_in, summary

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
        # Also if it has another name the second time: a file that cannot be imported.
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
