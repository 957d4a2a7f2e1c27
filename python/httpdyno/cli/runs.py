"""``httpdyno runs``: what has been measured, and which of it stays."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from httpdyno.cli.options import Format, RunName, RunsFolder
from httpdyno.cli.terminal import check_format, print_table, tell
from httpdyno.cli.verb import VerbCommand, VerbGroup
from httpdyno.errors import UsageError
from httpdyno.lab.interruption import Interruption

app = typer.Typer(cls=VerbGroup, invoke_without_command=True)


@app.callback()
def runs(context: typer.Context, runs: RunsFolder = Path("runs"), format: Format = "table") -> None:  # noqa: A002
    """List the runs of a folder, the newest first; remove old ones, and pin those that stay."""
    from httpdyno.runs.past import runs_table

    if verb := context.invoked_subcommand:
        for name in ("runs", "format"):
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise UsageError(f"--{name} is an option of {verb}, too: write it behind: httpdyno runs {verb}")
        return
    check_format(format)
    table, complaints = runs_table(runs)
    print_table(table, format)
    for complaint in complaints:
        tell(f"left out: {complaint}")
    if not table.rows:
        tell(f"{runs}: there are no runs in it; make one with: httpdyno bench")


@app.command(cls=VerbCommand)
def prune(
    keep: Annotated[int | None, typer.Option("--keep", metavar="N", min=0, help="Keep the newest N.")] = None,
    older: Annotated[
        str | None, typer.Option("--older", metavar="TIME", help="Remove those that were started longer ago: 30d, 12h.")
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", metavar="SIZE", help="Keep as many of the newest as fit: 2GB, 500MiB.")
    ] = None,
    artifacts: Annotated[
        bool, typer.Option("--artifacts", help="Remove only what their trials wrote; the runs and their results stay.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would go, and remove nothing.")] = False,
    runs: RunsFolder = Path("runs"),
) -> None:
    """Remove the runs that are beyond a limit, after printing them and asking.

    A run that is pinned, or that a process is making, stays, and is in no count. Several limits hold together.
    """
    from httpdyno.cli.terminal import ask
    from httpdyno.model import format_size, parse_duration_ns, parse_size_bytes
    from httpdyno.runs.pruning import Limits, beyond, pruning_table, remove, stored_runs
    from httpdyno.store.folder import ARTIFACTS

    if keep is None and older is None and size is None:
        raise UsageError("runs prune: say what may stay: --keep 20, --older 30d or --size 2GB")
    limits = Limits(
        keep,
        None if older is None else timedelta(microseconds=parse_duration_ns(older, name="--older") / 1000),
        None if size is None else parse_size_bytes(size, name="--size"),
    )
    gone = beyond(stored_runs(runs, only=ARTIFACTS if artifacts else None), limits, now=datetime.now(UTC))
    if not gone:
        tell(f"{runs}: no run is beyond a limit")
        return
    print_table(pruning_table(gone), "table")
    if dry_run:
        return
    count = "1 run" if len(gone) == 1 else f"{len(gone):,} runs"
    what = f"what the trials of {count} wrote" if artifacts else count
    with Interruption() as interruption:
        ask(
            [f"{what}, {format_size(sum(run.size_bytes for run, _ in gone))}, will be removed from {runs}"],
            interruption,
            agreed=yes,
            asks="runs prune asks before it removes",
            declined="nothing was removed",
        )
        stayed = remove([run for run, _ in gone], only=ARTIFACTS if artifacts else None)
    for run in stayed:
        tell(f"{run.folder}: a process took it up meanwhile; it stays")


@app.command(cls=VerbCommand)
def pin(
    run: RunName,
    remove: Annotated[bool, typer.Option("--remove", help="Take the pin away.")] = False,
    runs: RunsFolder = Path("runs"),
) -> None:
    """Keep a run from being pruned."""
    from httpdyno.cli.options import open_named_run
    from httpdyno.storage import storage_errors
    from httpdyno.store.folder import PINNED

    pinned = open_named_run(run, runs).folder / PINNED
    with storage_errors(f"{pinned}: cannot be written", folder=pinned.parent):
        if remove:
            pinned.unlink(missing_ok=True)
        else:
            pinned.touch()
