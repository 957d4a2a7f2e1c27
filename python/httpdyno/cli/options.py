"""Options and arguments that several verbs share, with their environment variables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from click import Context, Parameter

from httpdyno.cli.completion import offer_formats, offer_runs, offering
from httpdyno.cli.verb import Input
from httpdyno.errors import UnreadableRun, UsageError

if TYPE_CHECKING:
    from httpdyno.store import Run


Limit = Annotated[
    int | None,
    Input(
        "--limit",
        metavar="N",
        least=1,
        environment="LIMIT",
        help="Number of URLs. Default: all of a list, the first 2,000 of a web.",
    ),
]
Seed = Annotated[
    int | None,
    Input(
        "--seed",
        metavar="N",
        least=0,
        most=2**64 - 1,
        help="Seed of the web and of the order of trials.",
        shown_default="the web's own",
    ),
]


Resume = Annotated[
    str | None,
    Input(
        "--resume",
        metavar="RUN",
        help="Resume a stopped run: its folder, its name below --out, latest or previous.",
        offers=offer_runs,
    ),
]
Detach = Annotated[
    bool, Input("--detach", help="Run in the background, even after this terminal closes; print the folder.")
]
Cpus = Annotated[
    str | None,
    Input("--cpus", metavar="SUBJECT[:ENGINE]", help="CPUs of the subject and of the engine, such as 1:0 or 2-3:0,1."),
]
Format = Annotated[
    str,
    Input(
        "--format",
        environment="FORMAT",
        metavar="FORMAT",
        help="table, plain, json, csv or markdown.",
        offers=offer_formats,
    ),
]
Columns = Annotated[
    str | None,
    Input(
        "--columns",
        metavar="NAMES",
        help="Columns to print: published, all, or names separated by commas. csv and json always have all.",
    ),
]
Artifacts = Annotated[
    str,
    Input(
        "--artifacts",
        metavar="TRIALS",
        help="Keep the artifacts of trials, up to 64 MiB a run, for `httpdyno judge`: of all, failed or none.",
        offers=offering(("all", "failed", "none")),
    ),
]
OutputFolder = Annotated[
    Path, Input("--out", metavar="DIR", help="Folder of runs; each run gets a folder of its own in it.")
]
SubjectFolders = Annotated[
    list[Path] | None,
    Input("--subjects", metavar="DIR", help="Folder of further subjects; repeatable."),
]
Install = Annotated[
    bool, Input("--install", help="First install what the subjects need, as `httpdyno subjects install` does.")
]


RUN_HELP = "its folder, its name below the folder of runs, latest or previous"


def _folder(context: Context, _: Parameter, runs: Path) -> Path:
    """Raise ``UsageError`` when ``--runs`` names no folder; the default folder need not exist."""
    source = context.get_parameter_source("runs")
    if source is None or source.name == "DEFAULT" or runs.is_dir():
        return runs
    what = "is not a folder" if runs.exists() else "does not exist"
    raise UsageError(f"--runs {runs}: {what}; name the folder that holds the runs")


LATEST: Final = "latest"
RunName = Annotated[str, Input("RUN", help=f"A run: {RUN_HELP}.", offers=offer_runs)]
RunsFolder = Annotated[
    Path,
    Input("--runs, --out", metavar="DIR", help="Folder of runs, as given to bench.", check=_folder),
]
"""The parameter must be called ``runs``: completion reads the folder from it."""


def open_named_run(name: str, runs: Path) -> "Run":
    """Open the run of a name: a folder, the name of one below ``runs``, ``latest`` or ``previous``."""
    from httpdyno.store import RELATIVE_NAMES, find_run, open_run

    try:
        return open_run(find_run(name, runs))
    except UnreadableRun as error:
        if name in RELATIVE_NAMES:
            # The user named `latest` or `previous`, and may not know the other runs.
            raise UnreadableRun(f"{error.line}; name another, see: httpdyno runs") from error
        raise
