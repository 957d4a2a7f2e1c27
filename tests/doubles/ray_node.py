"""The sudden end of a node of Ray."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def kill_tree(process: int) -> None:
    """Kill a node at once: its raylet, its workers, and the engines that these have started."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    os.kill(process, signal.SIGKILL)
    for child in children:
        with suppress(ProcessLookupError, FileNotFoundError):
            kill_tree(int(child))
