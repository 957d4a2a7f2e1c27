"""Options and arguments that several verbs share, with their environment variables."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from click import Context, Parameter

from httpdyno.cli.completion import offer_formats, offer_runs
from httpdyno.cli.verb import Input, is_given, spelled_name
from httpdyno.errors import UnknownName, UnreadableRun, UsageError, suggestion

if TYPE_CHECKING:
    from httpdyno.store import Run

RUN_HELP: Final = "its folder, its name below the folder of runs, latest or previous"
LATEST: Final = "latest"


def known_format(context: Context, parameter: Parameter, name: str | None) -> str | None:
    """Raise ``UnknownName`` for an unknown format, before anything is measured."""
    if name is not None and not context.resilient_parsing and name not in (known := offer_formats(context)):
        raise UnknownName(f"{spelled_name(parameter, context)}: {name!r} is unknown; {suggestion(name, known)}")
    return name


def _folder(context: Context, _: Parameter, runs: Path) -> Path:
    """Raise ``UsageError`` when ``--runs`` names no folder; the default folder need not exist."""
    if runs.is_dir() or context.resilient_parsing or not is_given(context, "runs"):
        return runs
    what = "is not a folder" if runs.exists() else "does not exist"
    raise UsageError(f"--runs {runs}: {what}; name the folder that holds the runs")


Format = Annotated[
    str,
    Input(
        "--format FORMAT",
        "table, plain, json, csv or markdown.",
        environment="FORMAT",
        offers=offer_formats,
        check=known_format,
    ),
]
Limit = Annotated[
    int | None,
    Input(
        "--limit N", "Number of URLs. Default: all of a list, the first 2,000 of a web.", least=1, environment="LIMIT"
    ),
]
Cpus = Annotated[
    str | None, Input("--cpus SUBJECT[:ENGINE]", "CPUs of the subject and of the engine, such as 1:0 or 2-3:0,1.")
]
Columns = Annotated[
    str | None,
    Input(
        "--columns NAMES",
        "Columns to print: published, all, or names separated by commas. csv and json always have all.",
    ),
]
OutputFolder = Annotated[Path, Input("--out DIR", "Folder of runs; each run gets a folder of its own in it.")]
SubjectFolders = Annotated[list[Path] | None, Input("--subjects DIR", "Folder of further subjects; repeatable.")]
RunName = Annotated[str, Input("RUN", f"A run: {RUN_HELP}.", offers=offer_runs)]
RunsFolder = Annotated[Path, Input("--runs, --out DIR", "Folder of runs, as given to bench.", check=_folder)]
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
