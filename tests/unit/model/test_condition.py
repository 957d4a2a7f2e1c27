"""Subjects, workloads, links and plans."""

from dataclasses import replace
from pathlib import Path

import pytest

from httpdyno.errors import InvalidValue
from httpdyno.model import Condition, KnownFailure, Link, Subject, SubjectKind, TrialPlan, Workload

SUBJECT = Subject(
    "go-net-http", SubjectKind.CLIENT, "Go", "net/http", Path("go-net-http"), ("./main",), concurrency=125
)


def test_a_workload_reaches_the_client_through_the_environment() -> None:
    workload = Workload(("https://a.example",), timeout_s=0.5, user_agent="x/1", keepalive=False, check="json")
    assert workload.environment(7) == {
        "CONCURRENCY": "7",
        "REQUEST_TIMEOUT": "0.5",
        "KEEPALIVE": "0",
        "CHECK": "json",
        "HTTP_VERSION": "",
        "USER_AGENT": "x/1",
    }


def test_a_client_keeps_its_own_user_agent_unless_told() -> None:
    assert "USER_AGENT" not in Workload(()).environment(1)


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_that_nothing_can_meet_is_refused(timeout: float) -> None:
    with pytest.raises(InvalidValue, match="timeout"):
        Workload((), timeout_s=timeout)


@pytest.mark.parametrize("user_agent", ["a\r\nInjected: 1", "a\0", "\x1b[2J", "a\x7f", "\udcff"])
def test_a_user_agent_that_no_header_carries_is_refused(user_agent: str) -> None:
    with pytest.raises(InvalidValue, match="user agent"):
        Workload((), user_agent=user_agent)


@pytest.mark.parametrize("deadline", [0, -1, float("nan")])
def test_a_deadline_before_everything_is_refused(deadline: float) -> None:
    with pytest.raises(InvalidValue, match="duration must be more than 0 seconds"):
        Condition("bench", "plain", Workload(()), deadline_s=deadline)


@pytest.mark.parametrize(
    ("link", "text"),
    [
        (Link(), "direct"),
        (Link(round_trip_ns=40_000_000), "rtt=40ms"),
        (Link(500_000, 1_000_000, 0.001), "rtt=0.5ms,rate=1000000bit,loss=0.1%"),
    ],
)
def test_a_link_writes_itself_as_on_the_command_line(link: Link, text: str) -> None:
    assert str(link) == text
    assert link.direct is (text == "direct")


@pytest.mark.parametrize("arguments", [(-1, None, 0.0), (0, 0, 0.0), (0, None, 1.1)])
def test_an_impossible_link_is_refused(arguments: tuple[int, int | None, float]) -> None:
    with pytest.raises(InvalidValue, match="link"):
        Link(*arguments)


def test_a_plan_takes_the_concurrency_of_its_condition_else_of_its_subject() -> None:
    condition = Condition("bench", "plain", Workload(()))
    plan = TrialPlan(0, 0, 0, SUBJECT, condition)
    assert plan.concurrency == 125
    assert replace(plan, condition=replace(condition, concurrency=3)).concurrency == 3


@pytest.mark.parametrize("change", [{"id": "Go"}, {"id": "a--b"}, {"id": ""}, {"run_argv": ()}, {"concurrency": 0}])
def test_an_impossible_subject_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(InvalidValue, match="subject"):
        replace(SUBJECT, **change)  # type: ignore[arg-type]


def test_a_known_failure_is_found_by_its_case() -> None:
    failure = KnownFailure("stall_tls", "hangs")
    subject = replace(SUBJECT, known_failures=(failure,))
    assert subject.known_failure("stall_tls") is failure
    assert subject.known_failure("refused") is None
