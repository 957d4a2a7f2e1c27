"""What is recorded of another machine, and which conditions can be there."""

from pathlib import Path

import pytest

from httpdyno.errors import InvalidValue
from httpdyno.model import Condition, Link, Workload, counters_from_report
from httpdyno.model.against import AgainstCounters

WORKLOAD = Workload(Path("urls"))


def test_the_way_to_another_machine_is_recorded() -> None:
    report = {
        "version": 1,
        "against": {
            "url": "http://other:8080",
            "address": "192.0.2.7:8080",
            "rtt": {"connect_ns": 5, "count": 32, "min_ns": 3, "p50_ns": 4, "max_ns": 9},
            "clock": {"ahead_ns": -7, "drifted_ns": 2, "bound_ns": 2},
        },
    }
    expected = AgainstCounters("http://other:8080", "192.0.2.7:8080", 3, 4, 5, -7, 2, 2)
    assert counters_from_report(report).against == expected
    assert counters_from_report({"version": 1}).against is None


def test_of_an_origin_that_was_lost_the_clock_is_not_known() -> None:
    report = {"version": 1, "against": {"url": "http://other:8080", "rtt": {"min_ns": 3}, "clock": None}}
    against = counters_from_report(report).against
    assert against is not None
    assert (against.rtt_min_ns, against.clock_bound_ns) == (3, None)


def test_a_condition_on_another_machine_has_no_link_of_ours() -> None:
    there = Condition("bench", "plain", WORKLOAD, against="http://other:8080")
    assert (there.link_name, Condition("bench", "plain", WORKLOAD).link_name) == ("against http://other:8080", "direct")
    with pytest.raises(InvalidValue, match="--link: the way to http://other:8080 is a real one"):
        Condition("bench", "plain", WORKLOAD, against="http://other:8080", link=Link.parse("rtt=1ms"))
    with pytest.raises(InvalidValue, match="the real internet is not played there"):
        Condition("bench", "live", WORKLOAD, against="http://other:8080")


def test_no_version_of_http_is_agreed_on_without_tls() -> None:
    for version in ("", "1.1"):
        Condition("bench", "plain", Workload(Path("urls"), http_version=version), against="http://other:8080")
    with pytest.raises(InvalidValue, match="--http-version: http://other:8080 is asked without TLS"):
        Condition("bench", "plain", Workload(Path("urls"), http_version="2"), against="http://other:8080")
