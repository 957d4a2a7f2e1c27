"""The rules of validity: what a trial must meet for its figures to say something about its subject."""

from collections.abc import Sequence
from typing import Final

from httpdyno.judge.validity import readings
from httpdyno.judge.validity.rule import Evidence, Rule
from httpdyno.model import Aspect, Validity

_PACE: Final = frozenset({Aspect.PACE})
"""A client that waits longer for its answers spends no more CPU time on them."""
_PACE_AND_CPU: Final = frozenset({Aspect.PACE, Aspect.CPU})

RULES: Final = (
    Rule(
        "unverified",
        Validity.UNVERIFIED,
        0,
        "% of the answers",
        "answers that cannot be checked",
        "no truth is known for the real internet, so no answer was checked",
        readings.unverified_answers,
        Evidence.ANSWERS,
    ),
    Rule(
        "origin_cpu",
        Validity.ORIGIN_LIMITED,
        85,
        "% of its CPUs",
        "CPU time of the origin's process while the list lasted",
        "the origin used {number} of its CPU time while the list lasted; from {threshold} on it sets the pace",
        readings.origin_cpu_used,
        Evidence.ORIGIN,
        _PACE,
    ),
    Rule(
        "origin_waiting",
        Validity.DISTURBED,
        10,
        "% of the list's time",
        "time in which the origin had work, but another program had its CPU",
        "for {number} of the time the origin had work, but {detail} had its CPU (at most {threshold})",
        readings.origin_waiting,
        Evidence.ORIGIN,
        _PACE,
    ),
    Rule(
        "origin_cpu_busy",
        Validity.DISTURBED,
        95,
        "% of the trial",
        "use of the engine's busiest CPU, by any program",
        "a CPU of the origin was in use for {number} of the trial; beyond {threshold} it has no headroom",
        readings.engine_cpu_busy,
        Evidence.ORIGIN,
        _PACE,
    ),
    Rule(
        "web_ceiling",
        Validity.ORIGIN_LIMITED,
        90,
        "% of the web's ceiling",
        "right answers a second, relative to the fetcher `native` where the instrument was its limit",
        "the subject reached {number} of the web's ceiling ({detail}); beyond {threshold} the instrument may be the "
        "limit",
        readings.ceiling_reached,
        Evidence.CEILING,
        _PACE,
    ),
    Rule(
        "link_rate",
        Validity.LINK_LIMITED,
        90,
        "% of the link's rate",
        "bytes in the fuller direction of a link whose rate is limited",
        "the link carried {number} of what it can ({detail}); beyond {threshold} it sets the pace",
        readings.link_rate_used,
        Evidence.FREE_LINK,
        _PACE,
    ),
    Rule(
        "link_lateness",
        Validity.LINK_LIMITED,
        readings.LATE_AT_MOST,
        "% of the round trip, or of 10 ms",
        "99th percentile of how late the link's emulator let packets go, both ways together",
        "the emulator of the link was itself late, {detail}: give it a CPU of its own (--cpus), or end what else runs",
        readings.link_lateness,
        Evidence.LINK,
        _PACE,
    ),
    Rule(
        "link_unread",
        Validity.LINK_LIMITED,
        0.1,
        "% of the packets",
        "packets that the kernel dropped because the link's emulator did not read them in time",
        "the emulator of the link could not keep up: {number} of the packets were dropped before it read them "
        "({detail}; at most {threshold}): give it a CPU of its own (--cpus), or end what else runs",
        readings.unread_packets,
        Evidence.LINK,
        _PACE_AND_CPU,
    ),
    Rule(
        "throttling",
        Validity.DISTURBED,
        1,
        "% of the trial",
        "time in which a CPU quota (a container's, a service's) stopped the trial's programs",
        "a CPU quota stopped the trial's programs for {number} of the trial (at most {threshold})",
        readings.throttling,
        Evidence.MACHINE,
        _PACE,
    ),
    Rule(
        "steal",
        Validity.DISTURBED,
        5,
        "% of the trial",
        "time that the hypervisor took from a pinned CPU",
        "the hypervisor took {number} of a CPU's time (at most {threshold})",
        readings.steal,
        Evidence.MACHINE,
        _PACE_AND_CPU,
    ),
    Rule(
        "foreign_cpu",
        Validity.DISTURBED,
        10,
        "% of the trial",
        "use of the subject's CPUs by others than the subject, without interrupts",
        "{detail} used {number} of the subject's CPU time (at most {threshold})",
        readings.foreign_cpu,
        Evidence.MACHINE,
        _PACE_AND_CPU,
    ),
    Rule(
        "memory_pressure",
        Validity.DISTURBED,
        10,
        "% of the trial",
        "time in which something on the machine waited for memory (PSI)",
        "something waited for memory for {number} of the trial (at most {threshold})",
        readings.memory_pressure,
        Evidence.MACHINE,
    ),
    Rule(
        "io_pressure",
        Validity.DISTURBED,
        10,
        "% of the trial",
        "time in which something on the machine waited for a disk (PSI)",
        "something waited for a disk for {number} of the trial (at most {threshold})",
        readings.io_pressure,
        Evidence.MACHINE,
        _PACE,
    ),
    Rule(
        "origin_lateness",
        Validity.ORIGIN_LIMITED,
        1,
        "% of the median duration",
        "mean lateness of the origin's answers, beyond the 0.1 ms that it may take to write one",
        "the origin's answers began late by {number} of the subject's median duration ({detail}; at most {threshold})",
        readings.origin_lateness,
        Evidence.ORIGIN,
        _PACE,
    ),
    Rule(
        "wrong_answers",
        Validity.INCORRECT,
        0.5,
        "% of the answers",
        "wrong answers that no known failure explains",
        "{number} of the answers are wrong ({detail}; at most {threshold})",
        readings.wrong_answers,
        Evidence.ANSWERS,
    ),
    Rule(
        "drift",
        Validity.UNSTEADY,
        10,
        "% of the mean throughput",
        "difference of throughput between the first and the last third of the steady state, where it is no chance",
        "the throughput of the last third of the steady state is another than that of the first ({detail}; at most "
        "{threshold})",
        readings.drift,
        Evidence.PACE,
        _PACE,
    ),
)
"""In the order of their weight: a trial is what the first that it does not meet makes of it.

Where nothing can be verified, nothing else is worth saying. What spoils an instrument comes before what it then shows:
a starved origin makes a correct client time out; but wrong answers that it cannot make come first (``Finding.sure``).
The machine comes before a late origin and before a drift, since it may be the cause of both.
"""


def rules_for(*evidence: Evidence, own: Sequence[Rule] = ()) -> tuple[Rule, ...]:
    """Return the rules for trials that have some evidence, in the order of their weight.

    A rule of ``own``, the experiment's, takes the place of the one that has its name; the others come before all that
    the instrument is held against.
    """
    named = {rule.name: rule for rule in own}
    first, *others = [named.pop(rule.name, rule) for rule in RULES if rule.needs in evidence]
    return (first, *(rule for rule in own if rule.name in named), *others)
