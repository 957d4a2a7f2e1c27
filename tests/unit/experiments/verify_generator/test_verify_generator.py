"""Verifying generators: cases, CPUs, the selection, and the table."""

from pathlib import Path

import pytest

from httpdyno.errors import InvalidValue, NothingMeasured, UnknownName
from httpdyno.experiments.verify_generator.cases import CASES, find_cases
from httpdyno.experiments.verify_generator.run import (
    Generator,
    Step,
    Verified,
    divide_cpus,
    steps,
    until_judged,
    verified_table,
)
from httpdyno.judge.generator import ServerRecord, distribution_of, judge_report
from httpdyno.model import Loop, ToolLatency, ToolReport

MS = 1_000_000


def a_generator(name: str = "a", *loops: Loop) -> Generator:
    return Generator(
        name,
        "1.0",
        loops or (Loop.CLOSED, Loop.OPEN),
        argv=lambda load: (load.url,),
        read=lambda text: ToolReport(requests=len(text), duration_ns=1),
        folder=Path("x"),
    )


def a_record(**times_ms: int) -> ServerRecord:
    return ServerRecord(
        requests=8_000,
        answers=8_000,
        answers_span_ns=8_000 * MS,
        connections=times_ms.pop("connections", 64),
        arrived_in_stall=0,
        service=distribution_of(time * MS for time in times_ms.values()),
        planned_p99_ns=0,
        lateness_p50_ns=0,
        lateness_p99_ns=0,
        waiting_ns=0,
    )


def a_report(requests: int = 8_000) -> ToolReport:
    return ToolReport(requests=requests, duration_ns=8_000 * MS, latency=ToolLatency(percentiles_ns={99.0: 5 * MS}))


@pytest.mark.parametrize(
    ("cpus", "available", "divided"),
    [
        (None, {0, 1}, ({1}, {0})),
        (None, {4, 6, 7}, ({6}, {4})),
        ("0", {0, 1}, ({0}, {1})),
        ("2-3", {0, 1, 2, 3}, ({2, 3}, {0})),
        ("2-3:1", {0, 1, 2, 3}, ({2, 3}, {1})),
    ],
)
def test_generator_and_server_have_cpus_of_their_own(
    cpus: str | None, available: set[int], divided: tuple[set[int], set[int]]
) -> None:
    assert divide_cpus(cpus, available) == divided


