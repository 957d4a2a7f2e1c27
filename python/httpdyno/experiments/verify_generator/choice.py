"""Which generators and cases a command asks for, and which of them can be had."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from httpdyno.errors import SubjectUnavailable
from httpdyno.experiments.verify_generator.cases import Case, find_cases
from httpdyno.experiments.verify_generator.generators import OWN, Generator, available, of_tool, own_generator
from httpdyno.experiments.verify_generator.run import Bench
from httpdyno.lab.engine import Engine
from httpdyno.model import SubjectKind
from httpdyno.subjects.cache import cache_folder
from httpdyno.subjects.catalogue import read_catalogue

__all__ = ["ALL", "Choice", "choose"]

ALL: Final = "all"
_OWN_AS_TOOL: Final = "httpdyno-load"
"""The same generator, as a subject among tools: verified once."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is to be run."""

    generators: tuple[Generator, ...]
    cases: tuple[Case, ...]
    unavailable: Mapping[str, str]
    """For each tool that was asked for and cannot be run: why."""
    answerable: frozenset[str]
    """Generators whose mistakes are the command's failure."""


def choose(tools: Iterable[str], cases: Iterable[str], bench: Bench, folders: Iterable[Path]) -> Choice:
    """Find what was asked for.

    ``all`` in ``tools`` is every tool there is; without any, httpdyno's own is taken, and without ``cases`` all of
    them. ``folders`` have further subjects.
    """
    named = tuple(dict.fromkeys(tools)) or (OWN,)
    catalogue = read_catalogue(folders)
    known = [OWN, *(tool.id for tool in catalogue.of_kind(SubjectKind.TOOL) if tool.id != _OWN_AS_TOOL)]
    wanted = known if ALL in named else named
    chosen_cases = find_cases(cases)
    subjects = {
        tool.id: tool for tool in catalogue.select_of_kind([name for name in wanted if name != OWN], SubjectKind.TOOL)
    }
    generators: list[Generator] = []
    unavailable: dict[str, str] = {}
    for name in wanted:
        if name == OWN:
            generators.append(own_generator(bench.engine, Engine(bench.engine).version(), bench.generator_cpus))
            continue
        try:
            generators.append(of_tool(available(subjects[name], cache_folder())))
        except SubjectUnavailable as error:
            unavailable[name] = error.line
    if not generators:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in unavailable.items())
        raise SubjectUnavailable(reasons)
    answerable = frozenset(named) if ALL not in named else frozenset({OWN, *named})
    return Choice(tuple(generators), chosen_cases, unavailable, answerable)
