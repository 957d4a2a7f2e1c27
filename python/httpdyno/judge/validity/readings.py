"""Readings of a trial that rules compare with their limits: machine, origin, link, pace and answers."""

from typing import Final

import numpy as np

from httpdyno.errors import InvalidValue
from httpdyno.judge.validity.rule import Reading
from httpdyno.judge.validity.stretch import SHORTEST_NS, TOO_SHORT, Stretch
from httpdyno.model import CeilingLimit, CpuTime, Link, LinkPath, ProgramUse, Trial
from httpdyno.stats import FloatArray
from httpdyno.stats.steadiness import FEWEST_VALUES, drift_interval, warm_up_length

_NO_CPUS: Final = "the engine did not count how busy the CPUs were"
_NAMED_FROM: Final = 0.01
"""A program that used a smaller share of a CPU disturbs nothing."""
_NAMED: Final = 2
_NO_PRESSURE: Final = "this kernel keeps no pressure stall information (PSI)"


def foreign_cpu(trial: Trial) -> Reading:
    """Return the time that others used of the subject's CPUs.

    Others are all but the subject, the trial's other programs where they share the CPU (the engine, a peer, a link's
    emulator), and interrupts: those carry the trial's own packets, and some kernels count them as the program's that
    they interrupt.
    """
    counters = trial.counters
    cpus, own_ns = counters.subject_cpus, counters.cpu_ns
    if not cpus or own_ns is None:
        return Reading(None, _NO_CPUS)
    if _window_ns(cpus) < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    if any(cpu.role == "both" for cpu in cpus):
        own_ns += (counters.engine_cpu_ns or 0) + (counters.peer_cpu_ns or 0)
    if counters.link is not None and any(cpu.cpu == counters.link.cpu for cpu in cpus):
        own_ns += counters.link.cpu_time_ns or 0
    used_ns = sum(cpu.busy_ns - (cpu.interrupt_ns or 0) for cpu in cpus)
    share = max(used_ns - own_ns, 0) / sum(cpu.window_ns for cpu in cpus)
    return Reading(100 * share, names_of_others(trial) or "other programs")


def busy_programs(trial: Trial) -> tuple[ProgramUse, ...]:
    """Return the other programs that used at least one per cent of a CPU during a trial, the busiest first."""
    wall_ns = trial.counters.wall_ns or 0
    return tuple(used for used in trial.other_programs or () if used.cpu_ns >= _NAMED_FROM * wall_ns)


def names_of_others(trial: Trial) -> str:
    """Name the busiest of the other programs; empty where none is known."""
    return " and ".join(program.name for program in busy_programs(trial)[:_NAMED])


def steal(trial: Trial) -> Reading:
    """Return the time that the hypervisor gave to others, of the pinned CPU that lost most."""
    cpus = trial.counters.cpus or ()
    if not cpus:
        return Reading(None, _NO_CPUS)
    if _window_ns(cpus) < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(max(100 * cpu.steal_ns / cpu.window_ns for cpu in cpus))


def throttling(trial: Trial) -> Reading:
    """Return the time in which a CPU quota stopped the trial's programs."""
    throttled_ns, wall_ns = trial.counters.throttled_ns, trial.counters.wall_ns
    if throttled_ns is None or not wall_ns:
        return Reading(
            None, "the effect of CPU quotas was not counted: no control group here counts it, or the engine is old"
        )
    return Reading(100 * throttled_ns / wall_ns)


def memory_pressure(trial: Trial) -> Reading:
    """Return the time in which something waited for memory."""
    return _pressure(trial, trial.counters.memory_pressure_us)


def io_pressure(trial: Trial) -> Reading:
    """Return the time in which something waited for a disk."""
    return _pressure(trial, trial.counters.io_pressure_us)


def _pressure(trial: Trial, stalled_us: int | None) -> Reading:
    wall_ns = trial.counters.wall_ns
    if stalled_us is None or not wall_ns:
        return Reading(None, _NO_PRESSURE)
    if wall_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(100 * stalled_us * 1000 / wall_ns)


