"""The pause between trials: as long as the last one has left load or sockets behind, and no longer."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from httpdyno.lab.machine_use import MachineUse, Snapshot, use_between

__all__ = ["LONGEST_S", "CoolDown", "Pause", "disturbance", "quieter"]

WINDOW_S: Final = 0.25
"""How long the machine is watched to tell whether it is quiet: 25 ticks of the kernel's clock."""
LONGEST_S: Final = 5.0
"""What disturbs for longer than this is not the last trial, and no waiting helps."""
SHORTEST_WINDOW_S: Final = 0.1
"""Between short trials: of fewer ticks than ten one more or less would be a disturbance."""
_BUSY: Final = 0.20
_STALLED: Final = 0.20


@dataclass(frozen=True, slots=True)
class Pause:
    """How long was waited before a trial, and for what."""

    waited_ns: int
    """The time that looking takes included."""
    reason: str | None = None
    """The last disturbance; None when the machine was quiet at once."""


def disturbance(use: MachineUse, usual: MachineUse) -> str | None:
    """Describe the unusual work on the machine; None when it is quiet.

    Quiet is a CPU that is busy, or a resource that is waited for, for at most 20 % of the time more than usual, and no
    more sockets without a process than usual. Sockets in TIME_WAIT do not count: they die with the namespaces of the
    room. ``usual`` is what others do all the time: no trial has left that behind, and it would not go away.
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
    """Return the lower value of two uses of the machine; what only one of them knows is taken from that."""
    return MachineUse(
        busy={cpu: min(use.busy[cpu] for use in (one, other) if cpu in use.busy) for cpu in {*one.busy, *other.busy}},
        stalled={
            name: min(use.stalled[name] for use in (one, other) if name in use.stalled)
            for name in {*one.stalled, *other.stalled}
        },
        orphans=min((use.orphans for use in (one, other) if use.orphans is not None), default=None),
    )


class CoolDown:
    """Watcher of the machine between trials; learns its usual load."""

    def __init__(
        self,
        read: Callable[[], Snapshot],
        *,
        longest_s: float = LONGEST_S,
        pause: Callable[[float], None] = time.sleep,
        stop: Callable[[], bool] = lambda: False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Keep the means to look and to wait.

        ``longest_s`` is what is waited at most: a trial that lasts a second leaves less behind than one that lasts
        minutes, and should not be waited for longer than it took. Once ``stop`` is true nothing is waited for; ``tell``
        gets what is waited for, each time that it is looked at.
        """
        self._read = read
        self._longest_ns = longest_s * 1e9
        self._window_s = max(SHORTEST_WINDOW_S, min(WINDOW_S, longest_s / 10))
        self._pause = pause
        self._stop = stop
        self._tell = tell
        self._usual: MachineUse | None = None
        self._first = True
        self._left = False

    def before_trial(self) -> Pause | None:
        """Wait for the effects of the last trial to end; before the first one, learn the usual load."""
        if self._first:
            self._first = False
            self._usual = self._watch(self._read())[1]
        return self._wait() if self._left else None

    def after_trial(self, *, ran: bool) -> None:
        """Note whether the trial ran at all: one that could not leaves nothing behind."""
        self._left = ran

    def _wait(self) -> Pause:
        """Wait until the machine is as quiet as usual, or as long as is waited at most."""
        first = last = self._read()
        reason: str | None = None
        while not self._stop():
            last, use = self._watch(last)
            usual = self._usual or use
            disturbed = disturbance(use, usual)
            self._usual = quieter(use, usual)
            if disturbed is None:
                break
            reason = disturbed
            if last.at_ns - first.at_ns >= self._longest_ns:
                reason = f"{disturbed}, still"
                # Others have come to stay: not to be waited for again.
                self._usual = use
                break
            self._tell(disturbed)
        return Pause(last.at_ns - first.at_ns, reason)

    def _watch(self, before: Snapshot) -> tuple[Snapshot, MachineUse]:
        self._pause(self._window_s)
        after = self._read()
        return after, use_between(before, after)
