"""The wish of the user or the system to stop: noticed between steps, never in the middle of one."""

import signal
from types import FrameType, TracebackType
from typing import Any, Final, Self

__all__ = ["Interruption"]

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    """While the block lasts, SIGINT, SIGTERM and SIGHUP are noted instead of ending the process.

    A trial that is under way is then ended by whoever runs it, finished trials are kept, and the room is taken down.
    Must be entered in the main thread.
    """

    def __init__(self) -> None:
        self._count = 0
        self._before: dict[signal.Signals, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether a signal came."""
        return self._count > 0

    @property
    def urgent(self) -> bool:
        """Whether a second one came: whoever waits for a tidy end must not wait any longer."""
        return self._count > 1

    def request(self) -> None:
        """Note a wish to stop, as a signal does."""
        self._count += 1

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            # A signal that was ignored from outside (nohup) stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.request()
