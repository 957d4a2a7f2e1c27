"""Supervisor of one command: ends its whole process group as soon as the parent is gone.

It runs as a separate script with a pipe from the parent as standard input, which closes when the parent closes it
or dies, also of SIGKILL. It imports nothing of httpdyno, so that it starts within some milliseconds.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def start_script(script: str, *argv: str, **options: "Any") -> "subprocess.Popen[bytes]":  # noqa: ANN401  # of Popen
    """Start a script that runs until its standard input ends: ``communicate`` closes that, and waits.

    It has its own process group, so that Ctrl-C in a terminal does not reach it.
    """
    command = [sys.executable, "-I", "-S", script, *argv]
    return subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0, **options)


def start_supervised(argv: "Iterable[str]", **options: "Any") -> "subprocess.Popen[bytes]":  # noqa: ANN401  # of Popen
    """Start a command under a supervisor, which ends all its processes when ``communicate`` is called."""
    return start_script(__file__, *argv, **options)


def main(argv: list[str]) -> int:
    """Run a command; return its exit status, 128 + N after signal N, or 127 when it cannot be started."""
    try:
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, process_group=0)
    except OSError as error:
        sys.stderr.write(f"{argv[0]}: {error.strerror}\n")
        return 127
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    poll.register(os.pidfd_open(child.pid), select.POLLIN)
    poll.poll()
    # Either the command has ended, and its remaining processes are killed; or the parent is gone, and all are killed.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    status = child.wait()
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
