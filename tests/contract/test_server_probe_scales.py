"""A claim that time decides: a busy machine gets longer waits, and sequential waits are found with any."""

import json
from pathlib import Path

import pytest

from doubles.claims import conclude_server
from httpdyno.judge.conformance import Answer, Attempt, Case
from httpdyno.judge.server_cases import SCALES, server_cases
from httpdyno.model import Capabilities, Subject, SubjectKind

SERVER = Subject(
    "a-server",
    SubjectKind.SERVER,
    "C",
    "a server",
    Path("x"),
    ("x",),
    capabilities=Capabilities(endpoints=("workloads", "timeout")),
)


def case(claim: str) -> Case:
    (found,) = (case for case in server_cases(SERVER) if case.title == claim)
    return found


def attempt(claim: str, scale: int) -> Attempt:
    return case(claim).stimulus.attempts[SCALES.index(scale)]


def waits_s(asked: Attempt) -> list[float]:
    return [int(wait) / 1000 for wait in asked.environment["WORKLOADS_MS"].split(",")]


def holds(asked: Attempt, once_s: float, twice_s: float) -> bool:
    text = json.loads(asked.requests[0].content or b"")["text"]

    def answer(count: int, took_s: float) -> Answer:
        return Answer(200, "application/json", json.dumps({"texts": [text] * count}).encode(), took_s)

    refused = Answer(400, "text/plain", b"no", 0.001)
    answers = [answer(3, once_s), answer(6, twice_s), refused, refused]
    return conclude_server(SERVER, case("endpoint workloads"), answers, asked).outcome.is_good


@pytest.mark.parametrize("busy_s", [0.0, 2.0, 30.0])
def test_waits_in_parallel_show_with_some_scale_however_busy_the_machine_is(busy_s: float) -> None:
    attempts = [attempt("endpoint workloads", scale) for scale in SCALES]
    shown = [holds(asked, max(waits_s(asked)) + busy_s, max(waits_s(asked)) + busy_s) for asked in attempts]
    assert any(shown)
    # The longer the waits, the less a busy machine matters.
    assert shown == sorted(shown)


@pytest.mark.parametrize("scale", SCALES)
def test_waits_in_sequence_show_with_none(scale: int) -> None:
    tried = attempt("endpoint workloads", scale)
    assert not holds(tried, sum(waits_s(tried)), 2 * sum(waits_s(tried)))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("part", "works"), [(0.5, True), (1.0, False)])
def test_giving_up_shows_before_the_end_of_the_wait_alone(scale: int, part: float, works: bool) -> None:
    tried = attempt("endpoint timeout", scale)
    answer = Answer(503, "text/plain", b"too late", max(waits_s(tried)) * part)
    result = conclude_server(SERVER, case("endpoint timeout"), [answer], tried)
    assert result.outcome.is_good is works
