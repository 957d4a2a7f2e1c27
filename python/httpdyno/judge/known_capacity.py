"""Capacity of servers with known behaviour: the highest Poisson rate at which an objective holds in the steady state.

The servers are those of the engine's ``calibrator``. Rates are per second, times in seconds; a share is a fraction,
such as 0.01 for the objective ``p99 < 50ms``.
"""

import math
from collections.abc import Callable
from itertools import accumulate
from typing import Final

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve
from scipy.special import gammainc, gammaln, xlogy

from httpdyno.stats import FloatArray

_HALVINGS: Final = 60


def mmk_capacity(mean_s: float, workers: int, limit_s: float, share: float) -> float:
    """Return the rate at which this share of the response times of M/M/k exceeds a limit.

    Parameters
    ----------
    mean_s
        Mean of the exponential service times.
    workers
        k: requests served at a time. For k = 1 the capacity is 1 / mean_s - ln(1 / share) / limit_s.
    """
    return _highest_rate(lambda rate: mmk_late_share(rate, mean_s, workers, limit_s), workers / mean_s, share)


def mmk_late_share(rate_per_s: float, mean_s: float, workers: int, limit_s: float) -> float:
    """Return the share of the response times of M/M/k that exceed a limit.

    A request waits with the probability of Erlang's formula C, for an exponential time; its service is exponential.

    References
    ----------
    Harchol-Balter, Performance Modeling and Design of Computer Systems (2013), chapter 14.
    Kleinrock, Queueing Systems, volume 1 (1975), section 3.5.
    """
    offered, served_per_s = rate_per_s * mean_s, 1 / mean_s
    drained_per_s = workers * served_per_s - rate_per_s
    if drained_per_s <= 0:
        return 1.0
    terms = list(accumulate(range(1, workers + 1), lambda term, busy: term * offered / busy, initial=1.0))
    all_busy = terms[-1] * workers / (workers - offered)
    waits = all_busy / (math.fsum(terms[:-1]) + all_busy)
    served_late, drained_late = math.exp(-served_per_s * limit_s), math.exp(-drained_per_s * limit_s)
    apart = drained_per_s - served_per_s
    if abs(apart) < 1e-9 * served_per_s:
        both_late = served_late * (1 + served_per_s * limit_s)
    else:
        both_late = (drained_per_s * served_late - served_per_s * drained_late) / apart
    return (1 - waits) * served_late + waits * both_late


def md1_capacity(service_s: float, limit_s: float, share: float) -> float:
    """Return the rate at which this share of the response times of M/D/1 exceeds a limit; service_s is constant."""
    return _highest_rate(lambda rate: md1_late_share(rate, service_s, limit_s), 1 / service_s, share)


def md1_late_share(rate_per_s: float, service_s: float, limit_s: float) -> float:
    """Return the share of the response times of M/D/1 that exceed a limit.

    A request waits at most w, with (k - 1) services <= w < k services, if at the latest k - 1 requests wait k services
    minus w before it; with the distribution of the number of requests, all terms of that probability are positive.

    References
    ----------
    Crommelin, Delay probability formulae when the holding times are constant (1932).
    Franx, A simple solution for the M/D/c waiting time distribution, Operations Research Letters 29 (2001).
    """
    load = rate_per_s * service_s
    if load >= 1 or limit_s < service_s:
        return 1.0
    waits_s = limit_s - service_s
    services = math.floor(waits_s / service_s) + 1
    present = (1 - load) * _relative_levels(load, services)
    waiting = np.cumsum(present)[1:]
    numbers, expected = np.arange(services), rate_per_s * (services * service_s - waits_s)
    arrivals = np.exp(xlogy(numbers, expected) - expected - gammaln(numbers + 1))
    return max(0.0, 1.0 - float(waiting[::-1] @ arrivals))


def limiter_capacity(per_s: float, burst: int, share: float) -> float:
    """Return the rate at which a token bucket refuses this share of the requests."""
    # With twice the tokens' rate, half of the requests are refused.
    return _highest_rate(lambda rate: limiter_refused_share(rate, per_s, burst), per_s / (1 - share), share)


def limiter_refused_share(rate_per_s: float, per_s: float, burst: int) -> float:
    """Return the share of Poisson arrivals that find a token bucket without a token.

    The missing tokens are the unfinished work of a queue M/D/1 with room for ``burst`` requests, including the served
    one: each request adds a token's work, and is refused if that does not fit. The loss is that of M/D/1/burst.

    References
    ----------
    Gross, Shortle, Thompson and Harris, Fundamentals of Queueing Theory (2008), section 5.1.8: M/G/1/K.
    """
    load = rate_per_s / per_s
    empty = 1 / float(_relative_levels(load, burst - 1).sum())
    return 1 - 1 / (empty + load)


