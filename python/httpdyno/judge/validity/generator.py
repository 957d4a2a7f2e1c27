"""Readings of the load generator: whether it kept up, so that the server set the pace."""

from typing import Final

from httpdyno.judge.validity.rule import Reading
from httpdyno.judge.validity.stretch import SHORTEST_NS, TOO_SHORT
from httpdyno.model import Trial, format_time

__all__ = ["busy_in_turns", "busy_on_schedule", "cpu_against_server", "lag", "late_to_server"]

_ALLOWED_LAG_NS: Final = 100_000
"""A timer of the kernel and a wake-up take some tens of microseconds."""
_NOT_COUNTED: Final = "the generator did not count how busy it was"


def lag(trial: Trial) -> Reading:
    """Return how late the generator sent what it could have sent, as a share of the median response time."""
    load = trial.load
    if load is None or not load.open_loop:
        return Reading(None, "a closed loop has no schedule to be late for")
    if load.send_lag is None or load.response is None or not load.response.p50_ns:
        return Reading(None, "nothing was sent on schedule")
    late_ns, median_ns = load.send_lag.p99_ns, load.response.p50_ns
    detail = f"{format_time(late_ns)} in {format_time(median_ns)}"
    return Reading(100 * max(late_ns - _ALLOWED_LAG_NS, 0) / median_ns, detail)


def late_to_server(trial: Trial) -> Reading:
    """Return how late the generator sent to a server, as a share of the overhead that is measured there."""
    service = trial.service
    if service is None or service.send_lag_p99_ns is None:
        return Reading(None, "a closed loop has no schedule to be late for")
    if not service.overhead_p99_ns or service.overhead_p99_ns <= 0:
        return Reading(None, "there is no overhead that it could be a share of")
    late_ns = max(service.send_lag_p99_ns - _ALLOWED_LAG_NS, 0)
    detail = f"{format_time(service.send_lag_p99_ns)} in {format_time(service.overhead_p99_ns)}"
    return Reading(100 * late_ns / service.overhead_p99_ns, detail)


def cpu_against_server(trial: Trial) -> Reading:
    """Return how busy the generator was that was sent against a server.

    In an open loop ours says itself how much of its time it was at work: while it waits for the moment of a request, it
    spins. Else it is its processor time, as a share of its CPUs.
    """
    service = trial.service
    if service is not None and service.generator_busy_share is not None:
        return Reading(100 * service.generator_busy_share)
    cpus = [cpu for cpu in trial.counters.cpus or () if cpu.role != "subject"]
    if service is None or service.generator_cpu_ns is None or not service.generator_wall_ns or not cpus:
        return Reading(None, _NOT_COUNTED)
    if service.generator_wall_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(100 * service.generator_cpu_ns / (service.generator_wall_ns * len(cpus)))


def busy_on_schedule(trial: Trial) -> Reading:
    """Return how busy the busiest thread of the generator was in an open loop."""
    if trial.load is not None and not trial.load.open_loop:
        return Reading(None, "a closed loop sends when an answer came, and is late for nothing")
    return _busy(trial)


def busy_in_turns(trial: Trial) -> Reading:
    """Return how busy the busiest thread of the generator was in a closed loop."""
    if trial.load is not None and trial.load.open_loop:
        return Reading(None, "in an open loop the schedule sets the throughput")
    return _busy(trial)


def _busy(trial: Trial) -> Reading:
    load = trial.load
    if load is None or load.busy_share is None:
        return Reading(None, _NOT_COUNTED)
    if load.elapsed_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(100 * load.busy_share)
