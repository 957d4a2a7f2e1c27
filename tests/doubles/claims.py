"""A check of the contract for every subject of this repository: its claims are true."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from httpdyno.judge import trial_not_run
from httpdyno.judge.conformance import Answer, Attempt, Case, Observation, judge_cases
from httpdyno.model import (
    CaseOutcome,
    CaseResult,
    Condition,
    Counters,
    Level,
    Outcome,
    Subject,
    TrialPlan,
    Workload,
)
from httpdyno.model.timed_calls import TimedCalls


def claim_result(title: str, claimed: bool, works: bool, known: str | None = None) -> CaseResult:
    """Return the result of trying a claim."""
    outcome = CaseOutcome.PASS if works else CaseOutcome.FAIL
    return CaseResult(f"claim/{title}", title, "", Level.MUST, outcome, claimed, known)


def require_claims(subject: Subject, results: Sequence[CaseResult]) -> None:
    """Fail with every claim that differs."""
    wrong = [str(result) for result in results if not result.is_right]
    assert not wrong, f"{subject.id}: {'; '.join(wrong)}; correct its [capabilities] or its adapter"


def conclude_client(
    subject: Subject,
    case: Case,
    codes: Mapping[str, str],
    counters: Counters,
    timed: TimedCalls | None = None,
    body_length: int = 0,
) -> CaseResult:
    """Judge a case of a client that printed these codes, or timed its calls, with these counters of the origin."""
    planned = TrialPlan(0, 0, 0, subject, Condition("contract", "plain", Workload(())))
    trial = replace(trial_not_run(planned, Outcome.OK, None), counters=counters)
    output = "".join(f"{url},{code},x,x,{body_length}\n" for url, code in codes.items())
    (attempt,) = case.stimulus.attempts
    (result,) = judge_cases(subject, [case], _Shown(attempt, trial, output, timed=timed))
    return result


@dataclass(frozen=True)
class _Shown(Observation):
    timed: TimedCalls | None = None  # type: ignore[assignment]  # given here, and read from the output elsewhere


def conclude_server(
    subject: Subject, case: Case, answers: Sequence[Answer], attempt: Attempt | None = None
) -> CaseResult:
    """Judge a case of a server that gave these answers; None as the attempt is the first."""
    planned = TrialPlan(0, 0, 0, subject, Condition("contract", "", Workload(())))
    trial = trial_not_run(planned, Outcome.OK, None)
    seen = Observation(attempt or case.stimulus.attempts[0], trial, answers=answers)
    (result,) = judge_cases(subject, [case], seen)
    return result
