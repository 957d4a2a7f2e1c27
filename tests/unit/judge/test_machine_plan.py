"""A load in machines: the input, the results of each trial, and the relations of the quantities."""

from dataclasses import replace
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.trials import trial
from httpdyno.errors import InvalidValue, UsageError
from httpdyno.judge.machine_plan import (
    PORTS,
    AnswerFigures,
    Load,
    Machine,
    Resource,
    answer_figures,
    check_of,
    parse_load_rate,
    plan_machines,
)
from httpdyno.model import Counters, LinesSummary, Tally, Validity
from httpdyno.model.counters import Count, CpuTime

ONE = AnswerFigures(
    cpu_ms=2.0,
    time_ms=500.0,
    received_bytes=100_000.0,
    requests=1.0,
    connections=0.0,
    handshake_round_trips=0.0,
    memory_bytes=50e6,
    concurrency=100,
    cpus=1,
)
MACHINE = Machine(cores=8, memory_bytes=32 * 2**30, bandwidth_bits_per_s=10e9)
trials = st.lists(
    st.builds(
        AnswerFigures,
        cpu_ms=st.floats(0.01, 100),
        time_ms=st.floats(0.1, 5_000),
        received_bytes=st.floats(100_000, 150_000),
        requests=st.floats(1, 3),
        connections=st.floats(0, 3),
        handshake_round_trips=st.floats(0, 4),
        memory_bytes=st.floats(1e6, 1e9),
        concurrency=st.integers(1, 1000),
        cpus=st.integers(1, 8),
    ),
    min_size=1,
    max_size=6,
)
rates = st.floats(0.1, 1e6)


@pytest.mark.parametrize(
    ("text", "per_s"),
    [
        ("1e9/week", 1e9 / 604_800),
        ("1E+9/w", 1e9 / 604_800),
        ("100M/week", 1e8 / 604_800),
        ("1B/week", 1e9 / 604_800),
        ("1.5e6/day", 1.5e6 / 86_400),
        ("1,000,000/day", 1e6 / 86_400),
        ("7.2k/h", 2.0),
        ("3000/min", 50.0),
        ("2000/s", 2000.0),
        (" 2000 / s ", 2000.0),
        ("0.5/second", 0.5),
    ],
)
def test_a_rate_is_read(text: str, per_s: float) -> None:
    assert parse_load_rate(text) == pytest.approx(per_s)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a rate"),
        ("2000", "is not a rate"),
        ("/s", "is not a rate"),
        ("-5/s", "is not a rate"),
        ("1e-9/s", "is not a rate"),
        ("2000/fortnight", "is not a rate"),
        ("nan/s", "is not a rate"),
        ("a billion/week", "is not a rate"),
        ("0/s", "must be above 0"),
        ("1e99/s", "is too high"),
    ],
)
def test_what_is_no_rate_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        parse_load_rate(text)
    assert refused.value.line == f"RATE: {text!r} {said}; write it like 1e9/week, 100M/day or 2000/s"


def test_a_load_is_cores_requests_in_flight_memory_bandwidth_and_sockets() -> None:
    plan = plan_machines([replace(ONE, connections=0.5)], Load(2000.0), MACHINE)
    assert plan.cores.value == pytest.approx(4.0)
    assert plan.in_flight.value == pytest.approx(1000.0)
    assert plan.processes.value == 10  # 1,000 in flight, 100 in each; 4 would do for the CPU
    assert plan.memory_bytes.value == pytest.approx(500e6)
    assert plan.bits_per_s.value == pytest.approx(1.6e9)
    assert plan.connections_per_s.value == pytest.approx(1000.0)
    assert plan.sockets.value == pytest.approx(1000 + 60 * 1000)
    assert (plan.machines, plan.limit, plan.used_share) == (1, Resource.CPU, pytest.approx(0.5))
    assert plan.cores.level is None, "a single trial has no spread"


@pytest.mark.parametrize(
    ("machine", "limit", "machines"),
    [
        (replace(MACHINE, cores=1), Resource.CPU, 4),
        (replace(MACHINE, memory_bytes=200e6), Resource.MEMORY, 3),
        (replace(MACHINE, bandwidth_bits_per_s=1e9), Resource.BANDWIDTH, 2),
        (replace(MACHINE, addresses=1), Resource.SOCKETS, 2),
        (replace(MACHINE, addresses=2), Resource.SOCKETS, 1),
    ],
)
def test_the_scarcest_resource_decides(machine: Machine, limit: Resource, machines: int) -> None:
    plan = plan_machines([replace(ONE, connections=1.0)], Load(2000.0), machine)
    assert (plan.limit, plan.machines) == (limit, machines)


