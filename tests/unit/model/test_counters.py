"""The engine's report as counters, and the conditions of trials against another machine."""

from pathlib import Path

import pytest

from httpdyno.errors import EngineFailed, InvalidValue
from httpdyno.model import (
    Condition,
    Count,
    Counters,
    CpuTime,
    Link,
    LinkCounters,
    MemoryPoint,
    PathCounters,
    ThroughputPoint,
    Workload,
    counters_from_report,
    flatten,
    restore,
)
from httpdyno.model.counters import AgainstCounters

REPORT = {
    "version": 1,
    "outcome": "exited",
    "reason": None,
    "subject": {
        "argv": ["./main"],
        "exit_code": 0,
        "signal": None,
        "started_at_ns": 100,
        "ended_at_ns": 300,
        "wall_ns": 200,
        "cpu_user_ns": 50,
        "cpu_system_ns": 20,
        "peak_memory_bytes": 4096,
        "memory": [[10, 2048], [20, 4096]],
        "accounting": "cgroup-v1",
        "memory_limit_bytes": None,
        "memory_limit_enforced_by": None,
        "memory_limit_reason": "no controller",
        "out_of_memory": False,
        "sent_bytes": 1,
        "received_bytes": 2,
        "sent_packets": 3,
        "received_packets": 4,
    },
    "engine": {"cpu_user_ns": 5, "cpu_system_ns": 6, "version": "0.1.0"},
    "cpus": [{"cpu": 0, "role": "engine", "busy_ns": 7, "steal_ns": 8, "window_ns": 9, "interrupt_ns": 2}],
    "pressure": {"cpu_some_us": 1, "memory_some_us": 2, "io_some_us": 3},
    "throttled_ns": 4,
    "web": {"name": "plain", "seed": 1, "digest": "abc"},
    "origin": {
        "connections": 11,
        "requests": 12,
        "statuses": {"404": 1, "200": 11},
        "user_agents": {},
        "sent_bytes": 13,
        "received_bytes": 14,
        "lateness_ns": {"count": 12, "mean": 5, "p50": 1, "p99": 2, "max": 3},
        "waiting_ns": 15,
    },
    "throughput": [[200_000_000, 12]],
}


def test_every_part_of_a_report_has_its_counter() -> None:
    counters = counters_from_report(REPORT)
    assert (counters.exit_code, counters.signal, counters.wall_ns) == (0, None, 200)
    assert counters.memory == (MemoryPoint(10, 2048), MemoryPoint(20, 4096))
    assert counters.memory_limit_reason == "no controller"
    assert counters.cpus == (CpuTime(0, "engine", 7, 8, 9, 2),)
    assert (counters.cpu_pressure_us, counters.memory_pressure_us, counters.io_pressure_us) == (1, 2, 3)
    assert (counters.engine_cpu_user_ns, counters.engine_version, counters.web_digest) == (5, "0.1.0", "abc")
    assert (counters.connections, counters.requests) == (11, 12)
    assert counters.statuses == (Count("200", 11), Count("404", 1))
    assert counters.user_agents == ()
    assert counters.codings is None
    assert (counters.sent_bytes, counters.origin_sent_bytes) == (1, 13)
    assert (counters.lateness_count, counters.lateness_mean_ns, counters.lateness_p99_ns) == (12, 5, 2)
    assert (counters.throttled_ns, counters.origin_waiting_ns) == (4, 15)
    assert counters.throughput == (ThroughputPoint(200_000_000, 12),)


LINK = {
    "spec": "rtt=40ms,down.rate=1gbit,queue=100ms",
    "seed": 7,
    "mtu": 1500,
    "rtt_ns": 40_000_000,
    "up": {"packets": 1, "bytes": 2, "super_packets": 3, "lost": 4, "dropped": 5, "unread": 14, "waited_max_ns": 6}
    | {"lateness_ns": {"count": 1, "p50": 7, "p99": 8, "p99_9": 9, "max": 10}},
    "down": {"packets": 11, "bytes": 12},
    "offload": {"longest_bytes": 12500, "why": "bounded"},
    "cpu": 2,
    "cpu_shared": False,
    "cpu_time_ns": 13,
    "measured": {
        "rtt_ns": {"count": 40, "min": 1, "p50": 40_020_000, "p99": 40_100_000, "max": 2},
        "up": {"goodput_bits_per_s": None, "expected_bits_per_s": None},
        "down": {"goodput_bits_per_s": 9.6e8, "expected_bits_per_s": 9.8e8},
    },
    "verdict": "held",
    "reason": None,
}


