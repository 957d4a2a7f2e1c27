"""Cases of conformance: what a crawl shows of them, by how it ended and by what the subject claims."""

from pathlib import Path

import pytest

from httpdyno.judge import trial_not_run
from httpdyno.judge.client_cases import contract_cases
from httpdyno.judge.conformance import Attempt, Observation, claim_case, judge_cases, not_tried
from httpdyno.model import (
    CaseOutcome,
    Condition,
    KnownFailure,
    Outcome,
    Subject,
    SubjectKind,
    TrialPlan,
    Workload,
)

KNOWN = (KnownFailure("keepalive on", "the pool is closed"),)
SUBJECT = Subject("a-client", SubjectKind.CLIENT, "C", "m", Path("/nowhere"), ("x",), known_failures=KNOWN)
OK, HUNG, CRASHED, GARBAGE = Outcome.OK, Outcome.HUNG, Outcome.CRASHED, Outcome.GARBAGE
PASS, FAIL, HANG = CaseOutcome.PASS, CaseOutcome.FAIL, CaseOutcome.HANG
CRASH, UNSUPPORTED, NOT_TRIED = CaseOutcome.CRASH, CaseOutcome.UNSUPPORTED, CaseOutcome.NOT_TRIED


def crawled(outcome: Outcome, output: str = "") -> Observation:
    plan = TrialPlan(0, 0, 0, SUBJECT, Condition("contract", "plain", Workload(())))
    return Observation(Attempt(), trial_not_run(plan, outcome, "it did"), output)


@pytest.mark.parametrize(
    ("title", "claimed", "works", "ended", "outcome", "mark", "printed"),
    [
        ("http 2", True, True, OK, PASS, "ok", "claimed, works"),
        ("http 2", True, False, OK, FAIL, "FAILED", "claimed, does not work"),
        ("http 2", True, False, HUNG, HANG, "FAILED", "claimed, does not work"),
        ("http 2", True, False, CRASHED, CRASH, "FAILED", "claimed, does not work"),
        ("http 2", False, False, CRASHED, UNSUPPORTED, "as said", "not claimed, does not work"),
        ("http 2", False, True, OK, PASS, "FAILED", "not claimed, works"),
        ("keepalive on", True, False, OK, FAIL, "known", "claimed, does not work (known: the pool is closed)"),
        ("keepalive on", True, True, OK, PASS, "ok", "claimed, works"),
    ],
)
def test_a_claim_is_compared_with_the_observation(
    title: str, claimed: bool, works: bool, ended: Outcome, outcome: CaseOutcome, mark: str, printed: str
) -> None:
    case = claim_case(title, claimed, (Attempt(),), lambda _: works, "do it")
    (result,) = judge_cases(SUBJECT, [case], crawled(ended), attempts=2)
    assert (result.outcome, result.mark, str(result)) == (outcome, mark, f"{title}: {printed}")
    assert (result.attempts, result.is_right) == (2, mark != "FAILED")
    change = "do it; or remove the claim from its [capabilities]" if claimed else "add the claim to its [capabilities]"
    assert [finding.change for finding in result.findings] == [change if mark == "FAILED" else ""]


@pytest.mark.parametrize(
    ("ended", "output", "outcomes"),
    [
        pytest.param(GARBAGE, "hello\n", [FAIL, NOT_TRIED], id="cut short"),
        pytest.param(HUNG, "", [HANG, NOT_TRIED], id="hung before its first line"),
        pytest.param(CRASHED, "", [CRASH, NOT_TRIED], id="crashed"),
        pytest.param(HUNG, "a,200,x,x,x\n", [HANG, FAIL], id="hung later: the rest is judged, and no request was seen"),
        pytest.param(OK, "a,200,x,x,x\n", [FAIL, FAIL], id="no request was seen"),
    ],
)
def test_a_crawl_that_breaks_off_shows_its_first_case_alone(
    ended: Outcome, output: str, outcomes: list[CaseOutcome]
) -> None:
    cases = [case for case in contract_cases(SUBJECT) if case.stimulus.name == "sequential"]
    results = judge_cases(SUBJECT, [cases[0], cases[0]], crawled(ended, output))
    assert [result.outcome for result in results] == outcomes


def test_a_case_not_tried_has_no_result_for_the_contract_and_fails_a_claim() -> None:
    first = contract_cases(SUBJECT)[0]
    assert not_tried(SUBJECT, first).mark == "unseen"
    case = claim_case("http 2", True, (Attempt(),), lambda _: True, "do it")
    result = not_tried(SUBJECT, case)
    assert (result.mark, str(result)) == (
        "FAILED",
        "http 2: claimed, does not work, not tried: it did not answer in an earlier case",
    )


def test_every_clause_has_one_case_and_shares_its_crawl() -> None:
    cases = contract_cases(SUBJECT)
    assert len({case.id for case in cases}) == len({case.title for case in cases}) == len(cases) == 18
    assert len({id(case.stimulus) for case in cases}) == 8
    (faults,) = {case.stimulus for case in cases if case.stimulus.name == "faults"}
    assert {crawl.listed for crawl in faults.attempts} == {"web"}
    assert {crawl.concurrency for crawl in faults.attempts} == {min(20, SUBJECT.concurrency)}
