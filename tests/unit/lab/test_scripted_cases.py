"""Scripted cases in shared processes: late outcomes count alone, and a process that ends early is divided."""

from collections import Counter
from pathlib import Path
from threading import Barrier, Lock
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest

from httpdyno.errors import EngineFailed, Interrupted
from httpdyno.judge import trial_not_run
from httpdyno.judge.conformance import Attempt, Observation
from httpdyno.judge.scripted.case_file import CaseFile, read_case
from httpdyno.lab.conformance import CaseRunner, results_of
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.machine_use import MachineUse
from httpdyno.lab.room import Pinning
from httpdyno.lab.scripted_cases import try_scripted
from httpdyno.model import CaseOutcome, Condition, Outcome, Subject, SubjectKind, TrialPlan, Workload

SUBJECT = Subject("a-client", SubjectKind.CLIENT, "C", "m", Path("/nowhere"), ("x",))
TEXT = """
title = "a deadline"
clause = "RFC 9112, section 5.2"
level = "must"
timeout_s = 2
[[host]]
[[host.connection]]
steps = [{ expect = "request" }, "close"]
[[outcome]]
is = "pass"
code = "error"
"""


@pytest.fixture(autouse=True)
def short_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("httpdyno.lab.scripted_cases._WINDOW_S", 0.02)


def cases(count: int, more: str = "", *, alone: bool = False) -> list[CaseFile]:
    text = f"alone = true\n{TEXT}{more}" if alone else f"{TEXT}{more}"
    return [read_case(f"deadlines/case-{number}", text) for number in range(count)]


class Client(CaseRunner):
    """A runner whose client is a double; ``processes`` has the URLs of each process, in their order."""

    __slots__ = ()

    @property
    def processes(self) -> list[list[str]]:
        processes: list[list[str]] = self.engine.processes  # type: ignore[attr-defined]  # of the double
        return processes

    def observe(self, attempt: Attempt) -> Observation:
        urls = list(attempt.lines)
        self.processes.append(urls)
        behaviour: Any = self.engine
        rows, outcome, exit_code = behaviour.behave(urls, len(self.processes))
        output = "".join(f"{url},{code},2026-11-21T10:00:00Z,{took_ms},0\n" for url, code, took_ms in rows)
        plan = TrialPlan(0, 0, 0, SUBJECT, Condition("contract", "plain", Workload(())))
        trial = trial_not_run(plan, outcome, None)
        return Observation(attempt, trial, output, exit_code=exit_code)


def client_of(behave: Any) -> Client:
    build: Any = SimpleNamespace(subject=SUBJECT, version="1")
    engine: Any = SimpleNamespace(behave=behave, processes=[])
    return Client(engine, build, Pinning(), Interruption())


def tried(client: Client, files: list[CaseFile], tries: int = 3) -> dict[str, tuple[str, ...] | None]:
    results = results_of(list(try_scripted(client, files, tries=tries, side_by_side=1)))
    assert len(results) == len(files)
    return {result.case.partition("/")[2]: result.tries for result in results}


def test_a_client_that_others_make_late_is_judged_alone() -> None:
    def behave(urls: list[str], _: int) -> Any:
        return [(url, "Timeout", 2000 * len(urls)) for url in urls], Outcome.OK, 0

    client = client_of(behave)
    files = cases(2, "within_s = 3\n")
    assert tried(client, files) == {"case-0": ("pass",) * 3, "case-1": ("pass",) * 3}
    assert [len(urls) for urls in client.processes] == [2, *[1] * 6]


def test_a_client_that_is_late_alone_too_is_tried_alone_once() -> None:
    def behave(urls: list[str], _: int) -> Any:
        return [(url, "Timeout", 9000) for url in urls], Outcome.OK, 0

    client = client_of(behave)
    assert tried(client, cases(2, "within_s = 3\n")) == {"case-0": ("fail",) * 3, "case-1": ("fail",) * 3}
    assert [len(urls) for urls in client.processes] == [2, 1, 1, 2, 2]


@pytest.mark.parametrize(("took_ms", "processes"), [(1999, [2, 2]), (2000, [2, 1, 1, 2])])
def test_a_wrong_timeout_is_tried_alone_and_a_wrong_answer_is_not(took_ms: int, processes: list[int]) -> None:
    def behave(urls: list[str], _: int) -> Any:
        return [(url, "200", took_ms) for url in urls], Outcome.OK, 0

    client = client_of(behave)
    assert tried(client, cases(2), tries=2) == {"case-0": ("fail",) * 2, "case-1": ("fail",) * 2}
    assert [len(urls) for urls in client.processes] == processes


