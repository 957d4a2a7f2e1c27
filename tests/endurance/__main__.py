"""The command behind `scripts/endure`."""

import argparse
import signal
import sys
from collections.abc import Sequence

from endurance import disks, hostile, kills, soak


def _exit(number: int, _: object) -> None:
    """Leave by an exception, so that the origin and all that was started end first."""
    raise SystemExit(128 + number)


def main(given: Sequence[str]) -> int:
    """Run the test that the first argument names; return the exit status: 1 if it found a defect."""
    parser = argparse.ArgumentParser(
        prog="scripts/endure", description="Try for long, or with malice, what must not break.", allow_abbrev=False
    )
    verbs = parser.add_subparsers(required=True)

    asked = verbs.add_parser("kills", help="kill processes of every verb at random moments, and look what is left")
    asked.add_argument("--count", type=int, default=300, metavar="N", help="how many (default: 300)")
    asked.add_argument("--seed", type=int, default=1, help="decides who is killed when (default: 1)")
    asked.add_argument("--lanes", type=int, default=2, metavar="N", help="how many at the same time (default: 2)")
    asked.add_argument("--within", type=float, metavar="S", help="in so many seconds, not in what each verb takes")
    asked.add_argument("--verb", action="append", default=[], help="only this one; may be repeated")
    asked.set_defaults(
        do=lambda: kills.run(asked_for.count, asked_for.seed, asked_for.lanes, asked_for.verb, told_s=asked_for.within)
    )

    asked = verbs.add_parser(
        "disks", help="fill disks, lay foreign files in the way, kill between two writes, and look what is lost"
    )
    asked.add_argument("--count", type=int, default=90, metavar="N", help="how often (default: 90)")
    asked.add_argument("--seed", type=int, default=1, help="decides how (default: 1)")
    asked.add_argument(
        "--kind", action="append", default=[], choices=disks.KINDS, help="only this one; may be repeated"
    )
    asked.set_defaults(do=lambda: disks.run(asked_for.count, asked_for.seed, asked_for.kind))

    asked = verbs.add_parser("hostile", help="have every client that is built crawl servers that misbehave")
    asked.add_argument("clients", nargs="*", metavar="CLIENT", help="which (default: all that can be built here)")
    asked.set_defaults(do=lambda: hostile.run(asked_for.clients))

    asked = verbs.add_parser(
        "soak", help="run load and origin at half of their ceiling, and look whether they stay flat"
    )
    asked.add_argument("--hours", type=float, default=2.0, help="how long (default: 2)")
    asked.add_argument("--minutes", type=float, help="the same in minutes")
    asked.set_defaults(do=lambda: soak.run(asked_for.minutes or 60 * asked_for.hours))

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _exit)
    asked_for = parser.parse_args(given)
    return int(asked_for.do())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