@pytest.mark.parametrize(
    ("cpus", "said"),
    [
        ("1:1", "CPUs of their own"),
        ("0,1", "CPUs of their own"),
        ("7", "CPU 7 is not available"),
        ("1:", "is not understood"),
        (":1", "is not understood"),
        ("x", "is not understood"),
    ],
)
def test_cpus_that_cannot_be_had_are_refused(cpus: str, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        divide_cpus(cpus, {0, 1})


def test_one_cpu_is_too_few() -> None:
    with pytest.raises(NothingMeasured, match="a CPU each"):
        divide_cpus(None, {0})


def test_cases_are_found_by_name() -> None:
    assert find_cases(()) == CASES
    assert [case.name for case in find_cases(["stall", "law", "stall"])] == ["stall", "law"]
    with pytest.raises(UnknownName, match="did you mean 'stall'"):
        find_cases(["stal"])


def test_a_second_of_eight_is_a_stall() -> None:
    (stall,) = find_cases(["stall"])
    assert stall.behaviour(8) == ("stall", "--constant", "5ms", "--at", "4s", "--length", "1s")
    truth = stall.truth(Loop.OPEN, 8, record=a_record(a=5), report=a_report(), overhead_ns=100_000)
    assert truth.expected == 8_000
    assert truth.times.quantile_ns(0.5) == 5_100_000
    # An eighth waits, uniformly up to a second: at p99 0.92 s, and the connections that drain add little.
    assert truth.times.quantile_ns(0.99) / MS == pytest.approx(925, abs=15)
    waited = stall.waited_ns(0.99, 8)
    assert waited is not None
    assert waited / MS == pytest.approx(925, abs=15)


def test_a_closed_loop_is_held_to_what_the_server_did() -> None:
    for case in CASES:
        if Loop.CLOSED in case.loops:
            truth = case.truth(Loop.CLOSED, 8, record=a_record(a=5, b=9), report=a_report(), overhead_ns=MS)
            assert (truth.times.times_ns, truth.expected) == ((6 * MS, 10 * MS), None)


def test_a_tool_with_a_connection_for_each_request_waits_for_none() -> None:
    (rate,) = find_cases(["rate"])
    few = rate.truth(Loop.OPEN, 8, record=a_record(a=5), report=a_report(4_000), overhead_ns=0)
    many = rate.truth(Loop.OPEN, 8, record=a_record(a=5, connections=6_000), report=a_report(6_000), overhead_ns=0)
    assert many.expected == 6_000
    assert few.expected is not None
    assert 4_000 <= few.expected <= 4_064
    # 4,000 in eight seconds: the last was intended at 5.33 s. All of them: the last is answered at 12 s.
    assert few.times.quantile_ns(1) / MS == pytest.approx(8_000 - 5_333, abs=5)
    assert many.times.quantile_ns(1) / MS == pytest.approx(12_000 - 8_000, abs=5)


def test_tools_that_open_a_connection_for_each_request_are_excluded() -> None:
    at_once, law = find_cases(["at-once", "law"])
    assert at_once.why_excluded(a_record(a=5, connections=64)) is None
    assert law.why_excluded(a_record(a=5, connections=8_000)) is None
    reason = at_once.why_excluded(a_record(a=5, connections=8_000))
    assert reason is not None
    assert "opens a connection for each request" in reason


def test_each_generator_runs_the_loops_that_it_can_case_by_case() -> None:
    planned = steps([a_generator("a"), a_generator("b", Loop.CLOSED)], find_cases(["at-once", "stall"]))
    assert [str(step) for step in planned] == [
        "at-once, a, open loop",
        "stall, a, open loop",
        "stall, a, closed loop",
        "stall, b, closed loop",
    ]


def test_the_table_has_the_reported_and_the_right_figures() -> None:
    (stall,) = find_cases(["stall"])
    truth = distribution_of([925_444_000] * 1_000)
    wrong = Verified(
        Step(a_generator(), stall, Loop.OPEN), judge_report(a_report(), truth, connections=64), waited_p99_ns=None
    )
    unknown = Verified(Step(a_generator(), stall, Loop.CLOSED), reason="the server was late")
    table = verified_table([wrong, unknown], unavailable={"b": "needs b"}, duration_s=8, overhead_ns=30_000)
    assert table.values("p99") == (5.0, None, None)
    assert table.values("p99True") == (925.0, None, None)
    assert table.values("verdict") == ("p99 185x too low", "NOT_JUDGED", "unavailable")
    assert table.values("method") == ("a", "a", "b")
    said = [note.text for note in table.notes]
    assert "a round trip adds 0.030 ms" in said[0]
    assert said[1:] == ["the server was late", "needs b"]
    assert (wrong.right, unknown.right) == (False, None)


def test_a_tool_that_reports_nothing_is_not_called_right() -> None:
    (law,) = find_cases(["law"])
    nothing = judge_report(ToolReport(requests=0, duration_ns=1), distribution_of([1]), connections=1)
    assert Verified(Step(a_generator(), law, Loop.CLOSED), nothing).verdict == "NOT_JUDGED"


@pytest.mark.parametrize(
    ("outcomes", "said", "runs"),
    [
        (["right"], "right", 1),
        (["absent"], "absent", 1),
        (["wrong", "right"], "right", 2),
        (["wrong", "wrong"], "wrong", 2),
        (["disturbed", "right"], "right", 2),
        (["disturbed", "wrong", "wrong"], "wrong", 3),
        (["wrong", "disturbed", "right"], "right", 3),
        (["wrong", "disturbed", "disturbed"], "disturbed", 3),
        (["disturbed", "disturbed", "wrong"], "disturbed", 3),
    ],
)
def test_wrong_and_disturbed_runs_are_repeated(outcomes: list[str], said: str, runs: int) -> None:
    step = Step(a_generator(), find_cases(["stall"])[0], Loop.OPEN)
    truth = distribution_of([5 * MS] * 8_000)
    judged = {
        took: judge_report(
            ToolReport(requests=8_000, duration_ns=8_000 * MS, latency=ToolLatency(percentiles_ns={99.0: took * MS})),
            truth,
            connections=64,
            sent=8_000,
            expected=8_000,
        )
        for took in (5, 50)
    }
    results = {
        "right": Verified(step, judged[5]),
        "wrong": Verified(step, judged[50]),
        "disturbed": Verified(step, reason="other work had the CPU", disturbed=True),
        "absent": Verified(step, reason="it cannot be started"),
    }
    assert (results["right"].right, results["wrong"].right) == (True, False)
    coming = iter(outcomes)
    assert until_judged(lambda: results[next(coming)]) is results[said]
    assert len(outcomes) - len(list(coming)) == runs
