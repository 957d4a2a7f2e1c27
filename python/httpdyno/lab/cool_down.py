"""Pause between trials, until the load and the sockets of the last one are gone."""

import time
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Final, TypeVar

from httpdyno.lab.machine_use import MachineUse, Snapshot, use_between

_Key = TypeVar("_Key", int, str)
WINDOW_S: Final = 0.25
"""Time to observe whether the machine is quiet: 25 ticks of the kernel's clock."""
LONGEST_S: Final = 5.0
"""Longest wait: a longer disturbance is not an effect of the last trial."""
SHORTEST_WINDOW_S: Final = 0.1
"""Observation between short trials; with fewer than ten ticks, a single one would look like a disturbance."""
_BUSY: Final = 0.20
_STALLED: Final = 0.20


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait before a trial."""

    waited_ns: int
    """Duration, including the observation."""
    reason: str | None = None
    """Last disturbance; None if the machine was quiet immediately."""


def disturbance(use: MachineUse, usual: MachineUse) -> str | None:
    """Describe the unusual work on the machine; None if it is quiet.

    A machine is quiet if three conditions are met. No CPU is busy for more than 20 % of the time beyond its usual
    share; processes wait for no resource for more than 20 % beyond the usual; and there are no additional sockets
    without a process. Sockets in TIME_WAIT do not count: they end with the namespaces of the room. ``usual`` is the
    load of other programs, which does not end while the run waits.
    """
    for cpu, share in sorted(use.busy.items()):
        if share > usual.busy.get(cpu, 0.0) + _BUSY:
            return f"CPU {cpu} was {share:.0%} busy"
    for name, share in sorted(use.stalled.items()):
        if share > usual.stalled.get(name, 0.0) + _STALLED:
            return f"{name} made others wait for {share:.0%} of the time"
    left = (use.orphans or 0) - (usual.orphans or 0)
    return f"{left} socket{'' if left == 1 else 's'} had lost their process" if left > 0 else None


def quieter(one: MachineUse, other: MachineUse) -> MachineUse:
    """Return the lower values of two uses of the machine; values that only one of them has are kept."""
    orphans = (use.orphans for use in (one, other) if use.orphans is not None)
    return MachineUse(_lower(one.busy, other.busy), _lower(one.stalled, other.stalled), min(orphans, default=None))


def _lower(one: Mapping[_Key, float], other: Mapping[_Key, float]) -> dict[_Key, float]:
    return {**one, **other, **{key: min(share, other[key]) for key, share in one.items() if key in other}}


@dataclass(slots=True)
class CoolDown:
    """Watcher of the machine between trials; learns its usual load."""

    read: Callable[[], Snapshot]
    _: KW_ONLY
    longest_s: float = LONGEST_S
    """Longest wait: a trial of a second has fewer effects than one of minutes, and justifies only a shorter wait."""
    pause: Callable[[float], None] = time.sleep
    stop: Callable[[], bool] = lambda: False
    """Returns whether to end the wait."""
    tell: Callable[[str], None] = lambda _: None
    """Receives the disturbance after each observation."""
    _usual: MachineUse | None = None
    _left: bool = False

    def before_trial(self) -> Pause | None:
        """Wait until the machine is as quiet as usual, or time is up; the first call learns the usual load."""
        if self._usual is None:
            self._usual = self._watch(self.read())[1]
        if not self._left:
            return None
        first = last = self.read()
        reason: str | None = None
        while not self.stop():
            last, use = self._watch(last)
            disturbed = disturbance(use, self._usual)
            self._usual = quieter(use, self._usual)
            if disturbed is None:
                break
            reason = disturbed
            if last.at_ns - first.at_ns >= self.longest_s * 1e9:
                reason = f"{disturbed}, still"
                # The disturbance lasts: the next wait ignores these programs.
                self._usual = use
                break
            self.tell(disturbed)
        return Pause(last.at_ns - first.at_ns, reason)

    def after_trial(self, *, ran: bool) -> None:
        """Note whether the trial ran: otherwise it has no effects to wait for."""
        self._left = ran

    def _watch(self, before: Snapshot) -> tuple[Snapshot, MachineUse]:
        self.pause(max(SHORTEST_WINDOW_S, min(WINDOW_S, self.longest_s / 10)))
        after = self.read()
        return after, use_between(before, after)
