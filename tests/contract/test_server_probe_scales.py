"""A claim that time decides: a busy machine is given longer waits, and waits in sequence are found with any."""

import json
from pathlib import Path

import pytest

from httpdyno.model import Capabilities, Subject, SubjectKind
from httpdyno.subjects.probe import SCALES, Answer, ServerCase, conclude_server, server_cases

SERVER = Subject(
    "a-server",
    SubjectKind.SERVER,
    "C",
    "a server",
    Path("x"),
    ("x",),
    capabilities=Capabilities(endpoints=("workloads", "timeout")),
)


def case(claim: str, scale: int) -> ServerCase:
    (found,) = (case for case in server_cases(SERVER, scale=scale) if case.claim == claim)
    return found


def waits_s(case: ServerCase) -> list[float]:
    return [int(wait) / 1000 for wait in case.settings["WORKLOADS_MS"].split(",")]


def holds(case: ServerCase, once_s: float, twice_s: float) -> bool:
    text = json.loads(case.asks[0].content or b"")["text"]

    def answer(count: int, took_s: float) -> Answer:
        return Answer(200, "application/json", json.dumps({"texts": [text] * count}).encode(), took_s)

    refused = Answer(400, "text/plain", b"no", 0.001)
    return conclude_server(SERVER, case, [answer(3, once_s), answer(6, twice_s), refused, refused]).works


@pytest.mark.parametrize("busy_s", [0.0, 2.0, 30.0])
def test_waits_in_parallel_show_with_some_scale_however_busy_the_machine_is(busy_s: float) -> None:
    cases = [case("endpoint workloads", scale) for scale in SCALES]
    shown = [holds(case, max(waits_s(case)) + busy_s, max(waits_s(case)) + busy_s) for case in cases]
    assert any(shown)
    # The longer the waits, the less a busy machine counts.
    assert shown == sorted(shown)


@pytest.mark.parametrize("scale", SCALES)
def test_waits_in_sequence_show_with_none(scale: int) -> None:
    tried = case("endpoint workloads", scale)
    assert not holds(tried, sum(waits_s(tried)), 2 * sum(waits_s(tried)))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(("part", "works"), [(0.5, True), (1.0, False)])
def test_giving_up_shows_before_the_end_of_the_wait_alone(scale: int, part: float, works: bool) -> None:
    tried = case("endpoint timeout", scale)
    answer = Answer(503, "text/plain", b"too late", max(waits_s(tried)) * part)
    assert conclude_server(SERVER, tried, [answer]).works is works
