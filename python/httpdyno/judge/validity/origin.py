"""Readings of the engine's side of a trial: whether the origin kept up, so that the subject set the pace."""

from typing import Final

from httpdyno.judge.validity.machine import names_of_others
from httpdyno.judge.validity.rule import Reading
from httpdyno.judge.validity.stretch import SHORTEST_NS, TOO_SHORT, Stretch
from httpdyno.model import CeilingLimit, Trial

__all__ = ["ceiling_reached", "cpu_busy", "cpu_used", "lateness", "waiting"]

_FEWEST_ANSWERS: Final = 100
_OWN_WORK_NS: Final = 100_000
"""An answer takes the origin some ten microseconds to write, which count as lateness and are none."""
_NO_CEILING: Final = {
    None: "what this web can give at all was not measured",
    CeilingLimit.WEB: "the fetcher was held up by the delays of the web: it can give more",
    CeilingLimit.FETCHER: "the fetcher was held up by its own CPU: the web can give more",
    CeilingLimit.LINK: "the link set the ceiling, and each trial says itself how full it was",
    CeilingLimit.MACHINE: "other programs disturbed the fetcher: the web can give more",
}
"""Why a ceiling says nothing of a trial, by what set it."""


def cpu_used(trial: Trial) -> Reading:
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


def cpu_busy(trial: Trial) -> Reading:
    """Return how busy the busiest of the engine's CPUs was in the whole trial, whoever used it."""
    cpus = trial.counters.engine_cpus
    if not cpus:
        return Reading(None, "the engine did not count how busy its CPUs were")
    if min(cpu.window_ns for cpu in cpus) < SHORTEST_NS:
        return Reading(None, TOO_SHORT)
    return Reading(max(100 * cpu.busy_ns / cpu.window_ns for cpu in cpus))


def waiting(trial: Trial) -> Reading:
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


def lateness(trial: Trial) -> Reading:
    """Return how late answers began in the mean, as a share of the subject's median duration."""
    late_ns, median_ns = trial.counters.lateness_mean_ns, trial.summary.p50_ns if trial.summary else None
    if late_ns is None:
        return Reading(None, "the engine did not count how late answers began")
    if (trial.counters.lateness_count or 0) < _FEWEST_ANSWERS:
        return Reading(None, f"the mean of fewer than {_FEWEST_ANSWERS} answers says too little")
    if not median_ns:
        return Reading(None, "the subject told no duration")
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
    if limit is CeilingLimit.ORIGIN and cpu_used(trial).number is not None:
        return Reading(None, "the origin's CPU time set the ceiling, and the trial says itself how much it used")
    if ceiling is None or rate is None:
        return Reading(None, "there are no right answers")
    return Reading(100 * rate / ceiling, f"{rate:,.0f} of {ceiling:,.0f} right answers a second")