def test_a_case_that_ends_the_process_early_does_not_send_all_others_alone() -> None:
    fatal = "http" + "s://case-5.deadlines.test/"

    def behave(urls: list[str], _: int) -> Any:
        alive = urls[: urls.index(fatal)] if fatal in urls else urls
        crashed = len(alive) < len(urls)
        rows = [(url, "Failed", 1) for url in alive]
        return rows, Outcome.CRASHED if crashed else Outcome.OK, 9 if crashed else 0

    client = client_of(behave)
    found = tried(client, cases(200))
    assert found.pop("case-5") == ("crash",) * 3
    assert set(found.values()) == {("pass",) * 3}
    assert len(client.processes) < 30
    trials = list(try_scripted(client_of(behave), cases(200), side_by_side=1))
    assert Counter(result.case for result in results_of(trials)).most_common(1)[0][1] == 1


def test_a_client_that_never_answers_is_known_after_two_cases_alone() -> None:
    client = client_of(lambda *_: ([], Outcome.CRASHED, 1))
    assert set(tried(client, cases(100)).values()) == {("crash",) * 3}
    assert [len(urls) for urls in client.processes] == [100, 1, 1, 100, 100]


def test_processes_run_side_by_side_while_the_cpus_have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("httpdyno.lab.scripted_cases.use_between", lambda *_: MachineUse({0: 0.1}))
    together = Barrier(3)

    def behave(urls: list[str], _: int) -> Any:
        together.wait(timeout=60)
        return [(url, "Failed", 1) for url in urls], Outcome.OK, 0

    trials = list(try_scripted(client_of(behave), cases(3, alone=True), tries=1, side_by_side=3))
    assert {result.outcome for result in results_of(trials)} == {CaseOutcome.PASS}


def test_one_process_runs_at_a_time_while_the_cpus_have_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("httpdyno.lab.scripted_cases.use_between", lambda *_: MachineUse({0: 0.9}))
    one = Lock()

    def behave(urls: list[str], _: int) -> Any:
        assert one.acquire(blocking=False)
        sleep(0.01)
        one.release()
        return [(url, "Failed", 1) for url in urls], Outcome.OK, 0

    trials = list(try_scripted(client_of(behave), cases(20, alone=True), tries=1, side_by_side=3))
    assert len(results_of(trials)) == 20


@pytest.mark.parametrize(("again", "tries"), [(["Failed"] * 3, ("pass",) * 3), (["Failed", "200"], ("pass", "fail"))])
def test_a_case_whose_tries_differ_is_tried_again_with_nothing_next_to_it(
    again: list[str], tries: tuple[str, ...]
) -> None:
    codes = ["Failed", "200", "Failed"][: len(again)] + again

    def behave(urls: list[str], number: int) -> Any:
        return [(url, codes[number - 1], 1) for url in urls], Outcome.OK, 0

    client = client_of(behave)
    files = cases(1, alone=True)
    assert tried(client, files, tries=len(again)) == {"case-0": tries}
    assert len(client.processes) == 2 * len(again)


@pytest.mark.parametrize(
    ("busy", "slow", "quick", "outcome"),
    [
        (0.9, "200", "Failed", CaseOutcome.PASS),
        (0.1, "200", "Failed", CaseOutcome.FAIL),
        # With more CPU time, the client accepts the answer.
        (0.9, "Failed", "200", CaseOutcome.FAIL),
        (0.1, "Failed", "200", CaseOutcome.PASS),
    ],
)
def test_what_is_late_while_others_keep_the_cpus_busy_is_tried_again_with_nothing_next_to_it(
    busy: float, slow: str, quick: str, outcome: CaseOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares = iter([0.1])  # One window with time left is enough for a second process.
    monkeypatch.setattr("httpdyno.lab.scripted_cases.use_between", lambda *_: MachineUse({0: next(shares, busy)}))
    together = Barrier(2)

    def behave(urls: list[str], number: int) -> Any:
        if number <= 2:
            together.wait(timeout=60)
            return [(url, slow, 2000) for url in urls], Outcome.OK, 0
        return [(url, quick, 1) for url in urls], Outcome.OK, 0

    trials = list(try_scripted(client_of(behave), cases(2, alone=True), tries=1, side_by_side=2))
    assert {result.outcome for result in results_of(trials)} == {outcome}


def test_an_error_stops_the_processes_next_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("httpdyno.lab.scripted_cases.use_between", lambda *_: MachineUse({0: 0.1}))
    started = Barrier(2)

    def behave(_: list[str], number: int) -> Any:
        started.wait(timeout=60)
        if number == 1:
            raise EngineFailed("the engine failed")
        while not client.interruption.requested:
            pass
        raise Interrupted("interrupted during a trial")

    client = client_of(behave)
    with pytest.raises(EngineFailed):
        list(try_scripted(client, cases(2, alone=True), tries=1, side_by_side=2))
