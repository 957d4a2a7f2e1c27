"""The rules of validity of a server's trial: how the generator fared that was sent against it."""

from typing import Final

from httpdyno.experiments.service.figures import ServiceSummary
from httpdyno.judge.validity import Evidence, Reading, Rule, rules_for
from httpdyno.judge.validity.stretch import SHORTEST_NS, TOO_SHORT
from httpdyno.model import Trial, Validity, format_time

__all__ = ["SERVICE_RULES"]

_ALLOWED_LAG_NS: Final = 100_000
_NOT_COUNTED: Final = "the generator did not count how busy it was"


def _late(trial: Trial) -> Reading:
    """Return how late the generator sent to a server, as a share of the overhead that is measured there."""
    service = trial.get(ServiceSummary)
    if service is None or service.send_lag_p99_ns is None:
        return Reading(None, "a closed loop has no schedule to be late for")
    if not service.overhead_p99_ns or service.overhead_p99_ns <= 0:
        return Reading(None, "there is no overhead that it could be a share of")
    late_ns = max(service.send_lag_p99_ns - _ALLOWED_LAG_NS, 0)
    detail = f"{format_time(service.send_lag_p99_ns)} in {format_time(service.overhead_p99_ns)}"
    return Reading(100 * late_ns / service.overhead_p99_ns, detail)


def _cpu(trial: Trial) -> Reading:
    """Return how busy the generator was that was sent against a server.

    In an open loop ours says itself how much of its time it was at work: while it waits for the moment of a request, it
    spins. Else it is its CPU time, as a share of its CPUs.
    """
    service = trial.get(ServiceSummary)
    if service is not None and service.generator_busy_share is not None:
        return Reading(100 * service.generator_busy_share)
    cpus = trial.counters.engine_cpus
    if service is None or service.generator_cpu_ns is None or not service.generator_wall_ns or not cpus:
        return Reading(None, _NOT_COUNTED)
    if service.generator_wall_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(100 * service.generator_cpu_ns / (service.generator_wall_ns * len(cpus)))


SERVICE_RULES: Final = rules_for(
    *(Evidence.ANSWERS, Evidence.LINK, Evidence.FREE_LINK, Evidence.MACHINE, Evidence.PACE),
    own=(
        Rule(
            "generator_cpu",
            Validity.GENERATOR_LIMITED,
            85,
            "% of its CPUs",
            "use of the load generator's busiest thread, or its CPU time, while the load lasted",
            "the load generator used {number} of its CPU time; from {threshold} on it sets the pace",
            _cpu,
            Evidence.GENERATOR,
        ),
        Rule(
            "generator_late",
            Validity.GENERATOR_LIMITED,
            10,
            "% of the overhead",
            "open loop: 99th percentile of the generator's own lag, beyond the 0.1 ms that it may have",
            "the generator sent late by {number} of the overhead that it measured ({detail}; at most {threshold})",
            _late,
            Evidence.GENERATOR,
        ),
    ),
)
