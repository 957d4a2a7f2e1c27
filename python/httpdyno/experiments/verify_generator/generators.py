"""What can be verified: httpdyno's own generator, and the load tools that are installed."""

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from httpdyno.errors import HttpdynoError, SubjectUnavailable
from httpdyno.judge.tool_reports import read_tool_report
from httpdyno.judge.tool_reports.httpdyno_load import read_load_report
from httpdyno.model import Loop, Subject, ToolReport, format_cpus, format_exact
from httpdyno.subjects.build import Build, build_subjects, filled, find_build
from httpdyno.subjects.cache import tool_environment
from httpdyno.subjects.needs import why_unavailable
from httpdyno.subjects.template import Load, fill_template, loops_of

__all__ = ["OWN", "Generator", "available", "of_tool", "own_generator"]

OWN: Final = "httpdyno"


@dataclass(frozen=True, slots=True)
class Generator:
    """A load generator that can be run."""

    name: str
    version: str | None
    loops: tuple[Loop, ...]
    argv: Callable[[Load], tuple[str, ...]]
    read: Callable[[str, Loop], ToolReport]
    """From what it printed."""
    folder: Path = field(default_factory=Path.cwd)
    environment: Mapping[str, str] = field(default_factory=dict)


def own_generator(engine: Path, version: str, cpus: Collection[int]) -> Generator:
    """Return the engine's generator."""

    def argv(load: Load) -> tuple[str, ...]:
        rate = () if load.rate_per_s is None else ("--rate", format_exact(load.rate_per_s))
        return (
            *(str(engine), "load", load.url, "--connections", str(load.connections), *rate),
            *("--duration", f"{format_exact(load.duration_s)}s", "--timeout", f"{format_exact(load.timeout_s)}s"),
            *("--cpus", format_cpus(cpus), "--report", "-"),
        )

    both = (Loop.CLOSED, Loop.OPEN)
    return Generator(OWN, version, both, argv, read_load_report, environment=dict(os.environ))


def of_tool(build: Build) -> Generator:
    """Return a tool that is built."""
    tool = build.subject

    def argv(load: Load) -> tuple[str, ...]:
        command = fill_template(tool, load)
        return tuple(filled(part, folder=build.folder, target=build.place.target) for part in command)

    def read(text: str, _: Loop) -> ToolReport:
        return read_tool_report(tool.report_parser, text)

    environment = tool_environment(os.environ) | build.environment
    return Generator(tool.id, build.version, loops_of(tool), argv, read, build.folder, environment)


def available(tool: Subject, cache: Path) -> Build:
    """Find the build of a tool; one that takes no compiling is made at once.

    One that cannot be run raises ``SubjectUnavailable``, which says how to come by it.
    """
    if reason := why_unavailable(tool):
        raise SubjectUnavailable(reason.removeprefix(f"{tool.id}: "))
    if build := find_build(tool, cache):
        return build
    if tool.build_argv:
        raise SubjectUnavailable(f"not built yet; build it with: httpdyno subjects install {tool.id}")
    (outcome,) = build_subjects([tool], cache).values()
    if outcome.build is None:
        error: HttpdynoError | None = outcome.error
        raise SubjectUnavailable(error.line if error else "it cannot be prepared")
    return outcome.build
