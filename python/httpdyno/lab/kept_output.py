"""Keeps what a client prints, for whoever looks at it when the trial is over."""

from dataclasses import dataclass, field

from httpdyno.judge import Expectations
from httpdyno.lab.progress import Progress
from httpdyno.lab.silence import Silence

__all__ = ["KeptOutput"]


@dataclass(slots=True)
class KeptOutput:
    """An observer that takes interest in nothing else."""

    printed: bytearray = field(default_factory=bytearray)
    wants_output: bool = True

    @property
    def text(self) -> str:
        """What was printed; bytes that are no UTF-8 are replaced."""
        return self.printed.decode(errors="replace")

    def expected(self, expectations: Expectations) -> None:
        """Handle no interest."""

    def progress(self, progress: Progress) -> None:
        """Handle no interest."""

    def output(self, piece: bytes) -> None:
        """Keep it."""
        self.printed += piece

    def silent(self, silence: Silence) -> None:
        """Handle no interest: whoever uses this has a deadline."""
