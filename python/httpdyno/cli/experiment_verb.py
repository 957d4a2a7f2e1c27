"""Makes the verb of an experiment from its options: each field that is one becomes an option of the command line."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from httpdyno.cli.completion import (
    complete_http_versions,
    complete_links,
    complete_own_webs,
    complete_presets,
    complete_servers,
)
from httpdyno.cli.options import Cpus, Detach, Format, Install, OutputFolder, Resume, SubjectFolders
from httpdyno.experiments.options import OptionField, option_fields, read_options

if TYPE_CHECKING:
    from httpdyno.cli.running import Beginning
    from httpdyno.runs.pending import PendingRun
    from httpdyno.store import Run

__all__ = ["OF_EVERY_RUN", "BeginRun", "experiment_verb", "option_parameters", "verb_of"]

_Options = TypeVar("_Options")
BeginRun = Callable[["Beginning", Sequence[str] | None, _Options], "AbstractContextManager[PendingRun]"]
"""Begins a run of those that are named, with the options as they were read."""

_COMPLETIONS: Final[Mapping[str, Callable[..., list[str]]]] = {
    "--web": complete_own_webs,
    "--link": complete_links,
    "--peer": complete_servers,
    "--preset": complete_presets,
    "--http-version": complete_http_versions,
}
OF_EVERY_RUN: Final[Sequence[tuple[str, Any, object]]] = (
    ("install", Install, False),
    ("cpus", Cpus, None),
    ("format", Format, "table"),
    ("out", OutputFolder, Path("runs")),
    ("subjects", SubjectFolders, None),
    ("resume", Resume, None),
    ("detach", Detach, False),
)


def experiment_verb(
    options: type[_Options],
    begin: BeginRun[_Options],
    *,
    help: str,  # noqa: A002  # as click calls it
    named: str = "SUBJECT",
    names: str,
    complete_names: Callable[..., list[str]],
    completions: Mapping[str, Callable[..., list[str]]] = {},
    fetcher: bool = False,
    beside: "Callable[[Run], None] | None" = None,
) -> Callable[..., None]:
    """Return the function that Typer makes a verb of.

    Parameters
    ----------
    options : type
        A dataclass whose fields are marked with ``Option``.
    begin : callable
        Begins a run.
    help : str
        What the verb does.
    named, names : str
        As what subjects are named; who can be, and who is measured when nobody is.
    complete_names : callable
        Offers them.
    completions : mapping
        What is offered for an option, by its flag, beside what is usual.
    fetcher : bool
        Whether it is asked before all trials what the web can give at all.
    beside : callable, optional
        Leaves in the folder of the run whatever else belongs there.
    """

    def run(context: typer.Context, typed: Mapping[str, Any]) -> None:
        from httpdyno.cli.running import RunOptions, run_and_show

        def begun(beginning: "Beginning") -> "AbstractContextManager[PendingRun]":
            return begin(beginning, typed["names"], options(**read_options(options, typed)))

        of_run = RunOptions(**{name: typed[name] for name, _, _ in OF_EVERY_RUN}, yes=typed.get("yes", False))
        run_and_show(context, of_run, begun, fetcher=fetcher, beside=beside)

    argument = typer.Argument(metavar=named, help=names, autocompletion=complete_names)
    subjects = ("names", Annotated[list[str] | None, argument], None)
    return verb_of(run, [subjects, *option_parameters(options, completions), *OF_EVERY_RUN], help)


def verb_of(
    run: Callable[[typer.Context, Mapping[str, Any]], None],
    parameters: Sequence[tuple[str, Any, object]],
    help: str,  # noqa: A002
) -> Callable[..., None]:
    """Return a function with these parameters (name, annotation, default), which hands over what was typed by name."""

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


def option_parameters(
    options: type[Any], completions: Mapping[str, Callable[..., list[str]]] = {}
) -> list[tuple[str, Any, object]]:
    """Return the options of a dataclass as parameters; ``completions`` has what is offered beside what is usual."""
    offered = {**_COMPLETIONS, **completions}
    return [(one.option.parameter, _annotation(one, offered), one.default) for one in option_fields(options)]


def _annotation(one: OptionField, offered: Mapping[str, Callable[..., list[str]]]) -> Any:  # noqa: ANN401
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
            autocompletion=offered.get(option.flag),
            show_default=option.shown_default or True,
        ),
    ]
