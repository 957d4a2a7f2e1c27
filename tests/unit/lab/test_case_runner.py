"""The runner of cases: more time for slow clients, a second try for wrong results, and an end after silence."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from httpdyno.judge import trial_not_run
from httpdyno.judge.client_cases import TIMEOUTS_S
from httpdyno.judge.conformance import Attempt, Case, Observation, Stimulus, claim_case
from httpdyno.lab.conformance import CaseRunner, results_of, try_cases
from httpdyno.model import CaseOutcome, Condition, Outcome, Subject, SubjectKind, TrialPlan, Workload

SUBJECT = Subject("a-client", SubjectKind.CLIENT, "C", "m", Path("/nowhere"), ("x",))


class FakeRunner(CaseRunner):
    """A runner whose observations are the timeouts of its attempts."""

    def observe(self, attempt: Attempt) -> Any:
        return attempt.workload.timeout_s


@pytest.mark.parametrize(
    ("needs_s", "tried_s"),
    [
        pytest.param(0.5, TIMEOUTS_S[:1], id="right at once"),
        pytest.param(TIMEOUTS_S[0] + 1, TIMEOUTS_S[:2], id="right as soon as it has the time"),
        pytest.param(float("inf"), TIMEOUTS_S, id="wrong however long it gets"),
    ],
)
def test_the_first_attempt_that_is_done_is_taken_or_the_last(needs_s: float, tried_s: tuple[float, ...]) -> None:
    tried: list[float] = []

    def is_settled(seen: Any) -> bool:
        tried[:] = seen
        return seen[-1] > needs_s

    nothing: Any = None
    crawls = [Attempt(workload=Workload((), timeout_s)) for timeout_s in TIMEOUTS_S]
    stimulus = Stimulus("any", crawls, is_settled)
    taken, attempts = FakeRunner(nothing, nothing, nothing, nothing).run(stimulus)
    assert tuple(tried) == tried_s
    assert (taken, attempts) == (tried_s[-1], len(tried_s))


class PrintingRunner(CaseRunner):
    """A runner whose client prints one of the given outputs for each attempt; it leaves a URL unanswered if empty."""

    def observe(self, attempt: Attempt) -> Observation:
        plan = TrialPlan(0, 0, 0, SUBJECT, Condition("contract", "plain", Workload(())))
        output: str = self.engine.pop(0)  # type: ignore[attr-defined]  # a list of outputs
        silent = pl.DataFrame({"line": [None], "url": ["https://a.test/"], "verdict": "right", "explained": False})
        samples = pl.DataFrame() if output else silent
        return Observation(attempt, trial_not_run(plan, Outcome.OK, None), output, samples)


def runner_of(*outputs: str) -> CaseRunner:
    build: Any = SimpleNamespace(subject=SUBJECT)
    engine: Any = list(outputs)
    nothing: Any = None
    return PrintingRunner(engine, build, nothing, nothing)


def case(title: str) -> Case:
    return claim_case(title, True, [Attempt()], lambda seen: seen.output == "right", "do it")


@pytest.mark.parametrize(
    ("outputs", "tries", "outcomes", "attempts"),
    [
        pytest.param(["right", "right"], 2, ["pass", "pass"], [1, 1], id="right at once"),
        pytest.param(["wrong", "right", "right"], 2, ["pass", "pass"], [2, 1], id="right at the second try"),
        pytest.param(["wrong", "wrong", "right"], 2, ["fail", "pass"], [2, 1], id="wrong twice"),
        pytest.param(["wrong", "right"], 1, ["fail", "pass"], [1, 1], id="one try"),
        pytest.param(["", ""], 2, ["fail", "not tried"], [2, 1], id="silent twice: the last stimulus"),
        pytest.param(["", "right", "right"], 2, ["pass", "pass"], [2, 1], id="silent once"),
    ],
)
def test_wrong_results_are_tried_again_and_silence_ends_the_cases(
    outputs: list[str], tries: int, outcomes: list[str], attempts: list[int]
) -> None:
    results = results_of(list(try_cases(runner_of(*outputs), [case("http 1.1"), case("http 2")], tries=tries)))
    assert [result.outcome for result in results] == [CaseOutcome(outcome) for outcome in outcomes]
    assert [result.attempts for result in results] == attempts