def test_ports_are_those_of_one_address_pair() -> None:
    plan = plan_machines([replace(ONE, time_ms=1.0, connections=1.0)], Load(1000.0), replace(MACHINE, addresses=1))
    assert plan.shares[Resource.SOCKETS].value == pytest.approx((1 + 60_000) / PORTS)


@given(trials, rates)
def test_twice_the_rate_takes_twice_of_all_but_whole_processes(figures: list[AnswerFigures], rate: float) -> None:
    once, twice = (plan_machines(figures, Load(factor * rate), MACHINE) for factor in (1, 2))
    for name in ("cores", "in_flight", "bits_per_s", "sockets", "connections_per_s"):
        assert getattr(twice, name).value == pytest.approx(2 * getattr(once, name).value)
    assert once.memory_bytes.value <= twice.memory_bytes.value <= 2 * once.memory_bytes.value * (1 + 1e-9)
    assert once.machines <= twice.machines <= 2 * once.machines


@given(trials, rates)
def test_requests_in_flight_are_rate_times_time(figures: list[AnswerFigures], rate: float) -> None:
    plan = plan_machines(figures, Load(rate, round_trip_ms=80.0), MACHINE)
    assert plan.in_flight.value == pytest.approx(rate * plan.answer_ms.value / 1000)


@given(trials, rates)
def test_machines_are_those_of_the_scarcest_resource_and_within_their_ends(
    figures: list[AnswerFigures], rate: float
) -> None:
    plan = plan_machines(figures, Load(rate), MACHINE)
    worst = max(share.value for share in plan.shares.values())
    assert plan.machines == max(1, ceil(round(worst, 9)))
    assert plan.machines_low <= plan.machines <= plan.machines_high
    assert plan.shares[plan.limit].value == worst
    assert 0 < plan.used_share <= 1 + 1e-9


@given(trials, rates)
def test_an_interval_is_between_values_of_trials(figures: list[AnswerFigures], rate: float) -> None:
    plan = plan_machines(figures, Load(rate), MACHINE)
    each = [rate * one.cpu_ms / 1000 for one in figures]
    assert min(each) <= plan.cores.low * (1 + 1e-12)
    assert plan.cores.high <= max(each) * (1 + 1e-12)
    assert (plan.cores.level is None) == (len(figures) == 1)


@pytest.mark.parametrize(
    ("figures", "size", "trips"),
    [
        ({}, 10_000, 1),  # on a connection that is open already
        ({}, 1_000_000, 1),
        ({"connections": 1.0}, 10_000, 2),  # connect, ask
        ({"connections": 1.0}, 200 * 1024, 5),  # 142 segments: windows of 10, 20, 40, 80
        ({"connections": 1.0, "handshake_round_trips": 1.0}, 10_000, 3),
        ({"connections": 0.5, "handshake_round_trips": 0.5}, 10_000, 2),
        ({"requests": 2.0, "connections": 2.0}, 20_000, 4),  # a redirect to another host
    ],
)
def test_a_new_connection_takes_more_round_trips(figures: dict[str, float], size: int, trips: float) -> None:
    of = replace(ONE, **figures)  # type: ignore[arg-type]
    assert of.round_trips(size) == pytest.approx(trips)
    plan = plan_machines([of], Load(1.0, answer_bytes=size, round_trip_ms=80.0), MACHINE)
    assert plan.answer_ms.value == pytest.approx(500 + 80 * trips)


def test_the_size_that_is_named_is_the_bandwidth_that_is_planned() -> None:
    plan = plan_machines([ONE], Load(1000.0, answer_bytes=250_000), MACHINE)
    assert plan.bits_per_s.value == pytest.approx(2e9)
    assert plan.cores.value == pytest.approx(2.0), "one size says nothing of another's CPU time"


