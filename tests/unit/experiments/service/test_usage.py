"""Resources of a server: CPU between two moments, memory before and under load, leaked descriptors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.experiments.service.judge import cpu_between_ns, memory_at, memory_over
from httpdyno.experiments.service.outcome import Server
from httpdyno.judge.cpu_time import CpuSeries

S = 10**9
LOAD = (4 * S, 15 * S)


def counted(*counts: int, limit: int | None = 1024, most: int | None = None) -> Server:
    """Readings a second apart."""
    readings = tuple((number * S, count) for number, count in enumerate(counts))
    return Server(descriptors=readings, descriptor_limit=limit, most_descriptors_of_one_process=most)


def clock(readings: list[list[int]] | None) -> CpuSeries | None:
    """The CPU clock of a server, as the engine reports it."""
    return CpuSeries.of({"subject": {"cpu": readings, "started_at_ns": 1_700_000_000 * S}})


def test_cpu_between_readings_grows_evenly() -> None:
    series = clock([[0, 0, 0], [10 * S, 4 * S, S], [20 * S, 4 * S, S]])
    assert cpu_between_ns(series, (2 * S, 4 * S)) == pytest.approx(S)
    assert cpu_between_ns(series, (10 * S, 20 * S)) == 0


@pytest.mark.parametrize(
    ("series", "span"),
    [(None, LOAD), ([], LOAD), ([[5 * S, 0, 0], [20 * S, 1, 1]], LOAD), ([[0, 0, 0], [9 * S, 1, 1]], LOAD)],
)
def test_cpu_time_without_readings_is_unknown(series: list[list[int]] | None, span: tuple[int, int]) -> None:
    assert cpu_between_ns(clock(series), span) is None


def test_memory_is_the_last_before_a_moment_and_the_median_of_a_span() -> None:
    readings = [(0, 10), (S, 20), (5 * S, 30), (6 * S, 90), (7 * S, 40)]
    assert (memory_at(readings, 2 * S), memory_at(readings, -1)) == (20, None)
    assert (memory_over(readings, LOAD), memory_over(readings, (90 * S, 99 * S))) == (40, None)


def test_a_server_that_keeps_every_descriptor_leaks() -> None:
    leaking = counted(9, 9, 20, 29, *(29 + 10 * number for number in range(1, 12)))
    result = leaking.leak(LOAD, connections=20)
    assert result == "descriptors grew from 39 to 139 in 11.0 s, while at most 20 connections were open"


@pytest.mark.parametrize(
    "readings",
    [
        # The connections, and other descriptors of a server.
        counted(9, 9, 20, 29, *[29] * 11),
        # One that accepts connections late, as its threads become free.
        counted(9, 9, 12, 12, 14, 16, 18, 20, 22, 24, 26, 28, 29, 29, 29),
        # Up and down.
        counted(9, 9, 29, *[29, 60] * 6),
        # There are too few samples.
        counted(9, 900),
        counted(),
    ],
)
def test_what_connections_explain_is_no_leak(readings: Server) -> None:
    assert readings.leak(LOAD, connections=20) is None


def test_descriptors_that_are_used_up_by_connections_are_no_leak() -> None:
    assert counted(9, 1020, most=1020).exhausted(connections=1000) is None
    result = counted(9, 1024, most=1024).exhausted(connections=20)
    assert result == "used up its descriptors, 1,024 of 1,024, with at most 20 connections"
    assert counted(9, 1024, limit=None).exhausted(connections=20) is None
    assert counted(9, 500).exhausted(connections=20) is None


@given(st.lists(st.integers(1, 29), max_size=40), st.integers(1, 500))
def test_a_server_within_its_connections_never_leaks(counts: list[int], connections: int) -> None:
    assert counted(*counts).leak(LOAD, connections=connections + 29) is None


def test_the_report_of_the_engine_is_read() -> None:
    found = Server.model_validate(
        {"descriptors": [[1, 3], [2, 7]], "descriptor_limit": 20, "most_descriptors_of_one_process": 5}
    )
    assert (found.peak, found.descriptor_limit, found.most_descriptors_of_one_process) == (7, 20, 5)
    assert Server.model_validate({"descriptors": None}).peak is None
