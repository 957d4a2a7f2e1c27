"""Whoever watches a trial while it runs."""

from typing import Protocol

from httpdyno.judge import Expectations
from httpdyno.lab.progress import Progress
from httpdyno.lab.silence import Silence

__all__ = ["Observer"]


class Observer(Protocol):
    """Whoever wants to see a trial while it runs; must be quick, as it runs on the CPUs of the engine."""

    @property
    def wants_output(self) -> bool:
        """Whether what the subject prints is read while it runs."""

    def expected(self, expectations: Expectations) -> None:
        """Handle what a client must report for each URL, before it starts."""

    def progress(self, progress: Progress) -> None:
        """Handle news of how far the trial is."""

    def output(self, piece: bytes) -> None:
        """Handle a piece of what the subject has printed."""

    def silent(self, silence: Silence) -> None:
        """Handle a client that has not printed a line for a while."""