def _relative_levels(load: float, highest: int) -> FloatArray:
    """Return the probabilities of 0 to ``highest`` requests in M/D/1, relative to that of none.

    A departure leaves, and so an arrival finds, these numbers. A queue with limited room has the same ratios, even if
    ``load`` exceeds 1.

    References
    ----------
    Ramaswami, A stable recursion for the steady state vector in Markov chains of M/G/1 type (1988).
    """
    # at_least[n]: probability of n arrivals or more during one service.
    at_least = np.append(1.0, gammainc(np.arange(1, highest + 1), load))
    levels = np.ones(highest + 1)
    for level in range(1, highest + 1):
        upwards = at_least[level] + levels[1:level] @ at_least[level:1:-1]
        levels[level] = upwards * math.exp(load)
    return levels


def degrading_capacity(mean_s: float, above: int, factor: float, limit_s: float, share: float) -> float:
    """Return the rate at which this share of the response times of a degrading server exceeds a limit.

    Rates from 99 % of 1 / (factor * mean_s) on, which it serves while it is slow, are not searched: it recovers too
    rarely for a measurement.
    """
    return _highest_rate(
        lambda rate: degrading_late_share(rate, mean_s, above, factor, limit_s),
        _MOST_SLOW_LOAD / (factor * mean_s),
        share,
        halvings=30,
    )


def degrading_late_share(rate_per_s: float, mean_s: float, above: int, factor: float, limit_s: float) -> float:
    """Return the share of the response times of a degrading server that exceed a limit, below 99 % of its slow rate.

    A request that finds more than ``above`` requests makes the server slow, one that finds none makes it normal again.
    Requests that arrive while it is slow take ``factor`` times their exponential time, with the mean ``mean_s``.

    The steady state of a Markov chain: the server is normal with n requests, or slow with some fast requests, which are
    served first, and m slow ones. An arrival finds these states with their probabilities (Poisson arrivals see time
    averages), and its response time is a sum of exponential times.
    """
    fast_per_s, slow_per_s = 1 / mean_s, 1 / (factor * mean_s)
    most = above + 1
    # More slow requests have a probability below 1e-10.
    slow_most = math.ceil(math.log(1e-10) / math.log(rate_per_s / slow_per_s))
    normal = np.arange(most + 1)
    slow = most + 1 + np.arange((most + 1) * slow_most).reshape(most + 1, slow_most)
    moves = (
        (normal[:-1], normal[1:], rate_per_s),
        (normal[-1:], slow[-1, :1], rate_per_s),
        (normal[1:], normal[:-1], fast_per_s),
        (slow[:, :-1], slow[:, 1:], rate_per_s),
        (slow[1:], slow[:-1], fast_per_s),
        (slow[0, 1:], slow[0, :-1], slow_per_s),
        (slow[0, :1], normal[:1], slow_per_s),
    )
    begins = np.concatenate([begin.ravel() for begin, _, _ in moves])
    ends = np.concatenate([end.ravel() for _, end, _ in moves])
    rates = np.concatenate([np.full(begin.size, per_s) for begin, _, per_s in moves])
    size = most + 1 + slow.size
    left_per_s = np.bincount(begins, rates, size)
    diagonal = np.arange(size)
    balance = coo_array(
        (np.append(rates, -left_per_s), (np.append(ends, diagonal), np.append(begins, diagonal))), shape=(size, size)
    ).tocsc()
    # The state without requests has the probability 1, until the sum of all is known; only the next one is entered
    # from it.
    entered = np.zeros(size - 1)
    entered[0] = rate_per_s
    found = np.append(1.0, spsolve(balance[1:, 1:], -entered))
    late = _late_shares(most, slow_most + 1, fast_per_s, slow_per_s, limit_s)
    late_found = np.concatenate((late[1:, 0], late[-1:, 1], late[:, 2:].ravel()))
    return float(found @ late_found / found.sum())


_MOST_SLOW_LOAD: Final = 0.99


def _late_shares(fast: int, slow: int, fast_per_s: float, slow_per_s: float, limit_s: float) -> FloatArray:
    """Return the probability that so many fast, then so many slow requests take longer than a limit.

    By uniformization: the chain of served requests steps at ``fast_per_s``, the faster rate.

    Returns
    -------
    shape (fast + 1, slow + 1)
    """
    serves, expected = slow_per_s / fast_per_s, fast_per_s * limit_s
    left = np.ones((fast + 1, slow + 1))
    left[0, 0] = 0.0
    late = np.zeros_like(left)
    numbers = np.arange(math.ceil(expected + 10 * math.sqrt(expected) + 30))
    for weight in np.exp(xlogy(numbers, expected) - expected - gammaln(numbers + 1)):
        late += weight * left
        begin = left[0].copy()
        begin[1:] += serves * (left[0, :-1] - left[0, 1:])
        left = np.vstack((begin, left[:-1]))
    return late


def _highest_rate(
    share_at: Callable[[float], float], most_per_s: float, share: float, *, halvings: int = _HALVINGS
) -> float:
    """Return the rate below ``most_per_s`` at which a share that ascends with the rate reaches ``share``."""
    low, high = 0.0, most_per_s
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if share_at(middle) < share else (low, middle)
    return (low + high) / 2
