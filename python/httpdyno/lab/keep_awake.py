"""Keeps the CPU that it may run on from sleeping until standard input ends; whatever else wants it has it at once.

Started as a script of its own, with a pipe from the parent as standard input: the pipe closes when the parent closes it
or dies, also of SIGKILL. Imports nothing of httpdyno, so that it starts within some milliseconds.
"""

import os
import select

_TURNS = 1_000
"""Between two looks at standard input: less than a millisecond."""


def main() -> None:
    """Turn round and round, in the class of what runs when nothing else would."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    while not select.select([0], [], [], 0)[0]:
        for _ in range(_TURNS):
            # Who yields, as programs do that spin, gives the CPU to this process, too: it gives it back at once.
            os.sched_yield()


if __name__ == "__main__":
    main()
