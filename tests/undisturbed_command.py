"""Runs a command again that failed while the host held the CPUs up: ``python -m undisturbed_command COMMAND...``.

The tests of the crates are run by it, as a whole: their harness has nothing that would run one of them again.
"""

import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from undisturbed import CpuTicks, ticks_here, until_undisturbed, wait_for_calm

__all__ = ["run"]

LONGEST_S: Final = 900.0
"""No attempt begins later; the first may have to compile."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How an attempt ended."""

    code: int

    @property
    def failed(self) -> bool:
        """Whether by anything but success."""
        return self.code != 0


def run(
    argv: Sequence[str],
    *,
    ticks: Callable[[], CpuTicks] = ticks_here,
    wait: Callable[[], None] = wait_for_calm,
) -> int:
    """Run a command until it succeeds, or fails without having been disturbed; give its last exit code."""

    def once() -> Sequence[Ended]:
        return [Ended(subprocess.run(argv, check=False).returncode)]

    def wait_and_say() -> None:
        print(f"{argv[0]}: failed while the machine's host took its CPUs: once more", file=sys.stderr, flush=True)
        wait()

    (ended,), _ = until_undisturbed(once, longest_s=LONGEST_S, ticks=ticks, wait=wait_and_say)
    return ended.code


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
