"""Options that are no experiment's own, with the environment variables that do the same."""

from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.completion import (
    complete_formats,
    complete_runs,
    offering,
)

__all__ = [
    "Artifacts",
    "Columns",
    "Cpus",
    "Detach",
    "Format",
    "Install",
    "Limit",
    "OutputFolder",
    "Resume",
    "Seed",
    "SubjectFolders",
]

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
