"""Keeps its CPU from sleeping until standard input ends; every other program takes precedence.

Started as a separate script, with a pipe from the parent as standard input: the pipe closes when the parent closes it
or dies, even by SIGKILL. Imports nothing of httpdyno, so that it starts within some milliseconds.
"""

import os
import select

_TURNS = 1_000
"""Interval between two checks of standard input: less than a millisecond."""


def main() -> None:
    """Spin in the kernel's idle class."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    while not select.select([0], [], [], 0)[0]:
        for _ in range(_TURNS):
            # If a spinning program yields its CPU to this process, it gets the CPU back immediately.
            os.sched_yield()


if __name__ == "__main__":
    main()
