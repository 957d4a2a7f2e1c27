"""Subjects, workloads, links and plans."""

from dataclasses import replace
from pathlib import Path

import pytest

from httpdyno.errors import InvalidValue
from httpdyno.model import Condition, KnownFailure, Subject, SubjectKind, TrialPlan, UrlSeries, Workload

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


def test_a_client_keeps_its_own_user_agent_by_default() -> None:
    assert "USER_AGENT" not in Workload(()).environment(1)


def test_a_method_and_content_reach_the_client_unless_it_is_a_get() -> None:
    get, post = Workload(()).environment(1), Workload((), method="POST", body="fünf").environment(1)
    assert {"METHOD", "BODY"}.isdisjoint(get)
    assert post == get | {"METHOD": "POST", "BODY": "fünf"}
    assert Workload((), method="HEAD").environment(1) == get | {"METHOD": "HEAD"}


@pytest.mark.parametrize("method", ["", "PO ST", "POST\r\nX: 1", "É"])
def test_a_method_that_is_no_token_is_refused(method: str) -> None:
    with pytest.raises(InvalidValue, match="is not a method; write it like POST"):
        Workload((), method=method)


def test_a_get_with_content_is_refused() -> None:
    with pytest.raises(InvalidValue, match="a GET has no content"):
        Workload((), body="x")


@pytest.mark.parametrize("timeout", [0, -1, float("nan")])
def test_a_timeout_that_nothing_can_meet_is_refused(timeout: float) -> None:
    with pytest.raises(InvalidValue, match="timeout"):
        Workload((), timeout_s=timeout)


@pytest.mark.parametrize("user_agent", ["a\r\nInjected: 1", "a\0", "\x1b[2J", "a\x7f", "\udcff"])
def test_a_user_agent_that_no_header_carries_is_refused(user_agent: str) -> None:
    with pytest.raises(InvalidValue, match="--user-agent"):
        Workload((), user_agent=user_agent)


@pytest.mark.parametrize("deadline", [0, -1, float("nan")])
def test_a_deadline_before_everything_is_refused(deadline: float) -> None:
    with pytest.raises(InvalidValue, match="is not a duration; write it like 10m"):
        Condition("bench", "plain", Workload(()), deadline_s=deadline)


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_that_the_engine_cannot_take_is_refused(seed: int) -> None:
    with pytest.raises(InvalidValue, match="--link-seed"):
        Condition("bench", "plain", Workload(()), link_seed=seed)


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


def test_a_series_of_urls_is_numbered_from_0() -> None:
    assert list(UrlSeries("http://a.example/bytes/9?n=", 3)) == [
        "http://a.example/bytes/9?n=0",
        "http://a.example/bytes/9?n=1",
        "http://a.example/bytes/9?n=2",
    ]


@pytest.mark.parametrize(("prefix", "count"), [("http://a.example/?n=", 0), ("", 1), ("http://a.example/\n", 1)])
def test_a_series_that_is_no_list_is_refused(prefix: str, count: int) -> None:
    with pytest.raises(InvalidValue):
        UrlSeries(prefix, count)
