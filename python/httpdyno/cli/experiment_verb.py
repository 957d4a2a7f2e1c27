"""Verbs of experiments: each option field of an experiment becomes an option of the command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

from click import Context, Parameter, pass_context

from httpdyno.cli.completion import offering, offering_kinds
from httpdyno.cli.options import Artifacts, Columns, Cpus, Detach, Format, Install, OutputFolder, Resume, SubjectFolders
from httpdyno.cli.verb import Input, VerbCommand, make_parameter
from httpdyno.experiments.options import Group, OptionField, Verb, option_fields, read_options
from httpdyno.model import SubjectKind

GROUPS: Final = tuple(map(str, Group))
"""The headings of options in help, in their order."""
_OF_EVERY_RUN: Final[Mapping[str, tuple[Any, object, Group]]] = {
    "install": (Install, False, Group.MACHINE),
    "cpus": (Cpus, None, Group.MACHINE),
    "format": (Format, "table", Group.RESULTS),
    "columns": (Columns, None, Group.RESULTS),
    "out": (OutputFolder, Path("runs"), Group.RESULTS),
    "artifacts": (Artifacts, "all", Group.RESULTS),
    "subjects": (SubjectFolders, None, Group.MACHINE),
    "resume": (Resume, None, Group.RUN),
    "detach": (Detach, False, Group.RUN),
}


def experiment_verb(verb: Verb) -> VerbCommand:
    """Return the command of an experiment's verb."""

    def run(context: Context, **typed: Any) -> None:  # noqa: ANN401
        from httpdyno.cli.running import RunOptions, run_and_show

        own = {name: typed.get(name, False) for name in ("yes", "verbose")}
        of_run = RunOptions(**{name: typed[name] for name in _OF_EVERY_RUN}, **own)
        # Read only for a new run: a resumed run has its options already.
        run_and_show(context, verb, of_run, typed["names"], lambda: verb.options(**read_options(verb.options, typed)))

    by_path = " A path such as ./benchmark names a folder of your own." if verb.kinds else ""
    names = Input(verb.named, verb.names + by_path, offers=offering_kinds(verb.kinds))
    parameters = [
        make_parameter("names", Annotated[list[str] | None, names], None),
        *option_parameters(verb.options),
        *run_parameters(*_OF_EVERY_RUN),
    ]
    return VerbCommand(verb.name, pass_context(run), parameters, verb.help, examples=verb.examples, groups=GROUPS)


def run_parameters(*names: str) -> Sequence[Parameter]:
    """Return the options of every measuring verb."""
    chosen = ((name, *_OF_EVERY_RUN[name]) for name in names)
    return [make_parameter(name, annotation, default, group) for name, annotation, default, group in chosen]


def option_parameters(options: type[Any]) -> Sequence[Parameter]:
    """Return the options of a dataclass as parameters."""
    return [
        make_parameter(one.option.parameter, Annotated[one.typed, _input(one)], one.default)
        for one in option_fields(options)
    ]


def _input(one: OptionField) -> Input:
    option = one.option
    offers = offering_kinds([option.offers]) if isinstance(option.offers, SubjectKind) else offering(option.offers)
    return Input(
        option.flag,
        option.help,
        metavar=option.metavar,
        environment=option.environment,
        least=option.least,
        most=option.most,
        shown_default=option.shown_default,
        offers=offers if option.offers else None,
        group=option.group,
    )
