"""The rules of validity: what a trial must meet for its figures to say something about its subject."""

from typing import Final

from httpdyno.judge.validity import answers, generator, link, machine, origin, pace
from httpdyno.judge.validity.rule import Rule
from httpdyno.model import Validity

__all__ = ["RULES"]

_WITH_AN_ORIGIN: Final = frozenset({"bench", "tune", "capacity", "latency", "cost"})
"""Experiments in which the engine plays the web: a saturated subject is a result, a saturated engine is none."""
_WITH_A_CEILING: Final = frozenset({"bench", "tune"})
"""Experiments in which the fetcher gets the same URLs as the subjects."""
_WITH_A_GENERATOR: Final = frozenset({"service"})
"""Experiments in which the engine makes the load, and the subject serves."""
_WITH_A_REPORT: Final = frozenset({"load"})
"""Experiments whose trials are those of the load generator alone, which tells how it fared itself."""
_WITH_A_PACE: Final = frozenset({"bench", "tune", "capacity", "load", "service"})
"""Experiments whose answers come as fast as the subject can, for as long as the trial lasts.

What documents cost is none: a number of them is asked for, and how their cost falls while a program warms up is told.
"""
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
        "use of the load generator's busiest thread, or its CPU time, while the load lasted",
        "the load generator used {number} of its CPU time; from {threshold} on it sets the pace",
        generator.cpu_against_server,
        _WITH_A_GENERATOR,
    ),
    Rule(
        "generator_late",
        Validity.GENERATOR_LIMITED,
        10,
        "% of the overhead",
        "open loop: 99th percentile of the generator's own lag, beyond the 0.1 ms that it may have",
        "the generator sent late by {number} of the overhead that it measured ({detail}; at most {threshold})",
        generator.late_to_server,
        _WITH_A_GENERATOR,
    ),
    Rule(
        "generator_lag",
        Validity.GENERATOR_LIMITED,
        10,
        "% of the median response time",
        "open loop: 99th percentile of the generator's own lag, beyond the 0.1 ms that it may have",
        "the generator itself sent late, by {number} of the median response time ({detail}; at most {threshold}): "
        "give it more CPUs (--cpus), or a lower rate",
        generator.lag,
        _WITH_A_REPORT,
    ),
    Rule(
        "generator_busy",
        Validity.GENERATOR_LIMITED,
        85,
        "% of the load",
        "open loop: use of the generator's busiest thread",
        "a thread of the generator was busy for {number} of the load; from {threshold} on requests wait for it: "
        "give it more CPUs (--cpus), or a lower rate",
        generator.busy_on_schedule,
        _WITH_A_REPORT,
    ),
    Rule(
        "generator_saturated",
        Validity.GENERATOR_LIMITED,
        95,
        "% of the load",
        "closed loop: use of the generator's busiest thread",
        "a thread of the generator was busy for {number} of the load, so that the throughput is the generator's limit "
        "and not the server's; give it more CPUs (--cpus), or send at a --rate",
        generator.busy_in_turns,
        _WITH_A_REPORT,
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
        "web_ceiling",
        Validity.ORIGIN_LIMITED,
        90,
        "% of the web's ceiling",
        "right answers a second, beside those of the fetcher `native` where the instrument held that up",
        "the subject reached {number} of what this web can give at all ({detail}); beyond {threshold} it cannot be "
        "told from the instrument",
        origin.ceiling_reached,
        _WITH_A_CEILING,
    ),
    Rule(
        "link_rate",
        Validity.LINK_LIMITED,
        90,
        "% of the link's rate",
        "bytes in the fuller direction of a link whose rate is limited",
        "the link carried {number} of what it can ({detail}); beyond {threshold} it sets the pace",
        link.rate_used,
        _WITH_A_FREE_LINK,
    ),
    Rule(
        "link_lateness",
        Validity.LINK_LIMITED,
        link.LATE_AT_MOST,
        "% of the round trip, or of 10 ms",
        "99th percentile of how late the link's emulator let packets go, both ways together",
        "the emulator of the link was itself late, {detail}: give it a CPU of its own (--cpus), or end what else runs",
        link.late,
    ),
    Rule(
        "link_unread",
        Validity.LINK_LIMITED,
        0.1,
        "% of the packets",
        "packets that the kernel dropped because the link's emulator did not read them in time",
        "the emulator of the link could not keep up: {number} of the packets were dropped before it read them "
        "({detail}; at most {threshold}): give it a CPU of its own (--cpus), or end what else runs",
        link.unread,
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
