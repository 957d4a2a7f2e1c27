"""``httpdyno doctor``: what this machine can and cannot do, what follows, and what would help."""

import json
from dataclasses import asdict
from typing import Annotated, Final

import typer
from rich.console import Console

from httpdyno.cli.completion import complete_fact_formats
from httpdyno.cli.terminal import results
from httpdyno.errors import InvalidValue
from httpdyno.model import Fact
from httpdyno.report.cell import without_controls

__all__ = ["doctor"]

_LABELS: Final = {"yes": ("ok", "green"), "limited": ("limited", "yellow"), "no": ("no", "red")}


def doctor(
    format: Annotated[  # noqa: A002
        str, typer.Option("--format", metavar="FORMAT", help="plain or json.", autocompletion=complete_fact_formats)
    ] = "plain",
) -> None:
    """Print what this machine can and cannot do, each fact with its consequence and its cure.

    The last line is the conclusion: ready, limited or cannot measure. Exit code 1 when no room can be made.
    """
    from httpdyno.lab.diagnosis import conclude, diagnose

    if format not in {"plain", "json"}:
        raise InvalidValue(f"--format: {format!r} is not known to doctor; known are: plain, json")
    facts = diagnose()
    conclusion = conclude(facts)
    console = results()
    if format == "json":
        console.out(json.dumps([asdict(fact) for fact in facts], indent=2))
    else:
        for fact in facts:
            _print(fact, console)
        console.out(without_controls(conclusion.line))
    if not conclusion.can_measure:
        raise typer.Exit(1)


def _print(fact: Fact, console: Console) -> None:
    label, colour = _LABELS[fact.ok]
    console.out(f"{label:8}", style=colour, end="")
    console.out(without_controls(f"{fact.name}: {_readable(fact.value)}"))
    for name in ("consequence", "cure"):
        if text := getattr(fact, name):
            console.out(without_controls(f"        {name}: {text}"))


def _readable(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(entry) for entry in value) or "none"
    return "not known" if value is None else str(value)
