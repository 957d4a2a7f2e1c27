"""Options and arguments that several verbs share, and the verbs of experiments, which are made of their options."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from click import Context, Parameter, pass_context

from httpdyno.cli.completion import offer_formats, offer_runs, offering_kinds
from httpdyno.cli.verb import VerbCommand, is_given, make_parameter, option_parameters, spelled_name
from httpdyno.errors import UnknownName, UnreadableRun, UsageError, suggestion
from httpdyno.experiments.option_fields import Group, Option, option

if TYPE_CHECKING:
    from httpdyno.experiments.options import Verb
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
    Option(
        "--format FORMAT",
        "table, plain, json, csv or markdown.",
        environment="FORMAT",
        offers=offer_formats,
        check=known_format,
        group=Group.RESULTS,
    ),
]
Cpus = Annotated[
    str | None,
    Option(
        "--cpus SUBJECT[:ENGINE]", "CPUs of the subject and of the engine, such as 1:0 or 2-3:0,1.", group=Group.MACHINE
    ),
]
OutputFolder = Annotated[
    Path, Option("--out DIR", "Folder of runs; each run gets a folder of its own in it.", group=Group.RESULTS)
]
SubjectFolders = Annotated[
    list[Path] | None, Option("--subjects DIR", "Folder of further subjects; repeatable.", group=Group.MACHINE)
]
COLUMNS: Final = Option(
    "--columns NAMES",
    "Columns to print: published, all, or names separated by commas. csv and json always have all.",
    group=Group.RESULTS,
)
RunName = Annotated[str, Option("RUN", f"A run: {RUN_HELP}.", offers=offer_runs)]
RunsFolder = Annotated[Path, Option("--runs, --out DIR", "Folder of runs, as given to bench.", check=_folder)]
"""The parameter must be called ``runs``: completion reads the folder from it."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Options of every verb that makes a run."""

    install: bool = option(
        False,
        "--install",
        "First install what the subjects need, as `httpdyno subjects install` does.",
        group=Group.MACHINE,
    )
    cpus: Cpus = None
    format: Format = "table"
    columns: Annotated[str | None, COLUMNS] = None
    out: OutputFolder = Path("runs")
    artifacts: str = option(
        "all",
        "--artifacts TRIALS",
        "Keep the artifacts of trials, up to 64 MiB a run, for `httpdyno judge`: of all, failed or none.",
        offers=("all", "failed", "none"),
        group=Group.RESULTS,
    )
    subjects: SubjectFolders = None
    resume: str | None = option(
        None,
        "--resume RUN",
        "Resume a stopped run: its folder, its name below --out, latest or previous.",
        offers=offer_runs,
        group=Group.RUN,
    )
    detach: bool = option(
        False, "--detach", "Run in the background, even after this terminal closes; print the folder.", group=Group.RUN
    )


GROUPS: Final = tuple(map(str, Group))
"""The headings of options in help, in their order."""


def experiment_verb(verb: "Verb") -> VerbCommand:
    """Return the command of an experiment's verb."""

    def run(context: Context, **_: object) -> None:
        from httpdyno.cli.running import run_and_show

        run_and_show(context, verb)

    by_path = " A path such as ./benchmark names a folder of your own." if verb.kinds else ""
    names = Option(verb.named, verb.names + by_path, offers=offering_kinds(verb.kinds))
    parameters = [
        make_parameter("names", list[str], names, None),
        *option_parameters(verb.options),
        *option_parameters(RunOptions),
    ]
    return VerbCommand(verb.name, pass_context(run), parameters, verb.help, examples=verb.examples, groups=GROUPS)


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
