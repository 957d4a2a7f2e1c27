"""Claims: what proves each, and what happens when one does not hold."""

from dataclasses import replace
from pathlib import Path

import pytest

from httpdyno.errors import ProbeFailed
from httpdyno.model import Capabilities, Count, Counters, KnownFailure, Subject, SubjectKind
from httpdyno.subjects.probe import ProbeCase, conclude, probe_cases, require_claims

SUBJECT = Subject(
    id="a-client",
    kind=SubjectKind.CLIENT,
    language="C",
    method="m",
    folder=Path("/nowhere"),
    run_argv=("x",),
    capabilities=Capabilities(http=("1.1",), keepalive=(True,)),
)
PLAIN = Counters(reused=7, http_versions=(Count("1.1", 8),))


def case(name: str, subject: Subject = SUBJECT) -> ProbeCase:
    return next(case for case in probe_cases(subject) if case.claim == name)


def answered(name: str, code: str = "200") -> dict[str, str]:
    return dict.fromkeys(case(name).urls, code)


@pytest.mark.parametrize(
    ("claim", "codes", "counters", "works"),
    [
        ("http 1.1", answered("http 1.1"), PLAIN, True),
        ("http 1.1", answered("http 1.1"), replace(PLAIN, http_versions=(Count("1.0", 8),)), False),
        ("http 1.1", answered("http 1.1", "Refused"), PLAIN, False),
        ("http 1.1", {}, Counters(), False),
        ("keepalive on", answered("keepalive on"), PLAIN, True),
        ("keepalive on", answered("keepalive on"), replace(PLAIN, reused=0), False),
        ("keepalive off", answered("keepalive off"), replace(PLAIN, reused=0), True),
        ("keepalive off", answered("keepalive off"), PLAIN, False),
        ("keepalive off", {}, replace(PLAIN, reused=0), False),
        (
            "check json",
            {"https://probe.example/json": "200", "https://probe.example/plain": "CheckFailed"},
            PLAIN,
            True,
        ),
        ("check json", answered("check json"), PLAIN, False),
        ("check json", answered("check json", "CheckFailed"), PLAIN, False),
    ],
)
def test_each_claim_is_shown_by_what_was_seen(
    claim: str, codes: dict[str, str], counters: Counters, works: bool
) -> None:
    assert conclude(SUBJECT, case(claim), codes, counters).works is works


def test_every_capability_is_tried_claimed_or_not() -> None:
    assert {case.claim: case.claimed for case in probe_cases(SUBJECT)} == {
        "http 1.1": True,
        "keepalive on": True,
        "keepalive off": False,
        "check json": False,
    }
    assert case("http 1.1").workload.http_version == "1.1"
    assert case("keepalive off").workload.keepalive is False
    assert case("check json").workload.check == "json"


def test_a_claim_that_does_not_hold_is_refused() -> None:
    result = conclude(SUBJECT, case("keepalive on"), {}, Counters())
    with pytest.raises(ProbeFailed, match="a-client: keepalive on: claimed, does not work; correct"):
        require_claims(SUBJECT, (result,))


def test_a_capability_that_is_not_claimed_is_refused() -> None:
    result = conclude(SUBJECT, case("keepalive off"), answered("keepalive off"), replace(PLAIN, reused=0))
    with pytest.raises(ProbeFailed, match="keepalive off: not claimed, works"):
        require_claims(SUBJECT, (result,))


def test_a_known_failure_explains_a_claim() -> None:
    known = replace(SUBJECT, known_failures=(KnownFailure("keepalive on", "closes after each answer"),))
    result = conclude(known, case("keepalive on", known), {}, Counters())
    assert result.honest
    assert str(result) == "keepalive on: claimed, does not work (known: closes after each answer)"
    require_claims(known, (result,))
