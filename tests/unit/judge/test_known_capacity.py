"""Capacities of servers with known behaviour, each against a simulation of another kind."""

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Iterator

import pytest

from httpdyno.judge.known_capacity import (
    degrading_capacity,
    degrading_late_share,
    limiter_capacity,
    limiter_refused_share,
    md1_capacity,
    md1_late_share,
    mmk_capacity,
    mmk_late_share,
)

REQUESTS = 200_000
MEAN_S = 200e-6


def poisson(rate_per_s: float, source: random.Random) -> Iterator[float]:
    now = 0.0
    for _ in range(REQUESTS):
        now += source.expovariate(rate_per_s)
        yield now


def simulated_late_share(
    rate_per_s: float, draw: Callable[[random.Random], float], workers: int, limit_s: float
) -> float:
    """Serve Poisson arrivals in their order, each by the worker that is free first."""
    source = random.Random(1)
    free = [0.0] * workers
    late = 0
    for now in poisson(rate_per_s, source):
        end = max(now, free[0]) + draw(source)
        heapq.heapreplace(free, end)
        late += end - now > limit_s
    return late / REQUESTS


def test_one_exponential_worker_has_the_textbooks_capacity() -> None:
    # Kleinrock, Queueing Systems, volume 1 (1975), section 3.2: the response times of M/M/1 are exponential.
    for limit_s, share in ((0.05, 0.01), (0.002, 0.5), (0.01, 0.001)):
        exact = 1 / MEAN_S - math.log(1 / share) / limit_s
        assert mmk_capacity(MEAN_S, 1, limit_s, share) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("workers", "limit_s", "share"), [(1, 0.002, 0.05), (2, 0.002, 0.1), (8, 0.007, 0.05), (8, 0.0016, 0.5)]
)
def test_the_capacity_of_exponential_workers_is_that_of_a_simulation(
    workers: int, limit_s: float, share: float
) -> None:
    mean_s = MEAN_S * workers
    capacity = mmk_capacity(mean_s, workers, limit_s, share)
    assert mmk_late_share(capacity, mean_s, workers, limit_s) == pytest.approx(share)
    found = simulated_late_share(capacity, lambda source: source.expovariate(1 / mean_s), workers, limit_s)
    assert found == pytest.approx(share, rel=0.1)


def test_a_saturated_server_is_late_for_all() -> None:
    assert mmk_late_share(5_000, MEAN_S, 1, 1.0) == 1
    assert md1_late_share(5_000, MEAN_S, 1.0) == 1
    assert md1_late_share(1_000, MEAN_S, MEAN_S / 2) == 1


def test_two_equal_exponents_are_the_limit_of_unequal_ones() -> None:
    # Two workers at half of their rate: the queue is drained as fast as a request is served.
    near = mmk_late_share(5_000 * (1 + 1e-6), MEAN_S, 2, 0.001)
    assert mmk_late_share(5_000, MEAN_S, 2, 0.001) == pytest.approx(near, rel=1e-5)


@pytest.mark.parametrize(("limit_s", "share"), [(0.001, 0.05), (0.00145, 0.05), (0.0005, 0.3)])
def test_the_capacity_of_a_constant_time_is_that_of_a_simulation(limit_s: float, share: float) -> None:
    capacity = md1_capacity(MEAN_S, limit_s, share)
    found = simulated_late_share(capacity, lambda _: MEAN_S, 1, limit_s)
    assert found == pytest.approx(share, rel=0.1)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("services", [0.0, 0.4, 1.0, 3.7, 6.0])
def test_waits_for_a_constant_time_have_erlangs_distribution(load: float, services: float) -> None:
    # Erlang (1909); its alternating terms cancel each other, so that it serves for short waits only.
    terms = (
        (-load * (services - number)) ** number / math.factorial(number) * math.exp(load * (services - number))
        for number in range(math.floor(services) + 1)
    )
    late = 1 - (1 - load) * math.fsum(terms)
    # Slightly longer: the wait of exactly so many services is a step for none.
    assert md1_late_share(load / MEAN_S, MEAN_S, MEAN_S * (1 + services) + 1e-15) == pytest.approx(late, abs=1e-9)


@pytest.mark.parametrize(("burst", "share"), [(1, 0.5), (5, 0.05), (50, 0.01)])
def test_the_capacity_of_a_token_bucket_is_that_of_a_simulation(burst: int, share: float) -> None:
    per_s = 5_000.0
    capacity = limiter_capacity(per_s, burst, share)
    assert limiter_refused_share(capacity, per_s, burst) == pytest.approx(share)
    tokens, before, refused = float(burst), 0.0, 0
    for now in poisson(capacity, random.Random(2)):
        tokens, before = min(burst, tokens + (now - before) * per_s), now
        refused += tokens < 1
        tokens -= tokens >= 1
    assert refused / REQUESTS == pytest.approx(share, rel=0.1)


def test_a_bucket_of_one_token_loses_by_erlangs_formula() -> None:
    # Erlang's formula B for one line, which holds for any service time.
    for load in (0.2, 1.0, 3.0):
        assert limiter_refused_share(load * 10, 10, 1) == pytest.approx(load / (1 + load))


def test_a_degrading_server_is_late_as_in_a_simulation_by_events() -> None:
    above, factor, limit_s, rate_per_s = 3, 1.3, 0.0015, 3_000.0
    source = random.Random(3)
    waiting: deque[tuple[float, float]] = deque()
    arrivals, slow, serving, serving_end, late = poisson(rate_per_s, source), False, 0.0, math.inf, 0
    arrival = next(arrivals)
    while arrival < math.inf or serving_end < math.inf:
        if serving_end <= arrival:
            late += serving_end - serving > limit_s
            serving, needed = waiting.popleft() if waiting else (0.0, math.inf)
            serving_end += needed
            continue
        present = len(waiting) + (serving_end < math.inf)
        slow = present > 0 and (slow or present > above)
        needed = source.expovariate(1 / MEAN_S) * (factor if slow else 1)
        if present:
            waiting.append((arrival, needed))
        else:
            serving, serving_end = arrival, arrival + needed
        arrival = next(arrivals, math.inf)
    found = degrading_late_share(rate_per_s, MEAN_S, above, factor, limit_s)
    assert found == pytest.approx(late / REQUESTS, rel=0.05)


def test_a_server_that_never_degrades_has_the_capacity_of_one_worker() -> None:
    found = degrading_capacity(MEAN_S, 5, 1.0, 0.001, 0.05)
    assert found == pytest.approx(mmk_capacity(MEAN_S, 1, 0.001, 0.05), rel=1e-6)
