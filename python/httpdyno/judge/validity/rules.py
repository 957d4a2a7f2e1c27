"""The rules of validity, which a trial must meet so that its figures describe its subject."""

from collections.abc import Sequence
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.judge.validity.readings import NO_ANSWERS, drift, names_of_others
from httpdyno.judge.validity.rule import Evidence, Reading, Rule, rule
from httpdyno.judge.validity.stretch import SHORTEST_NS, TOO_SHORT, Stretch
from httpdyno.model import Aspect, CeilingLimit, CpuTime, Link, Trial, Validity

_PACE: Final = frozenset({Aspect.PACE})
"""Aspects of pace: a client that waits longer for its answers uses no more CPU time for them."""
_PACE_AND_CPU: Final = frozenset({Aspect.PACE, Aspect.CPU})
_NO_CPUS: Final = "the engine did not count how busy the CPUs were"
_NO_LINK: Final = "the link is direct: nothing is emulated"
_FEWEST_ANSWERS: Final = 100
_OWN_WORK_NS: Final = 100_000
"""Fewest answers for a mean lateness: writing an answer takes some ten microseconds, which count as lateness."""
_NO_CEILING: Final = {
    None: "the web's ceiling was not measured",
    CeilingLimit.WEB: "the fetcher was limited by the web's delays: the ceiling is higher",
    CeilingLimit.FETCHER: "the fetcher was limited by its own CPU: the ceiling is higher",
    CeilingLimit.LINK: "the link set the ceiling; each trial has its own reading of the link",
    CeilingLimit.MACHINE: "other programs disturbed the fetcher: the ceiling is higher",
}
"""Reasons why a ceiling cannot be used to judge a trial, by the ceiling's limit."""
_LATE_AT_MOST: Final = 5
"""In per cent of the round trip; the check of a link before the trial has the same limit."""
_SHORTEST_ROUND_TRIP_NS: Final = 10_000_000
"""Shorter round trips may deviate by 0.5 ms, as before the trial."""
_WRONG: Final = ("wrong_status", "wrong_length", "late", "false_error", "missed_error", "wrong_time")


@rule(
    Validity.UNVERIFIED,
    0,
    "% of the answers",
    "answers that cannot be checked",
    "the right answers of the internet are unknown: none was checked",
    Evidence.ANSWERS,
)
def _unverified(trial: Trial) -> Reading:
    tally = trial.tally
    answers = tally.right + tally.wrong_in_all + tally.unverified if tally else 0
    return Reading(100 * tally.unverified / answers) if tally and answers else Reading(None, NO_ANSWERS)


@rule(
    Validity.ORIGIN_LIMITED,
    85,
    "% of its CPUs",
    "CPU time of the origin's process while the list lasted",
    "the origin used {number} of its CPU time while the list lasted; from {threshold} on it limits the rate",
    Evidence.ORIGIN,
    _PACE,
)
def _origin_cpu(trial: Trial) -> Reading:
    return _while_list_lasted(trial, trial.counters.engine_cpu_ns, "the engine did not count its CPU time")


@rule(
    Validity.DISTURBED,
    10,
    "% of the list's time",
    "time in which the origin had work, but another program had its CPU",
    "for {number} of the time the origin had work, but {detail} had its CPU (at most {threshold})",
    Evidence.ORIGIN,
    _PACE,
)
def origin_waiting(trial: Trial) -> Reading:
    """Return the time in which the origin had work but no CPU, as a share of the time that the list lasted."""
    shared = any(cpu.role == "both" for cpu in trial.counters.cpus or ())
    return _while_list_lasted(
        trial,
        trial.counters.origin_waiting_ns,
        "the origin's wait for its CPU was not counted: this kernel cannot, or the engine is old",
        "the client" if shared else names_of_others(trial) or "another program",
    )


def _while_list_lasted(trial: Trial, spent_ns: int | None, why_none: str, detail: str = "") -> Reading:
    """Return a share of the engine's CPUs; a time for the whole trial is divided evenly by the answers."""
    stretch, cpus = Stretch.of(trial), len(trial.counters.engine_cpus)
    if stretch is None or spent_ns is None or not cpus:
        return Reading(None, why_none)
    if stretch.length_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(100 * spent_ns * stretch.work / (stretch.length_ns * cpus), detail)


