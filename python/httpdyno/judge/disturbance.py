"""Whether other programs, or a CPU that client and origin share, spoiled a trial, and nothing else."""

from typing import Final

from httpdyno.judge.validity import findings
from httpdyno.model import Outcome, Trial, Validity

__all__ = ["crowded", "disturbed", "disturbing_causes"]

_ON_THE_CPU: Final = frozenset({"origin_waiting"})
"""Rules that a trial breaks when something else has the origin's CPU: another program, or a client that shares it."""
_BY_OTHERS: Final = frozenset({"throttling", "steal", "foreign_cpu", "memory_pressure", "io_pressure"})
"""Rules that a trial breaks when something else runs on the machine."""
_CAUSES: Final = {"steal": "the hypervisor", "throttling": "a CPU quota"}
"""What disturbed a trial that breaks such a rule, where it is no program."""
_DISTURBED: Final = frozenset({Validity.DISTURBED, Validity.UNSTEADY, Validity.ORIGIN_LIMITED})
"""What such a trial is called; the last two by version 0.1."""
_FOLLOWS: Final = frozenset({"origin_cpu_busy", "origin_lateness", "drift"})
"""What both may lead to, and may have another cause."""


def disturbed(trial: Trial) -> bool:
    """Return whether a trial went well, and is not valid for what other programs did, and for nothing else."""
    broken = _broken(trial)
    by_others = _BY_OTHERS if _shares_a_cpu(trial) else _BY_OTHERS | _ON_THE_CPU
    return bool(broken & by_others) and broken <= _BY_OTHERS | _ON_THE_CPU | _FOLLOWS


def disturbing_causes(trial: Trial) -> tuple[str, ...]:
    """Return what disturbed a trial other than programs of this machine: the hypervisor, a CPU quota."""
    broken = _broken(trial)
    return tuple(cause for rule, cause in _CAUSES.items() if rule in broken)


def crowded(trial: Trial) -> bool:
    """Return whether a trial went well, and is not valid for its client and the origin having a CPU together."""
    return _shares_a_cpu(trial) and bool(broken := _broken(trial)) and broken <= _ON_THE_CPU | _FOLLOWS


def _broken(trial: Trial) -> frozenset[str]:
    """Return the rules that a trial does not meet; none where it went wrong, or another verdict is worse."""
    if trial.outcome is not Outcome.OK or trial.validity not in _DISTURBED:
        return frozenset()
    return frozenset(finding.rule.name for finding in findings(trial) if finding.passed is False)


def _shares_a_cpu(trial: Trial) -> bool:
    return any(cpu.role == "both" for cpu in trial.counters.cpus or ())
