"""Keeps its CPU from sleeping until standard input ends; every other program takes precedence.

Started as a script of its own, with a pipe from the parent as standard input: the pipe closes when the parent closes it
or dies, also of SIGKILL. Imports nothing of httpdyno, so that it starts within some milliseconds.
"""

import os
import select

_TURNS = 1_000
"""Between two checks of standard input: less than a millisecond."""


def main() -> None:
    """Spin in the kernel's idle class."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    while not select.select([0], [], [], 0)[0]:
        for _ in range(_TURNS):
            # A spinning program that yields its CPU to this process gets it back at once.
            os.sched_yield()


if __name__ == "__main__":
    main()
