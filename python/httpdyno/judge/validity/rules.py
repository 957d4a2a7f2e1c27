"""The rules of validity: what a trial must meet for its figures to say something about its subject."""

from typing import Final

from httpdyno.judge.validity import answers, link, machine, origin, pace
from httpdyno.judge.validity.rule import Rule
from httpdyno.model import Validity

__all__ = ["RULES"]

_WITH_AN_ORIGIN: Final = frozenset({"bench", "tune", "capacity", "latency", "cost", "conformance"})
"""Experiments in which the engine plays the web: a saturated subject is a result, a saturated engine is none."""
_WITH_A_GENERATOR: Final = frozenset({"service"})
"""Experiments in which the engine makes the load, and the subject serves."""
_WITH_A_PACE: Final = frozenset({"bench", "tune", "capacity", "cost", "service"})
"""Experiments whose answers come as fast as the subject can, for as long as the trial lasts."""
_WITH_A_FREE_LINK: Final = frozenset({"bench", "tune", "latency", "cost", "service"})
"""Experiments that do not ask which bandwidth is enough: where they do, a full link is the answer."""

RULES: Final = (
    Rule(
        "unverified",
        Validity.UNVERIFIED,
        0,
        "% of the answers",
        "answers that nobody can verify",
        "nobody knows what the real internet serves: no answer was verified",
        answers.unverified,
    ),
    Rule(
        "generator_cpu",
        Validity.GENERATOR_LIMITED,
        85,
        "% of its CPUs",
        "CPU time of the load generator while the load lasted",
        "the load generator used {number} of its CPU time; from {threshold} on it sets the pace",
        origin.cpu_used,
        _WITH_A_GENERATOR,
    ),
    Rule(
        "origin_cpu",
        Validity.ORIGIN_LIMITED,
        85,
        "% of its CPUs",
        "CPU time of the origin's process while the list lasted",
        "the origin used {number} of its CPU time while the list lasted; from {threshold} on it sets the pace",
        origin.cpu_used,
        _WITH_AN_ORIGIN,
    ),
    Rule(
        "origin_waiting",
        Validity.ORIGIN_LIMITED,
        10,
        "% of the list's time",
        "time in which the origin had work, but something else had its CPU",
        "for {number} of the time the origin had work, but something else had its CPU (at most {threshold})",
        origin.waiting,
        _WITH_AN_ORIGIN,
    ),
    Rule(
        "origin_cpu_busy",
        Validity.ORIGIN_LIMITED,
        95,
        "% of the trial",
        "use of the engine's busiest CPU, whoever used it",
        "a CPU of the origin was in use for {number} of the trial; beyond {threshold} it has no headroom",
        origin.cpu_busy,
        _WITH_AN_ORIGIN,
    ),
    Rule(
        "origin_lateness",
        Validity.ORIGIN_LIMITED,
        1,
        "% of the median duration",
        "mean lateness of the origin's answers, beyond the 0.1 ms that it may take to write one",
        "the origin's answers began late by {number} of the subject's median duration ({detail}; at most {threshold})",
        origin.lateness,
        _WITH_AN_ORIGIN,
    ),
    Rule(
        "link_rate",
        Validity.LINK_LIMITED,
        90,
        "% of the link's rate",
        "bytes in the busier direction of a link whose rate is limited",
        "the link carried {number} of what it can; beyond {threshold} it sets the pace",
        link.rate_used,
        _WITH_A_FREE_LINK,
    ),
    Rule(
        "throttling",
        Validity.UNSTEADY,
        1,
        "% of the trial",
        "time in which a CPU quota (a container's, a service's) stopped the trial's programs",
        "a CPU quota stopped the trial's programs for {number} of the trial (at most {threshold})",
        machine.throttling,
    ),
    Rule(
        "steal",
        Validity.UNSTEADY,
        5,
        "% of the trial",
        "time that the hypervisor took from a pinned CPU",
        "the hypervisor took {number} of a CPU's time (at most {threshold})",
        machine.steal,
    ),
    Rule(
        "foreign_cpu",
        Validity.UNSTEADY,
        10,
        "% of the trial",
        "use of the subject's CPUs by others than the subject, without interrupts",
        "other programs used {number} of the subject's CPU time (at most {threshold})",
        machine.foreign_cpu,
    ),
    Rule(
        "memory_pressure",
        Validity.UNSTEADY,
        10,
        "% of the trial",
        "time in which something on the machine waited for memory (PSI)",
        "something waited for memory for {number} of the trial (at most {threshold})",
        machine.memory_pressure,
    ),
    Rule(
        "io_pressure",
        Validity.UNSTEADY,
        10,
        "% of the trial",
        "time in which something on the machine waited for a disk (PSI)",
        "something waited for a disk for {number} of the trial (at most {threshold})",
        machine.io_pressure,
    ),
    Rule(
        "wrong_answers",
        Validity.INCORRECT,
        0.5,
        "% of the answers",
        "wrong answers that no known failure explains",
        "{number} of the answers are wrong ({detail}; at most {threshold})",
        answers.wrong,
    ),
    Rule(
        "drift",
        Validity.UNSTEADY,
        10,
        "% of the mean throughput",
        "difference of throughput between the first and the last third of the steady state, where it is no chance",
        "the throughput of the last third of the steady state is another than that of the first ({detail}; at most "
        "{threshold})",
        pace.drift,
        _WITH_A_PACE,
    ),
)
"""In the order of their weight: a trial is what the first that it does not meet makes of it.

Where nothing can be verified, nothing else is worth saying. What spoils an instrument comes before what it then shows:
a starved origin makes a correct client time out. What the machine does comes before a drift, which it may be the cause
of.
"""
