"""A client that times its own calls: its report matches its peer's counts, and each error has a name."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from httpdyno.judge.conformance import HONEST, Attempt
from httpdyno.judge.lines import read_harness_line
from httpdyno.lab.conformance import CaseRunner
from httpdyno.model import Counters
from httpdyno.subjects.build import Build

Timed = Callable[..., tuple[str, Counters]]

HANG_S = 300.0
URL = "http://timed.test/bytes/111"
DELAYS_MS = (100, 1_000, 5_000)
"""How long answers are delayed: finally so long that simultaneous calls are in flight together."""
AT_ONCE = 5


@pytest.fixture
def timed(runner: CaseRunner) -> Timed:
    """Let the client time a URL in a room; return its output, and the origin's counts."""
    if not runner.build.subject.capabilities.harness:
        pytest.skip("it does not claim to time its own calls")

    def run(
        url: str, *, web: str = "plain", concurrency: int = 1, harness: str = "timeit", **settings: Any
    ) -> tuple[str, Counters]:
        workload = replace(HONEST, harness=harness, **settings)
        seen = runner.observe(Attempt(["", url], "", web, workload, concurrency, deadline_s=HANG_S))
        return seen.output, seen.trial.counters

    return run


def check_calls(printed: str, counters: Counters, *, length: int, at_once: int, keepalive: bool) -> None:
    calls = read_harness_line(printed)
    assert (calls.outcome, counters.exit_code) == ("ok", 0)
    assert calls.calls == counters.requests
    assert [(answer.code, answer.body_length) for answer in calls.answers] == [("200", length)]
    assert (calls.calls_per_loop, counters.peak_concurrency) == (at_once, at_once)
    assert bool(counters.reused) is keepalive
    assert min(calls.runs_ns) > 0 < sum(calls.cpu_per_call_ns)


def test_every_call_is_a_request_that_was_seen(timed: Timed, build: Build) -> None:
    # Connections are kept in the next test, and not in this one, where there is a choice.
    keepalive = min(build.subject.capabilities.keepalive)
    check_calls(*timed(URL, keepalive=keepalive), length=111, at_once=1, keepalive=keepalive)


def test_calls_of_a_loop_are_in_flight_together(timed: Timed, build: Build) -> None:
    keepalive = max(build.subject.capabilities.keepalive)

    for delay_ms in DELAYS_MS:
        printed, counters = timed(f"http://timed.test/delay/{delay_ms}", concurrency=AT_ONCE, keepalive=keepalive)
        if counters.peak_concurrency == AT_ONCE:
            break
    check_calls(printed, counters, length=13, at_once=AT_ONCE, keepalive=keepalive)


def test_unexpected_content_ends_it(timed: Timed) -> None:
    printed, counters = timed("http://timed.test/plain", check="json")
    calls = read_harness_line(printed)
    assert (calls.outcome, calls.calls, calls.runs_ns) == ("CheckFailed", 1, ())
    assert (counters.requests, counters.exit_code) == (1, 0)


def test_a_stall_ends_it_by_the_timeout(timed: Timed) -> None:
    # Only the stall is requested: a slow answer is no more right than a quick one.
    printed, counters = timed("https://stall-headers.test/", web="contract", timeout_s=1.0)
    calls = read_harness_line(printed)
    assert not calls.is_ok
    assert not calls.outcome.isdigit()
    assert (calls.calls, calls.loops, counters.exit_code) == (1, None, 0)


@pytest.mark.parametrize("line", ["", "two words"])
def test_an_invalid_url_has_an_error_name(timed: Timed, line: str) -> None:
    printed, counters = timed(line)
    calls = read_harness_line(printed)
    assert not calls.is_ok
    assert (calls.calls, counters.requests, counters.exit_code) == (1, 0, 0)


def test_a_harness_that_is_none_ends_with_127(timed: Timed) -> None:
    printed, counters = timed(URL, harness="nonsense")
    assert (printed, counters.requests, counters.exit_code) == ("", 0, 127)
