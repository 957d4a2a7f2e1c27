"""``httpdyno load`` as Typer knows it: for its help, and for words that are not plain."""

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from httpdyno.cli.completion import offering
from httpdyno.cli.ending import exit_code_of_typer
from httpdyno.cli.experiment_verb import verb_of
from httpdyno.cli.load_command import send_load
from httpdyno.cli.verb import VerbCommand
from httpdyno.experiments.load.options import VERB
from httpdyno.experiments.load.quick import Option
from httpdyno.experiments.load.words import LOAD_OPTIONS

__all__ = ["load", "run_by_typer"]

_TYPES: dict[str, Any] = {"text": str, "texts": list[str], "whole": int, "flag": bool}


def _annotation(option: Option) -> Any:  # noqa: ANN401
    typed = _TYPES[option.kind] | None if option.default is None else _TYPES[option.kind]
    if not option.spellings:
        return Annotated[typed, typer.Argument(metavar=option.metavar, help=option.help)]
    first, *others = option.spellings
    return Annotated[
        typed,
        typer.Option(
            f"{first}/{option.negation}" if option.negation else first,
            *others,
            metavar=option.metavar,
            help=option.help,
            envvar=option.variable,
            min=option.least,
            max=option.most,
            autocompletion=offering(option.offers) if option.offers else None,
            rich_help_panel=option.group,
        ),
    ]


def _send(_: typer.Context, typed: Mapping[str, Any]) -> None:
    send_load(typed)


load = verb_of(_send, [(one.name, _annotation(one), one.default) for one in LOAD_OPTIONS], VERB.help)


def run_by_typer() -> int:
    """Run the command that ``sys.argv`` holds, ``load`` first, when its words are not plain; return its exit code."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command(VERB.name, cls=VerbCommand, help=VERB.help)(load)
    return exit_code_of_typer(app, "httpdyno load", sys.argv[2:])
