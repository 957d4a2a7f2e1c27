"""Interruption by the user or the system: noticed between steps, or immediately during a wait."""

from __future__ import annotations

import signal
from contextlib import contextmanager

from httpdyno.errors import Interrupted

TYPE_CHECKING = False  # importing `typing` takes longer than everything else here
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TICK_S = 0.2
"""Longest delay of a signal that arrives between Python's check for signals and a blocking call."""
_came: signal.Signals | None = None
"""First signal during the latest block: a process has one exit code."""


def interrupted_exit_code() -> int:
    """Return the exit code of a command that a signal has ended: 128 plus its number; by default SIGINT."""
    return 128 + (_came or signal.SIGINT)


class Interruption:
    """Note SIGINT, SIGTERM and SIGHUP within the block, instead of ending the process.

    A running trial is then ended, finished trials are kept, and the room is removed. Must be entered in the main
    thread; may be entered again within the block.
    """

    def __init__(self) -> None:
        self._count = 0
        self._before: list[dict[signal.Signals, Any]] = []
        self._doing: str | None = None

    @property
    def requested(self) -> bool:
        """Whether a signal arrived."""
        return self._count > 0

    @property
    def urgent(self) -> bool:
        """Whether a second signal arrived: then nothing waits for a clean end."""
        return self._count > 1

    def request(self) -> None:
        """Request a stop, as a signal does."""
        self._count += 1

    @contextmanager
    def at_once(self, doing: str) -> Iterator[None]:
        """Let a signal end the block immediately: for a blocking call, such as a read of standard input.

        Raises ``Interrupted``, also for an earlier signal; ``doing`` completes "interrupted while ...".
        """
        self._doing = doing
        before = signal.signal(signal.SIGALRM, lambda *_: None)
        try:
            # Each tick interrupts a blocking call, and Python then handles all pending signals.
            signal.setitimer(signal.ITIMER_REAL, _TICK_S, _TICK_S)
            self._raise()
            yield
        finally:
            self._doing = None
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def __enter__(self) -> Self:
        # A signal that the parent process ignores (nohup) stays ignored.
        global _came
        if not self._before:
            _came = None
        noted = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        self._before.append({number: signal.signal(number, self._note) for number in noted})
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.pop().items():
            signal.signal(number, handler)

    def _note(self, number: int, *_: object) -> None:
        global _came
        _came = _came or signal.Signals(number)
        self.request()
        # Raised from the handler, because Python would otherwise restart an interrupted read.
        self._raise()

    def _raise(self) -> None:
        if self.requested and self._doing:
            raise Interrupted(f"interrupted while {self._doing}")
