"""The argument RUN of the verbs that read a run, and the folder in which they look for it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from httpdyno.cli.completion import complete_runs
from httpdyno.errors import UnreadableRun, UsageError

if TYPE_CHECKING:
    from httpdyno.store import Run

__all__ = ["LATEST", "RUN_HELP", "RunName", "RunsFolder", "open_named_run"]

RUN_HELP = "its folder, its name below the folder of runs, latest or previous"


def _folder(context: typer.Context, runs: Path) -> Path:
    """Refuse what was named and is no folder; where none was named, there may be no runs yet."""
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
    """Open the run that a user has named: a folder, the name of one below ``runs``, ``latest`` or ``previous``."""
    from httpdyno.store import RELATIVE_NAMES, find_run, open_run

    try:
        return open_run(find_run(name, runs))
    except UnreadableRun as error:
        if name in RELATIVE_NAMES:
            # Who has not named it cannot know which others there are.
            raise UnreadableRun(f"{error.line}; name another, see: httpdyno runs") from error
        raise
