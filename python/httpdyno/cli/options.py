"""Options and arguments that several verbs share, with their environment variables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from httpdyno.cli.completion import (
    complete_formats,
    complete_runs,
    offering,
)
from httpdyno.errors import UnreadableRun, UsageError

if TYPE_CHECKING:
    from httpdyno.store import Run


Limit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        envvar="LIMIT",
        help="How many URLs. Default: all of a list, the first 2,000 of a web.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=2**64 - 1,
        help="Seed of the web and of the order of trials.",
        show_default="the web's own",
    ),
]


Resume = Annotated[
    str | None,
    typer.Option(
        "--resume",
        metavar="RUN",
        help="Go on with a run that was stopped: its folder, its name below --out, latest or previous.",
        autocompletion=complete_runs,
    ),
]
Detach = Annotated[
    bool, typer.Option("--detach", help="Run in the background, also when this terminal is closed; print the folder.")
]
Cpus = Annotated[
    str | None,
    typer.Option(
        "--cpus", metavar="SUBJECT[:ENGINE]", help="CPUs of the subject and of the engine, such as 1:0 or 2-3:0,1."
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        envvar="FORMAT",
        metavar="FORMAT",
        help="table, plain, json, csv or markdown.",
        autocompletion=complete_formats,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="NAMES",
        help="What people are shown: published, all, or names separated by commas. Programs always get all.",
    ),
]
Artifacts = Annotated[
    str,
    typer.Option(
        "--artifacts",
        metavar="TRIALS",
        help="Keep what the trials wrote, up to 64 MiB a run, for `httpdyno judge`: of all, failed or none.",
        autocompletion=offering(("all", "failed", "none")),
    ),
]
OutputFolder = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Where runs are kept: each gets a folder of its own there.")
]
SubjectFolders = Annotated[
    list[Path] | None,
    typer.Option("--subjects", metavar="DIR", help="Folder of further subjects; may be given several times."),
]
Install = Annotated[
    bool, typer.Option("--install", help="First bring what the subjects need, as `httpdyno subjects install` does.")
]


RUN_HELP = "its folder, its name below the folder of runs, latest or previous"


def _folder(context: typer.Context, runs: Path) -> Path:
    """Raise ``UsageError`` when ``--runs`` names no folder; the default folder need not exist."""
    source = context.get_parameter_source("runs")
    if source is None or source.name == "DEFAULT" or runs.is_dir():
        return runs
    what = "is no folder" if runs.exists() else "does not exist"
    raise UsageError(f"--runs {runs}: {what}; name the folder that holds the runs")


LATEST: Final = "latest"
RunName = Annotated[str, typer.Argument(metavar="RUN", help=f"A run: {RUN_HELP}.", autocompletion=complete_runs)]
RunsFolder = Annotated[
    Path,
    typer.Option(
        "--runs", "--out", metavar="DIR", help="Folder that holds the runs, as bench was given it.", callback=_folder
    ),
]
"""The parameter must be called ``runs``: that is where completion looks for the folder."""


def open_named_run(name: str, runs: Path) -> "Run":
    """Open the run of a name: a folder, the name of one below ``runs``, ``latest`` or ``previous``."""
    from httpdyno.store import RELATIVE_NAMES, find_run, open_run

    try:
        return open_run(find_run(name, runs))
    except UnreadableRun as error:
        if name in RELATIVE_NAMES:
            # The user did not name this run and may not know the others.
            raise UnreadableRun(f"{error.line}; name another, see: httpdyno runs") from error
        raise
