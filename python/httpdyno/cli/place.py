"""Where a run is made, from what was typed: the engine, the CPUs, the cache, the command itself."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from httpdyno.credentials import without_credentials
from httpdyno.errors import InvalidValue
from httpdyno.lab.engine import Engine
from httpdyno.lab.location import find_engine
from httpdyno.lab.place import Place
from httpdyno.lab.room import Pinning
from httpdyno.model import format_cpus, parse_cpus
from httpdyno.subjects.cache import cache_folder

__all__ = ["make_place", "options_of_environment"]


def options_of_environment(context: typer.Context) -> tuple[str, ...]:
    """Return the options that variables of the environment have set, as they would be typed: ``("--limit", "500")``.

    The command of a run has them too: without them it would not repeat the run. ``FORMAT`` only decides how a table is
    printed.
    """
    given = [
        (parameter.opts[0], str(context.params[parameter.name]))
        for parameter in context.command.params
        if parameter.name is not None
        and parameter.name != "format"
        and (source := context.get_parameter_source(parameter.name)) is not None
        and source.name == "ENVIRONMENT"
    ]
    return tuple(word for option in given for word in option)


def make_place(
    cpus: str | None, runs: Path | None, *, environment: Sequence[str] = (), artifacts: str = "all"
) -> Place:
    """Find the engine and the cache; read ``--cpus SUBJECT[:ENGINE]``.

    ``environment`` holds options that were not typed and belong to the command all the same.
    """
    subject, _, engine = (cpus or "").partition(":")
    if cpus is not None and (not subject or cpus.endswith(":")):
        raise InvalidValue(f"--cpus: {cpus!r} is not understood; write it like 1:0 or 2-3:0,1")
    available = os.sched_getaffinity(0)
    for part in filter(None, (subject, engine)):
        if absent := parse_cpus(part, name="--cpus") - available:
            raise InvalidValue(f"--cpus: CPU {min(absent)} is not available here; choose from {format_cpus(available)}")
    return Place(
        engine=Engine(find_engine()),
        pinning=Pinning(subject or None, engine or None),
        cache=cache_folder(),
        runs=runs,
        command=("httpdyno", *map(without_credentials, (*sys.argv[1:2], *environment, *sys.argv[2:]))),
        artifacts=artifacts,
    )