def test_a_link_has_its_figures() -> None:
    link = counters_from_report({**REPORT, "link": LINK, "transport": {"tcp_rmem_max_bytes": 6291456}}).link
    assert link == LinkCounters(
        seed=7,
        verdict="held",
        rtt_p50_ns=40_020_000,
        rtt_p99_ns=40_100_000,
        up=PathCounters(1, 2, 3, 4, 5, 14, 6, 7, 8, 10),
        down=PathCounters(11, 12, goodput_bits_per_s=9.6e8, goodput_expected_bits_per_s=9.8e8),
        offload_bytes=12500,
        offload_reason="bounded",
        cpu=2,
        cpu_shared=False,
        cpu_time_ns=13,
    )
    assert counters_from_report({**REPORT, "link": None}).link is None
    unchecked = counters_from_report({**REPORT, "link": {**LINK, "measured": None, "verdict": "unchecked"}}).link
    assert unchecked
    assert (unchecked.rtt_p50_ns, unchecked.down.goodput_bits_per_s, unchecked.down.bytes) == (None, None, 12)


def test_figures_of_a_link_survive_the_columns_of_a_record() -> None:
    counters = counters_from_report({**REPORT, "link": LINK})
    values = flatten(counters)
    assert (values["link_rtt_p50_ns"], values["link_down_bytes"], values["link_up_lost"]) == (40_020_000, 12, 4)
    assert restore(Counters, values) == counters
    assert restore(Counters, flatten(counters_from_report(REPORT))).link is None


def test_a_trial_without_an_origin_has_no_counters_of_one() -> None:
    counters = counters_from_report({**REPORT, "origin": None, "pressure": None, "web": None})
    assert (counters.connections, counters.statuses, counters.lateness_count) == (None, None, None)
    assert counters.wall_ns == 200


def test_what_an_older_engine_did_not_count_is_not_known() -> None:
    cpu = {name: value for name, value in REPORT["cpus"][0].items() if name != "interrupt_ns"}  # type: ignore[index]
    counters = counters_from_report({"version": 1, "cpus": [cpu], "origin": {"lateness_ns": {"count": 12}}})
    assert counters.cpus == (CpuTime(0, "engine", 7, 8, 9, None),)
    assert (counters.throttled_ns, counters.origin_waiting_ns, counters.lateness_mean_ns) == (None, None, None)


@pytest.mark.parametrize("version", [None, 0, 2, "1"])
def test_a_report_of_another_version_is_refused(version: object) -> None:
    with pytest.raises(EngineFailed, match="this httpdyno reads 1"):
        counters_from_report({**REPORT, "version": version})


@pytest.mark.parametrize(
    "damage", [{"cpus": [{"cpu": 0}]}, {"throughput": [1]}, {"subject": [1]}, {"origin": {"statuses": {"200": "many"}}}]
)
def test_a_damaged_report_is_one_clear_line(damage: dict[str, object]) -> None:
    with pytest.raises(EngineFailed, match="cannot be read") as raised:
        counters_from_report({**REPORT, **damage})
    assert "\n" not in raised.value.line


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
    with pytest.raises(InvalidValue, match="--link: the path to http://other:8080 is real"):
        Condition("bench", "plain", WORKLOAD, against="http://other:8080", link=Link.parse("rtt=1ms"))
    with pytest.raises(InvalidValue, match="it cannot serve the real internet"):
        Condition("bench", "live", WORKLOAD, against="http://other:8080")


def test_no_version_of_http_is_agreed_on_without_tls() -> None:
    for version in ("", "1.1"):
        Condition("bench", "plain", Workload(Path("urls"), http_version=version), against="http://other:8080")
    with pytest.raises(InvalidValue, match="--http-version: http://other:8080 is used without TLS"):
        Condition("bench", "plain", Workload(Path("urls"), http_version="2"), against="http://other:8080")