@rule(
    Validity.DISTURBED,
    95,
    "% of the trial",
    "use of the engine's busiest CPU, by any program",
    "a CPU of the origin was in use for {number} of the trial; beyond {threshold} it has no headroom",
    Evidence.ORIGIN,
    _PACE,
)
def _origin_cpu_busy(trial: Trial) -> Reading:
    cpus = trial.counters.engine_cpus
    return _of_windows(cpus, [cpu.busy_ns for cpu in cpus], "the engine did not count how busy its CPUs were")


def _of_windows(cpus: Sequence[CpuTime], spent_ns: Sequence[int], why_none: str) -> Reading:
    """Return the largest share of the observed time of a CPU."""
    if not cpus:
        return Reading(None, why_none)
    if min(cpu.window_ns for cpu in cpus) < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(max(100 * spent / cpu.window_ns for cpu, spent in zip(cpus, spent_ns, strict=True)))


@rule(
    Validity.ORIGIN_LIMITED,
    90,
    "% of the web's ceiling",
    "right answers a second, relative to the fetcher `native` if the instrument limited it",
    "the subject reached {number} of the web's ceiling ({detail}); beyond {threshold} the instrument may be the limit",
    Evidence.CEILING,
    _PACE,
)
def _web_ceiling(trial: Trial) -> Reading:
    """Read nothing if the origin's CPU limited the ceiling and the trial counted its use: its URLs may cost less."""
    ceiling, rate = trial.ceiling_per_s, trial.summary.right_per_s if trial.summary else None
    limit = trial.ceiling_limit if ceiling else None
    if limit in _NO_CEILING:
        return Reading(None, _NO_CEILING[limit])
    if limit is CeilingLimit.ORIGIN and _origin_cpu.read(trial).number is not None:
        return Reading(None, "the origin's CPU time set the ceiling, and the trial counted how much it used")
    if ceiling is None or rate is None:
        return Reading(None, "there are no right answers")
    return Reading(100 * rate / ceiling, f"{rate:,.0f} of {ceiling:,.0f} right answers a second")


@rule(
    Validity.LINK_LIMITED,
    90,
    "% of the link's rate",
    "bytes in the fuller direction of a link whose rate is limited",
    "the link carried {number} of its rate ({detail}); beyond {threshold} it limits the rate of answers",
    Evidence.FREE_LINK,
    _PACE,
)
def _link_rate(trial: Trial) -> Reading:
    """Read the bytes that the link counted; without them, those of the subject."""
    link, stretch, counters = _link(trial), Stretch.of(trial), trial.counters
    if link is None or (link.up.rate_bits_per_s is None and link.down.rate_bits_per_s is None):
        return Reading(None, "the link has no limit of its rate")
    sent, received = counters.sent_bytes, counters.received_bytes
    if counters.link:
        sent, received = counters.link.up.bytes, counters.link.down.bytes
    if sent is None or received is None or stretch is None:
        return Reading(None, "the bytes on the link were not counted")
    if stretch.length_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    ways = ((link.up, sent, "from the subject"), (link.down, received, "to the subject"))
    share, way = max(
        (100 * 8 * (size_bytes * stretch.work) * 1e9 / (path.rate_bits_per_s * stretch.length_ns), way)
        if path.rate_bits_per_s
        else (0.0, way)
        for path, size_bytes, way in ways
    )
    return Reading(share, way)


def _link(trial: Trial) -> Link | None:
    """Return the link of a trial; None for a record with another notation of links."""
    try:
        return Link.parse(trial.link)
    except InvalidValue:
        return None


@rule(
    Validity.LINK_LIMITED,
    _LATE_AT_MOST,
    "% of the round trip, or of 10 ms",
    "99th percentile of the lateness of the link's emulator, sum of both directions",
    "the emulator of the link was itself late, {detail}: give it a CPU of its own (--cpus), or stop other programs",
    Evidence.LINK,
    _PACE,
)
def _link_lateness(trial: Trial) -> Reading:
    link, asked = trial.counters.link, _link(trial)
    if link is None:
        return Reading(None, _NO_LINK)
    up_ns, down_ns = link.up.lateness_p99_ns, link.down.lateness_p99_ns
    if asked is None or up_ns is None or down_ns is None:
        return Reading(None, "the emulator did not count how late it was")
    measured_against_ns = max(asked.round_trip_ns, _SHORTEST_ROUND_TRIP_NS)
    allowed_ms = _LATE_AT_MOST * measured_against_ns / 1e8
    detail = f"by {(up_ns + down_ns) / 1e6:.2f} ms where {allowed_ms:g} ms are allowed"
    return Reading(100 * (up_ns + down_ns) / measured_against_ns, detail)


