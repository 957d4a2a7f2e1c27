"""Readings of the machine: whether anyone but the trial's own programs took part in it."""

from typing import Final

from httpdyno.judge.validity.rule import Reading
from httpdyno.judge.validity.stretch import SHORTEST_NS, TOO_SHORT
from httpdyno.model import CpuTime, ProgramUse, Trial

__all__ = ["busy_programs", "foreign_cpu", "io_pressure", "memory_pressure", "names_of_others", "steal", "throttling"]

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
