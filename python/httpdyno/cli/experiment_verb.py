"""Verbs of experiments: each option field of an experiment becomes an option of the command line."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from httpdyno.cli.completion import naming, offering
from httpdyno.cli.options import Artifacts, Columns, Cpus, Detach, Format, Install, OutputFolder, Resume, SubjectFolders
from httpdyno.experiments.options import OptionField, option_fields, read_options
from httpdyno.experiments.verb import Verb

_OF_EVERY_RUN: Final[Sequence[tuple[str, Any, object]]] = (
    ("install", Install, False),
    ("cpus", Cpus, None),
    ("format", Format, "table"),
    ("columns", Columns, None),
    ("out", OutputFolder, Path("runs")),
    ("artifacts", Artifacts, "all"),
    ("subjects", SubjectFolders, None),
    ("resume", Resume, None),
    ("detach", Detach, False),
)


def experiment_verb(verb: Verb) -> Callable[..., None]:
    """Return the Typer function of an experiment's verb."""

    def run(context: typer.Context, typed: Mapping[str, Any]) -> None:
        from httpdyno.cli.running import RunOptions, run_and_show

        own = {name: typed.get(name, False) for name in ("yes", "verbose")}
        of_run = RunOptions(**{name: typed[name] for name, _, _ in _OF_EVERY_RUN}, **own)
        # Read when there is something to begin: what goes on has its options already.
        run_and_show(
            context, verb, of_run, typed["names"] or (), lambda: verb.options(**read_options(verb.options, typed))
        )

    by_path = " A path such as ./benchmark names a folder of your own." if verb.kinds else ""
    argument = typer.Argument(metavar=verb.named, help=verb.names + by_path, autocompletion=naming(verb.kinds))
    subjects = ("names", Annotated[list[str] | None, argument], None)
    return verb_of(run, [subjects, *option_parameters(verb.options), *_OF_EVERY_RUN], verb.help)


def verb_of(
    run: Callable[[typer.Context, Mapping[str, Any]], None],
    parameters: Sequence[tuple[str, Any, object]],
    help: str,  # noqa: A002  # as click calls it
) -> Callable[..., None]:
    """Return a function with these parameters (name, annotation, default) that passes the arguments on by name."""

    def verb(context: typer.Context, **typed: Any) -> None:  # noqa: ANN401
        run(context, typed)

    taken = [("context", typer.Context, inspect.Parameter.empty), *parameters]
    verb.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # which inspect reads
        [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)
            for name, annotation, default in taken
        ]
    )
    verb.__annotations__ = {name: annotation for name, annotation, _ in taken}
    verb.__doc__ = help
    return verb


def option_parameters(options: type[Any]) -> list[tuple[str, Any, object]]:
    """Return the options of a dataclass as parameters."""
    return [(one.option.parameter, _annotation(one), one.default) for one in option_fields(options)]


def _annotation(one: OptionField) -> Any:  # noqa: ANN401
    option = one.option
    return Annotated[
        one.typed,
        typer.Option(
            option.flag,
            metavar=option.metavar,
            help=option.help,
            envvar=option.environment,
            min=option.least,
            max=option.most,
            autocompletion=offering(option.offers) if option.offers else None,
            show_default=option.shown_default or True,
            rich_help_panel=option.group,
        ),
    ]
