"""Supervisor of one command: ends its whole process group as soon as the parent is gone.

Started as a script of its own, with a pipe from the parent as standard input: the pipe closes when the parent closes it
or dies, also of SIGKILL. Imports nothing of httpdyno, so that it starts within some milliseconds.
"""

import os
import select
import signal
import subprocess
import sys


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
    # Either the command ended, and what it left running goes too; or the parent is gone, and everything goes.
    _end_group(child)
    status = child.wait()
    return status if status >= 0 else 128 - status


def _end_group(child: "subprocess.Popen[bytes]") -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
