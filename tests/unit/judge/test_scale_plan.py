"""Rate of several machines: what they share, by hand and as relations that hold for every plan."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue, UsageError
from httpdyno.judge.machine_plan import AnswerFigures, Load, Machine, Resource
from httpdyno.judge.scale_plan import Shared, SharedLimit, parse_share, plan_scale

ONE = AnswerFigures(
    cpu_ms=2.0,
    time_ms=500.0,
    received_bytes=100_000.0,
    requests=1.25,
    connections=0.0,
    handshake_round_trips=0.0,
    memory_bytes=50e6,
    concurrency=100,
    cpus=1,
    queries=2.0,
)
MACHINE = Machine(cores=4, memory_bytes=64 * 2**30, bandwidth_bits_per_s=10e9)
LOAD = Load(5000.0)
ALL = Shared(bandwidth_bits_per_s=4e9, queries_per_s=14_000.0, largest_domain=0.0001, domain_interval_s=1.0)


def test_each_limit_is_what_it_has_over_what_an_answer_needs() -> None:
    plan = plan_scale([ONE], LOAD, MACHINE, ALL)
    assert plan.limit_of_one is Resource.CPU
    assert plan.of_one.value == pytest.approx(4 / 0.002)
    assert {limit: ceiling.value for limit, ceiling in plan.ceilings.items()} == pytest.approx(
        {
            SharedLimit.LINK: 4e9 / 8 / 100_000,
            SharedLimit.NAMES: 14_000 / 2,
            SharedLimit.DOMAIN: 1 / (0.0001 * 1.25),
        }
    )
    assert list(plan.ceilings) == [SharedLimit.LINK, SharedLimit.NAMES, SharedLimit.DOMAIN]
    assert plan.reached == {SharedLimit.LINK: 3, SharedLimit.NAMES: 4, SharedLimit.DOMAIN: 4}


@pytest.mark.parametrize(
    ("machines", "rate", "limit"),
    [(1, 2000, Resource.CPU), (2, 4000, Resource.CPU), (3, 5000, SharedLimit.LINK), (100, 5000, SharedLimit.LINK)],
)
def test_the_rate_grows_until_something_shared_is_used_up(
    machines: int, rate: float, limit: Resource | SharedLimit
) -> None:
    plan = plan_scale([ONE], LOAD, MACHINE, ALL)
    assert plan.rate(machines).value == pytest.approx(rate)
    assert plan.limit(machines) is limit


@pytest.mark.parametrize(("rate", "machines"), [(1, 1), (2000, 1), (2001, 2), (5000, 3), (5001, None)])
def test_a_rate_above_the_lowest_limit_is_reached_by_no_number_of_machines(rate: float, machines: int | None) -> None:
    assert plan_scale([ONE], LOAD, MACHINE, ALL).machines(rate) == machines


def test_nothing_shared_limits_nothing() -> None:
    plan = plan_scale([ONE], LOAD, MACHINE, Shared())
    assert (plan.ceiling, plan.reached) == (None, {})
    assert plan.rate(1000).value == pytest.approx(2e6)
    assert plan.machines(2e6) == 1000


def test_queries_that_were_not_counted_are_no_zero() -> None:
    with pytest.raises(UsageError, match="has not counted the queries"):
        plan_scale([ONE, replace(ONE, queries=None)], LOAD, MACHINE, Shared(queries_per_s=10.0))


def test_a_client_without_queries_is_not_limited_by_name_servers() -> None:
    assert plan_scale([replace(ONE, queries=0.0)], LOAD, MACHINE, Shared(queries_per_s=10.0)).ceiling is None


@pytest.mark.parametrize(
    ("text", "share"), [("0.1%", 0.001), ("0.25", 0.25), ("100%", 1.0), (" 1 ", 1.0), ("5 %", 0.05)]
)
def test_a_share_is_read(text: str, share: float) -> None:
    assert parse_share(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["", "%", "0", "-1%", "101%", "2", "nan", "inf", "a"])
def test_another_text_is_no_share(text: str) -> None:
    with pytest.raises(InvalidValue, match="--largest-domain"):
        parse_share(text)


@given(
    cpu_ms=st.lists(st.floats(0.01, 50), min_size=1, max_size=5),
    queries=st.floats(0.1, 10),
    link=st.none() | st.floats(1e6, 1e12),
    names=st.none() | st.floats(1, 1e6),
    machines=st.integers(1, 1000),
)
def test_more_machines_are_never_slower_and_never_faster_than_their_sum(
    cpu_ms: list[float], queries: float, link: float | None, names: float | None, machines: int
) -> None:
    trials = [replace(ONE, cpu_ms=cpu, queries=queries) for cpu in cpu_ms]
    plan = plan_scale(trials, LOAD, MACHINE, Shared(link, names))
    fewer, more = plan.rate(machines), plan.rate(machines + 1)
    assert fewer.value <= more.value
    assert more.value <= (machines + 1) * plan.of_one.value * (1 + 1e-9)
    assert more.low <= more.value * (1 + 1e-9)
    assert more.high >= more.value * (1 - 1e-9)
    needed = plan.machines(more.value)
    assert needed is None or needed <= machines + 1
