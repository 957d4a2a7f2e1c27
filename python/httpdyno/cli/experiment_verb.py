"""Verbs of experiments: each option field of an experiment becomes an option of the command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, get_args

from click import Context, Parameter, pass_context

from httpdyno.cli.completion import offer_runs, offering_kinds
from httpdyno.cli.options import Columns, Cpus, Format, OutputFolder, SubjectFolders
from httpdyno.cli.verb import Input, VerbCommand, make_parameter
from httpdyno.experiments.options import Group, Verb, option_fields

GROUPS: Final = tuple(map(str, Group))
"""The headings of options in help, in their order."""
_INSTALL: Final = Input("--install", "First install what the subjects need, as `httpdyno subjects install` does.")
_ARTIFACTS: Final = Input(
    "--artifacts TRIALS",
    "Keep the artifacts of trials, up to 64 MiB a run, for `httpdyno judge`: of all, failed or none.",
    offers=("all", "failed", "none"),
)
_RESUME: Final = Input(
    "--resume RUN", "Resume a stopped run: its folder, its name below --out, latest or previous.", offers=offer_runs
)
_DETACH: Final = Input("--detach", "Run in the background, even after this terminal closes; print the folder.")
_OF_EVERY_RUN: Final[Mapping[str, tuple[Any, Input, object, Group]]] = {
    "install": (bool, _INSTALL, False, Group.MACHINE),
    "cpus": (*get_args(Cpus), None, Group.MACHINE),
    "format": (*get_args(Format), "table", Group.RESULTS),
    "columns": (*get_args(Columns), None, Group.RESULTS),
    "out": (*get_args(OutputFolder), Path("runs"), Group.RESULTS),
    "artifacts": (str, _ARTIFACTS, "all", Group.RESULTS),
    "subjects": (*get_args(SubjectFolders), None, Group.MACHINE),
    "resume": (str, _RESUME, None, Group.RUN),
    "detach": (bool, _DETACH, False, Group.RUN),
}


def experiment_verb(verb: Verb) -> VerbCommand:
    """Return the command of an experiment's verb."""

    def run(context: Context, **_: object) -> None:
        from httpdyno.cli.running import run_and_show

        run_and_show(context, verb)

    by_path = " A path such as ./benchmark names a folder of your own." if verb.kinds else ""
    names = Input(verb.named, verb.names + by_path, offers=offering_kinds(verb.kinds))
    parameters = [
        make_parameter("names", list[str], names, None),
        *option_parameters(verb.options),
        *run_parameters(*_OF_EVERY_RUN),
    ]
    return VerbCommand(verb.name, pass_context(run), parameters, verb.help, examples=verb.examples, groups=GROUPS)


def run_parameters(*names: str) -> Sequence[Parameter]:
    """Return the options of every measuring verb."""
    return [make_parameter(name, *_OF_EVERY_RUN[name]) for name in names]


def option_parameters(options: type[Any]) -> Sequence[Parameter]:
    """Return the options of a dataclass as parameters."""
    return [make_parameter(one.option.parameter, one.typed, one.option, one.default) for one in option_fields(options)]
