"""``httpdyno doctor``: what this machine can and cannot do, what follows, and what would help."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from httpdyno.cli.terminal import results
from httpdyno.report.cell import without_controls

__all__ = ["doctor"]


def doctor(
    format: Annotated[str, typer.Option("--format", metavar="FORMAT", help="plain or json.")] = "plain",  # noqa: A002
) -> None:
    """Print what this machine can and cannot do, each fact with its consequence and its cure."""
    import json

    from httpdyno.errors import InvalidValue
    from httpdyno.lab.diagnosis import diagnose

    if format not in {"plain", "json"}:
        raise InvalidValue(f"format: {format!r} is not known to doctor; known are: plain, json")
    facts = diagnose()
    console = results()
    if format == "json":
        console.out(json.dumps(facts, indent=2))
        return
    for fact in facts:
        _print(fact)


def _print(fact: Mapping[str, Any]) -> None:
    console = results()
    good = bool(fact.get("ok"))
    console.out("ok      " if good else "limited ", style="green" if good else "yellow", end="")
    console.out(without_controls(f"{fact['name']}: {_readable(fact.get('value'))}"))
    if good:
        return
    for label in ("consequence", "cure"):
        if fact.get(label):
            console.out(without_controls(f"        {label}: {fact[label]}"))


def _readable(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(entry) for entry in value) or "none"
    return "not known" if value is None else str(value)