def _window_ns(cpus: tuple[CpuTime, ...] | list[CpuTime]) -> int:
    return min(cpu.window_ns for cpu in cpus)


_FEWEST_ANSWERS: Final = 100
_OWN_WORK_NS: Final = 100_000
"""An answer takes the origin some ten microseconds to write, which count as lateness and are none."""
_NO_CEILING: Final = {
    None: "the web's ceiling was not measured",
    CeilingLimit.WEB: "the fetcher was limited by the web's delays: the ceiling is higher",
    CeilingLimit.FETCHER: "the fetcher was limited by its own CPU: the ceiling is higher",
    CeilingLimit.LINK: "the link set the ceiling; each trial has its own reading of the link",
    CeilingLimit.MACHINE: "other programs disturbed the fetcher: the ceiling is higher",
}
"""Reasons why a ceiling cannot judge a trial, by its limit."""


def origin_cpu_used(trial: Trial) -> Reading:
    """Return the engine's CPU time while the list lasted, as a share of its CPUs.

    It is known of the whole trial only and counts evenly for each answer.
    """
    counters, stretch = trial.counters, Stretch.of(trial)
    cpu_ns, cpus = counters.engine_cpu_ns, len(counters.engine_cpus)
    if stretch is None or cpu_ns is None or not cpus:
        return Reading(None, "the engine did not count its CPU time")
    if stretch.length_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(100 * cpu_ns * stretch.work / (stretch.length_ns * cpus))


def engine_cpu_busy(trial: Trial) -> Reading:
    """Return the use of the engine's busiest CPU over the whole trial, by all programs."""
    cpus = trial.counters.engine_cpus
    if not cpus:
        return Reading(None, "the engine did not count how busy its CPUs were")
    if min(cpu.window_ns for cpu in cpus) < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(max(100 * cpu.busy_ns / cpu.window_ns for cpu in cpus))


def origin_waiting(trial: Trial) -> Reading:
    """Return the time in which the origin had work but no CPU, as a share of the time that the list lasted.

    It is known of the whole trial only and counts evenly for each answer.
    """
    waited_ns, stretch, cpus = trial.counters.origin_waiting_ns, Stretch.of(trial), len(trial.counters.engine_cpus)
    if waited_ns is None or stretch is None or not cpus:
        return Reading(None, "the origin's wait for its CPU was not counted: this kernel cannot, or the engine is old")
    if stretch.length_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    shared = any(cpu.role == "both" for cpu in trial.counters.cpus or ())
    other = "the client" if shared else names_of_others(trial) or "another program"
    return Reading(100 * waited_ns * stretch.work / (stretch.length_ns * cpus), other)


def origin_lateness(trial: Trial) -> Reading:
    """Return how late answers began in the mean, as a share of the subject's median duration."""
    late_ns, median_ns = trial.counters.lateness_mean_ns, trial.summary.p50_ns if trial.summary else None
    if late_ns is None:
        return Reading(None, "the engine did not count how late answers began")
    if (trial.counters.lateness_count or 0) < _FEWEST_ANSWERS:
        return Reading(None, f"the mean of fewer than {_FEWEST_ANSWERS} answers says too little")
    if not median_ns:
        return Reading(None, "the subject reported no duration")
    detail = f"{late_ns / 1e6:.2f} ms in {median_ns / 1e6:.1f} ms"
    return Reading(100 * max(late_ns - _OWN_WORK_NS, 0) / median_ns, detail)


def ceiling_reached(trial: Trial) -> Reading:
    """Return the right answers a second, as a share of those that the fetcher got when the instrument held it up.

    Where that was the origin's CPU time, a trial that knows how much of it was used is judged by that: it may have
    asked for work that costs the origin less.
    """
    ceiling, rate = trial.ceiling_per_s, trial.summary.right_per_s if trial.summary else None
    limit = trial.ceiling_limit if ceiling else None
    if limit in _NO_CEILING:
        return Reading(None, _NO_CEILING[limit])
    if limit is CeilingLimit.ORIGIN and origin_cpu_used(trial).number is not None:
        return Reading(None, "the origin's CPU time set the ceiling, and the trial says itself how much it used")
    if ceiling is None or rate is None:
        return Reading(None, "there are no right answers")
    return Reading(100 * rate / ceiling, f"{rate:,.0f} of {ceiling:,.0f} right answers a second")


