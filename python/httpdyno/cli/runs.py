"""``httpdyno runs``: list, prune and pin stored runs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

from click import Context, pass_context

from httpdyno.cli.options import Format, RunName, RunsFolder, open_named_run
from httpdyno.cli.terminal import ask, print_tables, tell
from httpdyno.cli.verb import VerbGroup, is_given, parameters_of, verb
from httpdyno.errors import UsageError
from httpdyno.experiments.option_fields import Option
from httpdyno.lab.interruption import Interruption


def runs(context: Context, runs: RunsFolder = Path("runs"), format: Format = "table") -> None:  # noqa: A002
    """List the runs of a folder, the newest first; prune old runs, or pin runs to keep."""
    from httpdyno.runs.stored_runs import runs_table

    if verb := context.invoked_subcommand:
        for name in ("runs", "format"):
            if is_given(context, name, "COMMANDLINE"):
                raise UsageError(f"--{name} is an option of {verb}, too: write it behind: httpdyno runs {verb}")
        return
    table, complaints = runs_table(runs)
    print_tables([table], format)
    for complaint in complaints:
        tell(f"left out: {complaint}")
    if not table.rows:
        tell(f"{runs}: no runs in this folder; make one with: httpdyno bench")


@verb(
    "prune",
    examples=(
        ("httpdyno runs prune --keep 20", "all but the newest 20, after asking"),
        ("httpdyno runs prune --older 30d --size 2GB --dry-run", "print what would be removed"),
    ),
)
def prune(
    keep: Annotated[int | None, Option("--keep N", "Keep the newest N.", least=0)] = None,
    older: Annotated[str | None, Option("--older TIME", "Remove runs started longer ago: 30d, 12h.")] = None,
    size: Annotated[str | None, Option("--size SIZE", "Keep the newest runs that fit: 2GB, 500MiB.")] = None,
    artifacts: Annotated[
        bool, Option("--artifacts", "Remove only the artifacts of their trials; keep the runs and their results.")
    ] = False,
    yes: Annotated[bool, Option("--yes", "Remove without asking.")] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", "Print the runs that would be removed, without removing them.")
    ] = False,
    runs: RunsFolder = Path("runs"),
) -> None:
    """Remove the runs that are beyond a limit, after printing them and asking.

    Pinned and running runs stay and do not count. A run must be within all limits to stay.
    """
    from httpdyno.model import counted, format_size, parse_duration_ns, parse_size_bytes
    from httpdyno.runs.stored_runs import beyond, pruning_table, remove, stored_runs
    from httpdyno.store.folder import ARTIFACTS

    if keep is None and older is None and size is None:
        raise UsageError("runs prune requires a limit: --keep 20, --older 30d or --size 2GB")
    gone = beyond(
        stored_runs(runs, only=ARTIFACTS if artifacts else None),
        now=datetime.now(UTC),
        keep=keep,
        older=None if older is None else timedelta(microseconds=parse_duration_ns(older, name="--older") / 1000),
        size_bytes=None if size is None else parse_size_bytes(size, name="--size"),
    )
    if not gone:
        tell(f"{runs}: no run is beyond a limit")
        return
    print_tables([pruning_table(gone)], "table")
    if dry_run:
        return
    what = f"{'the artifacts of ' if artifacts else ''}{counted(len(gone), 'run')}"
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
        tell(f"{run.folder}: now in use by another process; not removed")


@verb(
    "pin",
    examples=(
        ("httpdyno runs pin latest", "exempt it from pruning"),
        ("httpdyno runs pin latest --remove", "allow pruning again"),
    ),
)
def pin(
    run: RunName,
    remove: Annotated[bool, Option("--remove", "Remove the pin.")] = False,
    runs: RunsFolder = Path("runs"),
) -> None:
    """Exempt a run from pruning."""
    from httpdyno.storage import storage_errors
    from httpdyno.store.folder import PINNED

    pinned = open_named_run(run, runs).folder / PINNED
    with storage_errors(f"{pinned}: cannot be written", folder=pinned.parent):
        if remove:
            pinned.unlink(missing_ok=True)
        else:
            pinned.touch()


app = VerbGroup(
    "runs",
    pass_context(runs),
    parameters_of(runs),
    runs.__doc__ or "",
    examples=(
        ("httpdyno runs", "all runs below runs/, the newest first"),
        ("httpdyno runs --format json | jq '.[0].run'", "the name of the newest"),
    ),
    commands=(prune, pin),
)