@rule(
    Validity.LINK_LIMITED,
    0.1,
    "% of the packets",
    "packets that the kernel dropped because the link's emulator did not read them in time",
    "the emulator of the link could not keep up: {number} of the packets were dropped before it read them "
    "({detail}; at most {threshold}): give it a CPU of its own (--cpus), or stop other programs",
    Evidence.LINK,
    _PACE_AND_CPU,
)
def _link_unread(trial: Trial) -> Reading:
    link = trial.counters.link
    if link is None:
        return Reading(None, _NO_LINK)
    missed = [path.unread for path in (link.up, link.down) if path.unread is not None]
    read = [path.packets for path in (link.up, link.down) if path.packets is not None]
    if len(missed) < 2 or len(read) < 2 or not sum(read):
        return Reading(None, "the packets that the emulator has not read were not counted")
    return Reading(100 * sum(missed) / (sum(missed) + sum(read)), f"{sum(missed)} packets")


@rule(
    Validity.DISTURBED,
    1,
    "% of the trial",
    "time in which a CPU quota (a container's, a service's) stopped the trial's programs",
    "a CPU quota stopped the trial's programs for {number} of the trial (at most {threshold})",
    Evidence.MACHINE,
    _PACE,
)
def _throttling(trial: Trial) -> Reading:
    throttled_ns, wall_ns = trial.counters.throttled_ns, trial.counters.wall_ns
    if throttled_ns is None or not wall_ns:
        return Reading(
            None, "the effect of CPU quotas was not counted: no control group here counts it, or the engine is old"
        )
    return Reading(100 * throttled_ns / wall_ns)


@rule(
    Validity.DISTURBED,
    5,
    "% of the trial",
    "time that the hypervisor took from a pinned CPU",
    "the hypervisor took {number} of a CPU's time (at most {threshold})",
    Evidence.MACHINE,
    _PACE_AND_CPU,
)
def _steal(trial: Trial) -> Reading:
    cpus = trial.counters.cpus or ()
    return _of_windows(cpus, [cpu.steal_ns for cpu in cpus], _NO_CPUS)


@rule(
    Validity.DISTURBED,
    10,
    "% of the trial",
    "use of the subject's CPUs by other programs, without interrupts",
    "{detail} used {number} of the subject's CPU time (at most {threshold})",
    Evidence.MACHINE,
    _PACE_AND_CPU,
)
def _foreign_cpu(trial: Trial) -> Reading:
    """Leave out the subject, and the trial's own programs if they share the CPU.

    Interrupts are left out, too: they carry the trial's packets, and some kernels charge them to the interrupted
    program.
    """
    counters = trial.counters
    cpus, own_ns = counters.subject_cpus, counters.cpu_ns
    if not cpus or own_ns is None:
        return Reading(None, _NO_CPUS)
    if min(cpu.window_ns for cpu in cpus) < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    if any(cpu.role == "both" for cpu in cpus):
        own_ns += (counters.engine_cpu_ns or 0) + (counters.peer_cpu_ns or 0)
    if counters.link is not None and any(cpu.cpu == counters.link.cpu for cpu in cpus):
        own_ns += counters.link.cpu_time_ns or 0
    used_ns = sum(cpu.busy_ns - (cpu.interrupt_ns or 0) for cpu in cpus)
    share = max(used_ns - own_ns, 0) / sum(cpu.window_ns for cpu in cpus)
    return Reading(100 * share, names_of_others(trial) or "other programs")


@rule(
    Validity.DISTURBED,
    10,
    "% of the trial",
    "time in which something on the machine waited for memory (PSI)",
    "something waited for memory for {number} of the trial (at most {threshold})",
    Evidence.MACHINE,
)
def _memory_pressure(trial: Trial) -> Reading:
    return _pressure(trial, trial.counters.memory_pressure_us)


