"""The pause between trials: as long as the last one has left load or sockets behind, and no longer."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from httpdyno.lab.load import Load, Snapshot, load_between

__all__ = ["CoolDown", "Pause", "disturbance", "quieter"]

WINDOW_S: Final = 0.25
"""How long the machine is watched to tell whether it is quiet: 25 ticks of the kernel's clock."""
LONGEST_S: Final = 5.0
"""What disturbs for longer than this is not the last trial, and no waiting helps."""
_BUSY: Final = 0.20
_STALLED: Final = 0.20


@dataclass(frozen=True, slots=True)
class Pause:
    """How long was waited before a trial, and for what."""

    waited_ns: int
    reason: str | None = None
    """What disturbed last; None when it was quiet at once."""


def disturbance(load: Load, usual: Load) -> str | None:
    """Say what there is on the machine beside the usual; None when it is quiet.

    Quiet is a CPU that is busy, or a resource that is waited for, for at most 20 % of the time more than usual, and no
    more sockets without a process than usual. Sockets in TIME_WAIT do not count: they die with the namespaces of the
    room.

    Parameters
    ----------
    load : Load
        Of the last moment.
    usual : Load
        What others do on this machine all the time: no trial has left that behind, and it would not go away.
    """
    for cpu, share in sorted(load.busy.items()):
        if share > usual.busy.get(cpu, 0.0) + _BUSY:
            return f"CPU {cpu} was {share:.0%} busy"
    for name, share in sorted(load.stalled.items()):
        if share > usual.stalled.get(name, 0.0) + _STALLED:
            return f"{name} made others wait for {share:.0%} of the time"
    left = (load.orphans or 0) - (usual.orphans or 0)
    return f"{left} socket{'' if left == 1 else 's'} had lost their process" if left > 0 else None


def quieter(one: Load, other: Load) -> Load:
    """Give the lower value of each of two loads; what only one of them knows is taken from that."""
    return Load(
        busy={
            cpu: min(load.busy[cpu] for load in (one, other) if cpu in load.busy) for cpu in {*one.busy, *other.busy}
        },
        stalled={
            name: min(load.stalled[name] for load in (one, other) if name in load.stalled)
            for name in {*one.stalled, *other.stalled}
        },
        orphans=min((load.orphans for load in (one, other) if load.orphans is not None), default=None),
    )


class CoolDown:
    """Watches the machine between trials; learns what is usual on it."""

    def __init__(
        self,
        read: Callable[[], Snapshot],
        *,
        pause: Callable[[float], None] = time.sleep,
        stop: Callable[[], bool] = lambda: False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take the means to look and to wait.

        Parameters
        ----------
        read : callable
            Takes a snapshot.
        pause : callable
            Waits for so many seconds.
        stop : callable
            Asked before each wait; once it is true nothing is waited for.
        tell : callable
            Gets what is waited for, each time that it is looked at.
        """
        self._read = read
        self._pause = pause
        self._stop = stop
        self._tell = tell
        self._usual: Load | None = None

    def learn(self) -> None:
        """Watch the machine before the first trial, when none has left anything behind."""
        self._usual = self._watch(self._read())[1]

    def wait(self) -> Pause:
        """Wait until the machine is as quiet as usual, 5 s at most.

        Returns
        -------
        Pause
            ``waited_ns`` counts from the call, the time that looking takes included.
        """
        first = last = self._read()
        reason: str | None = None
        while not self._stop():
            last, load = self._watch(last)
            usual = self._usual or load
            disturbed = disturbance(load, usual)
            self._usual = quieter(load, usual)
            if disturbed is None:
                break
            reason = disturbed
            if last.at_ns - first.at_ns >= LONGEST_S * 1e9:
                reason = f"{disturbed}, still"
                # Others have come to stay: not to be waited for again.
                self._usual = load
                break
            self._tell(disturbed)
        return Pause(last.at_ns - first.at_ns, reason)

    def _watch(self, before: Snapshot) -> tuple[Snapshot, Load]:
        self._pause(WINDOW_S)
        after = self._read()
        return after, load_between(before, after)