LATE_AT_MOST: Final = 5
"""Per cent of the round trip: what a link may be off by before the trial, too."""
_SHORTEST_ROUND_TRIP_NS: Final = 10_000_000
"""Of a shorter one, 0.5 ms of error is allowed, as it is before the trial."""


def link_rate_used(trial: Trial) -> Reading:
    """Return the use of the link while the list lasted, as a share of its rate, in the fuller direction.

    The link has counted the bytes itself, headers included. Of a trial without its figures, those of the subject stand.
    """
    link, stretch = _link(trial), Stretch.of(trial)
    if link is None or (link.up.rate_bits_per_s is None and link.down.rate_bits_per_s is None):
        return Reading(None, "the link has no limit of its rate")
    counters = trial.counters
    sent, received = counters.sent_bytes, counters.received_bytes
    if counters.link:
        sent, received = counters.link.up.bytes, counters.link.down.bytes
    if sent is None or received is None or stretch is None:
        return Reading(None, "the bytes on the link were not counted")
    if stretch.length_ns < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    shares = (
        (_share(link.up, sent * stretch.work, stretch), "from the subject"),
        (_share(link.down, received * stretch.work, stretch), "to the subject"),
    )
    share, way = max(shares)
    return Reading(share, way)


def link_lateness(trial: Trial) -> Reading:
    """Return the 99th percentiles of the emulator's own lateness, both ways together, as a share of the round trip."""
    link = trial.counters.link
    if link is None:
        return Reading(None, "the link is direct: nothing is emulated")
    late_ns = [path.lateness_p99_ns for path in (link.up, link.down)]
    asked = _link(trial)
    if asked is None or None in late_ns:
        return Reading(None, "the emulator did not count how late it was")
    in_all = sum(one for one in late_ns if one is not None)
    measured_against_ns = max(asked.round_trip_ns, _SHORTEST_ROUND_TRIP_NS)
    detail = f"by {in_all / 1e6:.2f} ms where {LATE_AT_MOST * measured_against_ns / 1e8:g} ms are allowed"
    return Reading(100 * in_all / measured_against_ns, detail)


def unread_packets(trial: Trial) -> Reading:
    """Return the packets that were lost because the emulator had not read those before them, as a share of all."""
    link = trial.counters.link
    if link is None:
        return Reading(None, "the link is direct: nothing is emulated")
    missed, read = (link.up.unread, link.down.unread), (link.up.packets, link.down.packets)
    missed_in_all, read_in_all = (sum(one for one in ways if one is not None) for ways in (missed, read))
    if None in missed or None in read or not read_in_all:
        return Reading(None, "the packets that the emulator has not read were not counted")
    return Reading(100 * missed_in_all / (missed_in_all + read_in_all), f"{missed_in_all} packets")


def _link(trial: Trial) -> Link | None:
    """Return the link of a trial; None for a record with another notation of links."""
    try:
        return Link.parse(trial.link)
    except InvalidValue:
        return None


def _share(path: LinkPath, size_bytes: float, stretch: Stretch) -> float:
    if path.rate_bits_per_s is None:
        return 0.0
    return 100 * 8 * size_bytes * 1e9 / (path.rate_bits_per_s * stretch.length_ns)


ON_SCHEDULE: Final = Reading(None, "in an open loop the schedule sets the pace")
"""Of a trial whose answers do not come as fast as the subject can."""
_TIMED_OUT: Final = 0.9
_LONG_WARM_UP: Final = 0.5
_BINS_AT_ONCE: Final = 5
"""A warm-up is found to so many bins."""


