"""The line of a client that timed its own calls: what it says, and what cannot be one."""

import json
from typing import Any

import pytest

from httpdyno.errors import UnreadableReport
from httpdyno.judge.harness_line import read_harness_line

WHOLE: dict[str, Any] = {
    "outcome": "ok",
    "loops": 20,
    "calls_per_loop": 5,
    "runs_ns": [200_000_000, 220_000_000] + [210_000_000] * 5,
    "cpu_user_ns": [50_000_000] * 7,
    "cpu_system_ns": [10_000_000] * 7,
    "answers": [{"code": "200", "body_length": 13, "calls": 900}, {"code": "404", "body_length": 0, "calls": 100}],
}
STOPPED = WHOLE | {
    "outcome": "ECONNREFUSED",
    "loops": None,
    "runs_ns": [],
    "cpu_user_ns": [],
    "cpu_system_ns": [],
    "answers": [{"code": "ECONNREFUSED", "body_length": 0, "calls": 5}],
}


def line(**changed: object) -> str:
    return json.dumps(WHOLE | changed) + "\n"


def test_a_whole_line_is_read() -> None:
    timed = read_harness_line(line())
    assert timed.is_ok
    assert (timed.calls, timed.loops, timed.calls_per_loop) == (1000, 20, 5)
    assert timed.per_loop_ns[:2] == (10_000_000, 11_000_000)
    assert timed.cpu_per_call_ns == (600_000,) * 7
    assert [(answer.code, answer.calls) for answer in timed.answers] == [("200", 900), ("404", 100)]


def test_one_that_was_ended_by_an_error_has_what_came_before() -> None:
    timed = read_harness_line(json.dumps(STOPPED))
    assert (timed.is_ok, timed.outcome, timed.loops, timed.runs_ns) == (False, "ECONNREFUSED", None, ())
    assert (timed.per_loop_ns, timed.cpu_per_call_ns) == ((), ())


@pytest.mark.parametrize("loops", [1, 2, 5, 10, 20, 50])
def test_every_number_of_loops_that_timeit_tries_can_be_chosen(loops: int) -> None:
    answers = [{"code": "200", "body_length": 13, "calls": 5 * (1 + 8 * loops)}]
    assert read_harness_line(line(loops=loops, answers=answers)).loops == loops


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ("", "0 lines printed, where there must be one"),
        (line() * 2, "2 lines printed"),
        ("http://a.test/plain,200,2026-01-01T00:00:00Z,1.0,13\n", "Invalid JSON"),
        ("[]", "should be an object"),
        (line(extra=1), "extra: Extra inputs are not permitted"),
        (line(loops="20"), "loops: Input should be a valid integer"),
        (line(loops=30), "30 loops, which timeit never tries"),
        (line(loops=0), "0 loops"),
        (line(loops=None), "runs without a number of loops"),
        (line(runs_ns=[1] * 6), "6 runs, but CPU time of 7 and 7"),
        (line(runs_ns=[1] * 6, cpu_user_ns=[1] * 6, cpu_system_ns=[1] * 6), "6 runs, where there must be 7"),
        (line(runs_ns=[1] * 8, cpu_user_ns=[1] * 8, cpu_system_ns=[1] * 8), "8 runs, where there must be 7"),
        (line(cpu_user_ns=[-1] * 7), "a time below 0"),
        (line(calls_per_loop=0), "calls must be 1 or more"),
        (line(answers=[]), "0 answers, where 805 or more must be"),
        (line(answers=[{"code": "200", "body_length": 13, "calls": 800}]), "800 answers, where 805 or more must be"),
        (line(answers=[{"code": "200", "body_length": 13, "calls": 901}]), "all of whole loops"),
        (line(answers=[{"code": "200", "body_length": 13}]), "answers.0.calls: Field required"),
    ],
)
def test_what_cannot_be_such_a_line_is_refused(printed: str, said: str) -> None:
    with pytest.raises(UnreadableReport, match="HARNESS=timeit: ") as refused:
        read_harness_line(printed)
    assert said in str(refused.value)
