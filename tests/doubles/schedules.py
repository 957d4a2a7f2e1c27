"""Response times of an open loop in closed form: the reference for simulated schedules."""

from typing import Final

__all__ = ["overload_quantile_ns", "stall_quantile_ns"]

_SECOND_NS: Final = 1_000_000_000


def stall_quantile_ns(share: float, *, service_ns: int, length_ns: int, duration_s: float) -> float:
    """Return a quantile of response times where a server stalls once, and no request waits for a connection.

    A share f = length / duration of all requests comes due in the stall. The first of them waits for all of it, the
    last for nothing: their waits are uniform. So the quantile is the service time up to 1 - f, and rises in a straight
    line to service time + length from there.

    Parameters
    ----------
    share : float
        From 0 to 1.
    service_ns, length_ns : int
        Of the server.
    duration_s : float
        Of the schedule, at whatever rate.
    """
    stalled = length_ns / (duration_s * _SECOND_NS)
    return service_ns + max(0.0, share - (1 - stalled)) / stalled * length_ns


def overload_quantile_ns(share: float, *, service_ns: int, rate_per_s: float, duration_s: float) -> float:
    """Return a quantile of response times of an overloaded D/D/1 queue.

    Request n is intended at n / rate and answered at (n + 1) * service: it waits longer than the one before by the
    difference of the two gaps. Of those that are answered before the end, duration / service, the times are uniform.

    Parameters
    ----------
    share : float
        From 0 to 1.
    service_ns : int
        Of the server, which serves one request after the other.
    rate_per_s, duration_s : float
        The schedule.

    References
    ----------
    Kleinrock, Queueing Systems, volume 2 (1976), chapter 2: the fluid approximation of an overloaded queue.
    """
    gap_ns = _SECOND_NS / rate_per_s
    answered = duration_s * _SECOND_NS / service_ns
    return service_ns + share * answered * max(0.0, service_ns - gap_ns)