def test_the_cost_of_several_sizes_is_fitted_over_the_size() -> None:
    sizes = [10_000.0, 50_000.0, 100_000.0]
    line = [replace(ONE, received_bytes=size, cpu_ms=0.1 + size / 1e6, time_ms=1 + size / 1e5) for size in sizes]
    plan = plan_machines(line, Load(1000.0, answer_bytes=200_000), MACHINE)
    assert plan.cores.value == pytest.approx(0.3)
    assert plan.answer_ms.value == pytest.approx(3.0)
    with pytest.raises(UsageError, match=r"^--bytes: this run has answers of 10,000 to 100,000 bytes"):
        plan_machines(line, Load(1000.0), MACHINE)


def test_the_check_is_a_tenth_of_one_machine() -> None:
    load = Load(4000.0, round_trip_ms=80.0)
    plan = plan_machines([ONE], load, replace(MACHINE, cores=4))
    assert plan.machines == 2
    check = check_of(plan, load, cpus=1)
    assert (check.share, check.rate_per_s, check.delay_ms, check.round_trip_ms) == (0.1, 200.0, 500, 80.0)
    assert check.concurrency == ceil(1.25 * 200 * 0.58)
    assert check.size_bytes == pytest.approx(96_350, abs=10), "without the headers of its packets"


def test_the_check_is_less_than_a_tenth_where_that_takes_more_cpus_than_were_measured() -> None:
    load = Load(32_000.0)
    plan = plan_machines([ONE], load, replace(MACHINE, cores=64, bandwidth_bits_per_s=100e9))
    assert (plan.machines, check_of(plan, load, cpus=1).share) == (1, 0.01)
    assert check_of(plan, load, cpus=10).share == 0.1


def test_the_figures_of_a_trial_are_for_each_right_answer() -> None:
    of = trial(
        "go",
        0,
        concurrency=20,
        tally=Tally(right=10),
        summary=LinesSummary(
            urls=10, mean_ns=5e8, cpu_per_right_ns=2e6, planned_mean_ns=4.9e8, right_per_s=38.0, ok_share=0.8
        ),
        counters=Counters(
            received_bytes=1_000_000,
            requests=15,
            connections=12,
            peak_memory_bytes=50_000_000,
            tls_versions=(Count("1.2", 2), Count("1.3", 10)),
            cpus=(CpuTime(0, "engine", 0, 0, 1), CpuTime(1, "subject", 0, 0, 1)),
        ),
    )
    figures = answer_figures(of)
    assert figures is not None
    assert figures == AnswerFigures(2.0, 500.0, 1e5, 1.5, 1.2, 1.4, 5e7, 20, 1, 0.8, 38.0)
    assert figures.busy_share == pytest.approx(0.076)


@pytest.mark.parametrize(
    ("planned_ns", "per_s", "validity", "link", "time_ms"),
    [
        (4e8, 38.0, Validity.VALID, "direct", 500.0),  # 20 in flight, 0.4 s each: the web set the pace
        (4e8, 10.0, Validity.ORIGIN_LIMITED, "direct", 402.0),  # answers waited for a CPU
        (None, 40.0, Validity.ORIGIN_LIMITED, "direct", 2.0),
        (None, 40.0, Validity.VALID, "rtt=80ms", 500.0),  # the plan does not include a distance
    ],
)
def test_waiting_for_a_cpu_is_no_part_of_the_time_of_an_answer(
    planned_ns: float | None, per_s: float, validity: Validity, link: str, time_ms: float
) -> None:
    of = trial(
        "go",
        0,
        concurrency=20,
        link=link,
        validity=validity,
        summary=LinesSummary(urls=10, mean_ns=5e8, cpu_per_right_ns=2e6, planned_mean_ns=planned_ns, right_per_s=per_s),
        counters=Counters(received_bytes=1, peak_memory_bytes=1, wall_ns=10**9),
    )
    figures = answer_figures(of)
    assert figures is not None
    assert figures.time_ms == pytest.approx(time_ms)


@pytest.mark.parametrize(
    "changes",
    [
        {"summary": None},
        {"tally": None},
        {"tally": Tally(right=0)},
        {"summary": LinesSummary(urls=10, mean_ns=5e8)},
        {"counters": Counters(received_bytes=1)},
    ],
)
def test_a_trial_without_a_figure_has_none(changes: dict[str, object]) -> None:
    whole = {
        "summary": LinesSummary(urls=10, mean_ns=5e8, cpu_per_right_ns=2e6),
        "counters": Counters(received_bytes=1, peak_memory_bytes=1),
    }
    assert answer_figures(trial("go", 0, **whole)) is not None
    assert answer_figures(trial("go", 0, **(whole | changes))) is None
