"""Whether the machine is quiet enough to measure on: what its CPUs do before anything is started."""

import time
from collections.abc import Collection, Mapping
from typing import Final

from httpdyno.lab.machine_use import MachineUse, take_snapshot, use_between

__all__ = ["disturbance", "look_around"]

_WINDOW_S: Final = 1.0
_QUIET: Final = 0.05
"""Share of a CPU that others may have."""


def look_around(cpus: Collection[int]) -> MachineUse:
    """Watch the CPUs for a second."""
    before = take_snapshot(cpus)
    time.sleep(_WINDOW_S)
    return use_between(before, take_snapshot(cpus))


def disturbance(busy: Mapping[int, float]) -> str | None:
    """Say which CPUs are not quiet; None when all of them are."""
    loud = {cpu: share for cpu, share in sorted(busy.items()) if share > _QUIET}
    if not loud:
        return None
    shares = ", ".join(f"CPU {cpu} {share:.0%}" for cpu, share in loud.items())
    return f"other programs are busy ({shares}): absolute figures will be low, and ratios will scatter"
