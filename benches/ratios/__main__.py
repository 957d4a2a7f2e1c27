"""The command behind `make ratios`: measures cases, prints them, keeps them, renews their page."""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

from httpdyno.errors import HttpdynoError, InvalidValue, UnknownName
from httpdyno.subjects.engine_program import find_engine
from ratios.case import Case
from ratios.cases import CASES
from ratios.place import Place, check_cpus, usable_cpus
from ratios.quiet import disturbance, look_around
from ratios.results import Result, read_results, result_of, save
from ratios.wording import plain, with_results

_ROOT: Final = Path(__file__).resolve().parents[2]
_RESULTS: Final = _ROOT / "target" / "ratios.json"
_PAGE: Final = _ROOT / "docs" / "results" / "performance.md"
_INTERRUPTED: Final = 130


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make ratios",
        description="Measure speed against other programs, and print the ratios.",
        allow_abbrev=False,
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"which (default: all): {', '.join(CASES)}")
    parser.add_argument(
        "--rounds", type=int, default=5, metavar="N", help="how often each competitor runs (default: 5)"
    )
    parser.add_argument("--seconds", type=int, default=4, metavar="N", help="how long each runs (default: 4)")
    parser.add_argument("--server-cpus", default="0", metavar="LIST", help="CPUs of the server (default: 0)")
    parser.add_argument("--client-cpus", default="1", metavar="LIST", help="CPUs of the client (default: 1)")
    parser.add_argument(
        "--real-time",
        action="store_true",
        help="push other programs aside, for ratios on a busy machine; needs the right to, and makes lags worse",
    )
    parser.add_argument("--seed", type=int, default=1, help="decides the order within rounds (default: 1)")
    parser.add_argument(
        "--json", type=Path, default=_RESULTS, metavar="FILE", help=f"results (default: {_shown(_RESULTS)})"
    )
    parser.add_argument(
        "--page", action="store_true", help=f"also renew what {_shown(_PAGE)} says of cases measured here"
    )
    parser.add_argument("--only-page", action="store_true", help="measure nothing, renew the page")
    return parser.parse_args(given)


def _shown(path: Path) -> str:
    return str(path.relative_to(_ROOT))


def _cpus(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InvalidValue(f"{text!r} is not a list of CPUs such as 0 or 2,3") from None


def _chosen(names: Sequence[str]) -> list[Case]:
    for name in names:
        if name not in CASES:
            raise UnknownName(f"there is no case {name!r}; choose from {', '.join(CASES)}")
    return [case for case in CASES.values() if not names or case.name in names]


def _place(arguments: argparse.Namespace, stack: ExitStack) -> Place:
    server, client = _cpus(arguments.server_cpus), _cpus(arguments.client_cpus)
    check_cpus(server, client, usable_cpus())
    for name in ("rounds", "seconds"):
        if getattr(arguments, name) < 1:
            raise InvalidValue(f"--{name} must be at least 1")
    if arguments.real_time:
        _push_others_aside()
    scratch = Path(tempfile.mkdtemp(prefix="httpdyno-ratios-"))
    stack.callback(shutil.rmtree, scratch, ignore_errors=True)
    return Place(
        engine=find_engine(),
        scratch=scratch,
        server_cpus=server,
        client_cpus=client,
        rounds=arguments.rounds,
        seconds=arguments.seconds,
        order=random.Random(arguments.seed),
    )


def _push_others_aside() -> None:
    """Take a real-time priority, which everything that is started inherits."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        raise InvalidValue("--real-time: this user may not; leave it out, or be root") from None


def _measure(case: Case, place: Place) -> Result:
    sys.stderr.write(f"{case.name}: {case.title}\n")
    disturbed = disturbance(look_around({*place.server_cpus, *place.client_cpus}).busy)
    if disturbed:
        sys.stderr.write(f"warning: {disturbed}\n")
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")
    return result_of(case, case.measure(place), at=at, disturbance=disturbed)


def _run(arguments: argparse.Namespace) -> int:
    chosen = [] if arguments.only_page else _chosen(arguments.cases)
    kept = read_results(arguments.json, CASES)
    missed = False
    with ExitStack() as stack:
        place = _place(arguments, stack)
        load = " ".join(f"{value:.2f}" for value in os.getloadavg())
        sys.stderr.write(f"load of the machine (1, 5, 15 minutes): {load}\n" if chosen else "")
        for case in chosen:
            try:
                result = _measure(case, place)
            except HttpdynoError as error:
                sys.stderr.write(f"{case.name}: {error.line}\n")
                missed = True
                continue
            kept[case.name] = result
            save({name: kept[name] for name in CASES if name in kept}, arguments.json)
            sys.stdout.write(plain(result) + "\n")
            sys.stdout.flush()
            missed |= any(finding.met is False for finding in result.findings)
    if arguments.page or arguments.only_page:
        page = with_results(_PAGE.read_text(encoding="utf-8"), kept.values(), CASES.values())
        _PAGE.write_text(page, encoding="utf-8")
    return 1 if missed else 0


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def main(given: Sequence[str]) -> int:
    """Run; the exit status is 1 when a target was missed or a case could not be measured."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        return _run(_arguments(given))
    except HttpdynoError as error:
        sys.stderr.write(f"ratios: {error.line}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("\nratios: interrupted\n")
        return _INTERRUPTED


sys.exit(main(sys.argv[1:]))
