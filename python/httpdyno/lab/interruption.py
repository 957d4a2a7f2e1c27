"""Interruption by the user or the system: noticed between steps, or at once during a wait."""

from __future__ import annotations

import signal
from contextlib import contextmanager

from httpdyno.errors import Interrupted

TYPE_CHECKING = False  # `typing` takes longer to import than all that is done here
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType
    from typing import Any, Self

__all__ = ["Interruption", "interrupted_exit_code"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TICK_S = 0.2
"""After this time a signal is noticed that came between Python's last look at signals and a call that waits."""


_came: signal.Signals | None = None
"""The first signal that came while the latest block lasted: a process has one exit code."""


def interrupted_exit_code() -> int:
    """Return the exit code of a command that a signal has ended: 128 and its number; that of SIGINT where none came."""
    return 128 + (_came or signal.SIGINT)


class Interruption:
    """While the block lasts, SIGINT, SIGTERM and SIGHUP are noted instead of ending the process.

    A running trial is then ended, finished trials are kept, and the room is taken down.
    Must be entered in the main thread; may be entered again while it lasts.
    """

    def __init__(self) -> None:
        self._count = 0
        self._before: list[dict[signal.Signals, Any]] = []
        self._doing: str | None = None

    @property
    def requested(self) -> bool:
        """Whether a signal came."""
        return self._count > 0

    @property
    def urgent(self) -> bool:
        """Whether a second signal came: then no clean end is waited for."""
        return self._count > 1

    def request(self) -> None:
        """Note a wish to stop, as a signal does."""
        self._count += 1

    @contextmanager
    def at_once(self, doing: str) -> Iterator[None]:
        """While the block lasts, let a signal end it: for what waits on others, such as a read of standard input.

        Raises ``Interrupted``, also at a signal that came before the block; ``doing`` completes "interrupted while
        ...".
        """
        self._doing = doing
        before = signal.signal(signal.SIGALRM, lambda *_: None)
        try:
            # Each tick interrupts a call that waits, and Python then handles all signals that have come.
            signal.setitimer(signal.ITIMER_REAL, _TICK_S, _TICK_S)
            self._raise()
            yield
        finally:
            self._doing = None
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def __enter__(self) -> Self:
        # A signal that was ignored from outside (nohup) stays ignored.
        global _came
        if not self._before:
            _came = None
        noted = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        self._before.append({number: signal.signal(number, self._note) for number in noted})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.pop().items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del frame
        global _came
        _came = _came or signal.Signals(number)
        self.request()
        # Raised from the handler: Python would otherwise start an interrupted read again.
        self._raise()

    def _raise(self) -> None:
        if self.requested and self._doing:
            raise Interrupted(f"interrupted while {self._doing}")