def drift(trial: Trial) -> Reading:
    """Return how far the throughput of the last third of the steady state lies from that of the first, up or down.

    0 where it may be chance, at 99 % confidence. Three things come before the steady state and
    are left out: the start until the first answer; the time until the first URL that never answers gives its place
    back, which is the timeout; the warm-up, as MSER-5 finds it. What becomes faster may have warmed up for up to half
    of the time, as a just-in-time compiler does; what becomes slower for no more than a quarter.
    """
    return drift_of(*_answers(trial))


def drift_of(answers: FloatArray, bin_ns: int) -> Reading:
    """Return the drift of a series of answers, one value for each bin of ``bin_ns``."""
    warm_up = _warm_up(answers) if len(answers) else 0
    steady = answers[warm_up:]
    if len(steady) < FEWEST_VALUES:
        bins = f"{len(steady)} of {FEWEST_VALUES} bins of {bin_ns / 1e6:.0f} ms" if bin_ns else "no bins"
        return Reading(None, f"too short: {bins} in steady state")
    interval = drift_interval(steady)
    if interval is None:
        return Reading(None, "there are no answers")
    detail = f"{100 * interval.estimate:+.0f} %, between {100 * interval.low:+.0f} and {100 * interval.high:+.0f} %"
    if warm_up:
        detail += f", after a warm-up of {warm_up * bin_ns / 1e9:.0f} s"
    if interval.low <= 0 <= interval.high:
        return Reading(0.0, f"no more than chance: {detail}")
    return Reading(100 * abs(interval.estimate), detail)


def _warm_up(answers: FloatArray) -> int:
    """Return the number of bins of the warm-up; a long one must raise the pace and have ended."""
    usual, long = warm_up_length(answers), warm_up_length(answers, longest=_LONG_WARM_UP)
    ended = long < _LONG_WARM_UP * len(answers) - _BINS_AT_ONCE
    return long if ended and long > usual and answers[:long].mean() < answers[long:].mean() else usual


def _answers(trial: Trial) -> tuple[FloatArray, int]:
    """Answers in each whole bin of the list, from the first answer and the first timeout on; the length of a bin."""
    bins, wall_ns = trial.counters.throughput or (), trial.counters.wall_ns
    if not bins or not wall_ns or trial.summary is None:
        return np.empty(0), 0
    end_ns = min(trial.summary.exhausted_ns or wall_ns, wall_ns)
    bin_ns = bins[0].elapsed_ns
    timed_out = (trial.summary.max_ns or 0) >= _TIMED_OUT * trial.timeout_ns
    begin_ns = trial.timeout_ns if timed_out else 0
    answers = [point.answers for point in bins if begin_ns + bin_ns <= point.elapsed_ns <= end_ns]
    return np.trim_zeros(np.array(answers, dtype=np.float64), "f"), bin_ns


NO_ANSWERS: Final = "there are no answers"
_KINDS: Final = ("wrong_status", "wrong_length", "late", "false_error", "missed_error", "wrong_time")


def wrong_answers(trial: Trial) -> Reading:
    """Return the wrong answers that no known failure explains; URLs that were not reached are no answers.

    Those are sure that no load on the machine can make (``Tally.surely_wrong``).
    """
    tally = trial.tally
    answers = tally.right + tally.wrong_in_all if tally else 0
    if tally is None or not answers:
        return Reading(None, NO_ANSWERS)
    kinds = {name: getattr(tally, name) for name in _KINDS}
    most = max(kinds, key=lambda name: kinds[name])
    detail = f"{tally.wrong} of {answers}" + (f", most of them {most}" if tally.wrong else "")
    return Reading(100 * tally.wrong / answers, detail, 100 * (tally.surely_wrong or 0) / answers)


def unverified_answers(trial: Trial) -> Reading:
    """Return the share of answers that cannot be verified."""
    tally = trial.tally
    answers = tally.right + tally.wrong_in_all + tally.unverified if tally else 0
    if tally is None or not answers:
        return Reading(None, NO_ANSWERS)
    return Reading(100 * tally.unverified / answers)
