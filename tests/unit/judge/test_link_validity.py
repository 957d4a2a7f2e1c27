"""What the emulation of a link makes of a trial: too little of it, too late, or not read at all."""

import re
from dataclasses import replace

import pytest

from doubles.honest_trial import finding, with_counters
from httpdyno.judge.validity import judge_validity
from httpdyno.model import LinkCounters, PathCounters, Trial, Validity


def linked(spec: str, up: PathCounters, down: PathCounters) -> Trial:
    return replace(with_counters(link=LinkCounters(up=up, down=down)), link=spec)


@pytest.mark.parametrize(
    ("spec", "up_bytes", "down_bytes", "number"),
    [
        ("up.rate=1mbit,down.rate=10mbit", 625_000, 1_250_000, 50),
        ("up.rate=1mbit,down.rate=10mbit", 125_000, 11_875_000, 95),
        ("down.rate=10mbit", 100_000_000, 1_250_000, 10),
        ("rate=10mbit,loss=1%", None, None, None),
        ("rtt=40ms", 1, 1, None),
        ("written otherwise", 1, 1, None),
    ],
)
def test_each_direction_of_a_link_has_its_own_rate(
    spec: str, up_bytes: int | None, down_bytes: int | None, number: float | None
) -> None:
    found = finding(linked(spec, PathCounters(bytes=up_bytes), PathCounters(bytes=down_bytes)), "link_rate")
    assert found.number == (None if number is None else pytest.approx(number))
    assert found.passed is (None if number is None else number <= 90)


@pytest.mark.parametrize(
    ("spec", "up_ns", "down_ns", "passed"),
    [
        ("rtt=40ms", 900_000, 1_000_000, True),
        ("rtt=40ms", 1_000_000, 1_100_000, False),
        ("rtt=1ms", 200_000, 250_000, True),
        ("rtt=1ms", 300_000, 250_000, False),
        ("rate=1gbit", 100_000, 100_000, True),
        ("rtt=1ms", None, 1, None),
    ],
)
def test_an_emulator_that_is_late_limits_the_trial(
    spec: str, up_ns: int | None, down_ns: int | None, *, passed: bool | None
) -> None:
    trial = linked(spec, PathCounters(lateness_p99_ns=up_ns), PathCounters(lateness_p99_ns=down_ns))
    found = finding(trial, "link_lateness")
    assert found.passed is passed
    if passed is False:
        assert judge_validity(trial) == (Validity.LINK_LIMITED, found.text)
        assert f"was itself late, by {(up_ns + down_ns) / 1e6:.2f} ms where " in found.text  # type: ignore[operator]


@pytest.mark.parametrize(
    ("up", "down", "passed"),
    [
        ((1000, 0), (1000, 2), True),
        ((1000, 1), (1000, 2), False),
        ((0, 0), (0, 0), None),
        ((1000, None), (1000, 2), None),
    ],
)
def test_packets_that_the_emulator_did_not_read_limit_the_trial(
    up: tuple[int, int | None], down: tuple[int, int | None], *, passed: bool | None
) -> None:
    ways = [PathCounters(packets=packets, unread=unread) for packets, unread in (up, down)]
    found = finding(linked("rtt=40ms", *ways), "link_unread")
    assert found.passed is passed
    if passed is False:
        assert re.search(r"could not keep up: 0\.1\d? % of the packets", found.text)
