"""The names of causes: the same as the engine's, the judge's and the probe's."""

import re
from pathlib import Path

import pytest

from httpdyno.errors import InvalidValue
from httpdyno.judge.client_cases import claim_cases, contract_cases
from httpdyno.judge.verdict import TIMED_OUT_OVER_LINK, TIMED_OUT_SATURATED
from httpdyno.model import KnownFailure, Subject, SubjectKind
from httpdyno.model.subject import CASES, CLAIMS, FAULTS, HAZARDS, JUDGED_CAUSES, WEB_CAUSES, WHOLE_TIMEOUTS

WEB = Path(__file__).parents[3] / "crates" / "dyno-web" / "src"


def test_faults_are_those_of_the_engine() -> None:
    listed = re.findall(r'^    \w+ = "(\w+)" in \w+;$', (WEB / "fault.rs").read_text(encoding="utf-8"), re.MULTILINE)
    assert list(FAULTS) == listed


def test_other_causes_are_those_that_the_engine_documents() -> None:
    source = (WEB / "expectation.rs").read_text(encoding="utf-8")
    for said, names in (("A fault's name, or", WEB_CAUSES), ("known to get wrong:", HAZARDS)):
        (line,) = re.findall(rf"///.* ?{said} (.*)\.\n", source)
        assert set(re.findall(r"`(\w+)`", line)) == set(names)


def test_the_judge_and_the_probe_use_these_names() -> None:
    assert (TIMED_OUT_SATURATED, TIMED_OUT_OVER_LINK.case) == JUDGED_CAUSES
    subject = Subject("a", SubjectKind.CLIENT, "C", "c", Path("a"), ("./a",))
    assert tuple(case.title for case in claim_cases(subject)) == CLAIMS
    assert set(WHOLE_TIMEOUTS) < {case.title for case in contract_cases(subject)}


def test_names_are_unique() -> None:
    assert len(set(CASES)) == len(CASES)


@pytest.mark.parametrize("case", CASES)
def test_a_known_failure_names_one_of_them(case: str) -> None:
    assert KnownFailure(case, "a reason").case == case


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("stall_tsl", "unknown case 'stall_tsl'; did you mean 'stall_tls'?"),
        ("keepalive", "did you mean 'keepalive o"),
        ("all of them", "subjects/CONTRACT.md list those that there are"),
        ("", "unknown case ''"),
    ],
)
def test_any_other_name_is_refused(case: str, said: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(said)):
        KnownFailure(case, "a reason")