@rule(
    Validity.DISTURBED,
    10,
    "% of the trial",
    "time in which something on the machine waited for a disk (PSI)",
    "something waited for a disk for {number} of the trial (at most {threshold})",
    Evidence.MACHINE,
    _PACE,
)
def _io_pressure(trial: Trial) -> Reading:
    return _pressure(trial, trial.counters.io_pressure_us)


def _pressure(trial: Trial, stalled_us: int | None) -> Reading:
    wall_ns = trial.counters.wall_ns
    if stalled_us is None or not wall_ns:
        return Reading(None, "this kernel has no pressure stall information (PSI)")
    return Reading(None, TOO_SHORT) if wall_ns < SHORTEST_NS else Reading(100 * stalled_us * 1000 / wall_ns)


@rule(
    Validity.ORIGIN_LIMITED,
    1,
    "% of the median duration",
    "mean lateness of the origin's answers, beyond the 0.1 ms allowed for writing one",
    "the origin's answers began late by {number} of the subject's median duration ({detail}; at most {threshold})",
    Evidence.ORIGIN,
    _PACE,
)
def _origin_lateness(trial: Trial) -> Reading:
    late_ns, median_ns = trial.counters.lateness_mean_ns, trial.summary.p50_ns if trial.summary else None
    if late_ns is None:
        return Reading(None, "the engine did not count how late answers began")
    if (trial.counters.lateness_count or 0) < _FEWEST_ANSWERS:
        return Reading(None, f"the mean of fewer than {_FEWEST_ANSWERS} answers is too uncertain")
    if not median_ns:
        return Reading(None, "the subject reported no duration")
    detail = f"{late_ns / 1e6:.2f} ms in {median_ns / 1e6:.1f} ms"
    return Reading(100 * max(late_ns - _OWN_WORK_NS, 0) / median_ns, detail)


@rule(
    Validity.INCORRECT,
    0.5,
    "% of the answers",
    "wrong answers that no known failure explains",
    "{number} of the answers are wrong ({detail}; at most {threshold})",
    Evidence.ANSWERS,
)
def _wrong_answers(trial: Trial) -> Reading:
    """Leave out URLs that were not reached; load on the machine cannot cause the certain wrong answers."""
    tally = trial.tally
    answers = tally.right + tally.wrong_in_all if tally else 0
    if tally is None or not answers:
        return Reading(None, NO_ANSWERS)
    most = max(_WRONG, key=lambda name: getattr(tally, name))
    detail = f"{tally.wrong} of {answers}" + (f", most of them {most}" if tally.wrong else "")
    return Reading(100 * tally.wrong / answers, detail, 100 * (tally.surely_wrong or 0) / answers)


_drift: Final = rule(
    Validity.UNSTEADY,
    10,
    "% of the mean throughput",
    "difference of throughput between the first and the last third of the steady state; 0 if it may be chance",
    "the throughput of the last third of the steady state differs from that of the first ({detail}; at most "
    "{threshold})",
    Evidence.PACE,
    _PACE,
)(drift)

RULES: Final = (
    _unverified,
    _origin_cpu,
    origin_waiting,
    _origin_cpu_busy,
    _web_ceiling,
    _link_rate,
    _link_lateness,
    _link_unread,
    _throttling,
    _steal,
    _foreign_cpu,
    _memory_pressure,
    _io_pressure,
    _origin_lateness,
    _wrong_answers,
    _drift,
)
"""In the order of their weight: the first broken rule determines the validity of a trial.

Unverified answers make every other rule irrelevant. A disturbed instrument comes before its consequences: an origin
without CPU time makes a correct client time out. Wrong answers that it cannot cause come first (``Finding.sure``). The
machine comes before a late origin and before a drift, since it may cause both.
"""


def rules_for(*evidence: Evidence, own: Sequence[Rule] = ()) -> tuple[Rule, ...]:
    """Return the rules for trials that have this evidence, in the order of their weight.

    A rule of ``own``, which the experiment adds, replaces the rule of the same name; its other rules come before those
    about the instrument.
    """
    named = {rule.name: rule for rule in own}
    first, *others = [named.pop(rule.name, rule) for rule in RULES if rule.needs in evidence]
    return (first, *(rule for rule in own if rule.name in named), *others)
