"""Whether other programs, and nothing else, spoiled a trial."""

from typing import Final

from httpdyno.judge.validity import findings
from httpdyno.model import Outcome, Trial, Validity

__all__ = ["disturbed"]

_BY_OTHERS: Final = frozenset(
    {"origin_waiting", "throttling", "steal", "foreign_cpu", "memory_pressure", "io_pressure"}
)
"""Rules that a trial breaks when something else runs on the machine."""
_FOLLOWS: Final = frozenset({"origin_cpu_busy", "origin_lateness", "drift"})
"""What that may lead to, and may have another cause."""


def disturbed(trial: Trial) -> bool:
    """Return whether a trial went well, and is not valid for what other programs did, and for nothing else."""
    if trial.outcome is not Outcome.OK or trial.validity not in {Validity.UNSTEADY, Validity.ORIGIN_LIMITED}:
        return False
    broken = {finding.rule.name for finding in findings(trial) if finding.passed is False}
    return bool(broken & _BY_OTHERS) and broken <= _BY_OTHERS | _FOLLOWS
