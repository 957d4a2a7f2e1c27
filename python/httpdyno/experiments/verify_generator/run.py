"""Checks load generators: selects generators, cases and CPUs, runs them, and builds the table of results."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Final

from httpdyno.errors import HttpdynoError, Interrupted, InvalidValue, NothingMeasured, SubjectUnavailable
from httpdyno.experiments.verify_generator.cases import CONNECTIONS, Case, find_cases
from httpdyno.judge.generator import (
    FIGURES,
    LEAST_BEYOND,
    RELATIVE,
    Judgement,
    allowed_ns,
    judge_report,
    why_not_judged,
    why_not_usable,
)
from httpdyno.judge.tool_reports import read_tool_report
from httpdyno.lab.calibrator import Calibrator, measure_overhead_ns
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.load_tool import run_load_tool
from httpdyno.model import (
    Cell,
    Column,
    ColumnKind,
    Loop,
    Note,
    Outcome,
    Subject,
    SubjectKind,
    Table,
    ToolReport,
    format_cpus,
    format_exact,
    parse_cpus,
)
from httpdyno.subjects.build import build_subjects, find_build
from httpdyno.subjects.cache import cache_folder, tool_environment
from httpdyno.subjects.catalogue import read_catalogue
from httpdyno.subjects.engine_program import find_engine
from httpdyno.subjects.needs import why_unavailable
from httpdyno.subjects.template import Load, fill_template, loops_of

ALL: Final = "all"
OWN: Final = "httpdyno"
_OWN_AS_TOOL: Final = "httpdyno-load"
"""Our own generator, as a subject among the tools; it is checked only once."""
ATTEMPTS: Final = 3
"""Most runs of a case, until the server behaved as planned, and a wrong report was confirmed."""
_WRONG_TIMES: Final = 2
"""Wrong reports needed for a verdict: a virtual machine may have been stopped for longer than its counters show."""
_GRACE_S: Final = 60.0
"""Time of a tool beyond the duration: it starts, waits for requests in flight, and computes its report."""
_TIMEOUT_S: Final = 30.0
"""Timeout of one request: longer than any answer takes."""
_LEAST_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Generator:
    """A load generator that can be run."""

    name: str
    version: str | None
    loops: tuple[Loop, ...]
    argv: Callable[[Load], Sequence[str]]
    read: Callable[[str], ToolReport]
    """Parse the report that it printed."""
    folder: Path = field(default_factory=Path.cwd)
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bench:
    """The engine and the CPUs of all runs."""

    engine: Path
    server_cpus: Collection[int]
    generator_cpus: Collection[int]
    duration_s: float
    overhead_ns: int
    """Round-trip time without the server's own time."""
    interruption: Interruption


@dataclass(frozen=True, slots=True)
class Step:
    """One run."""

    generator: Generator
    case: Case
    loop: Loop

    def __str__(self) -> str:
        """Name it: ``stall, wrk, closed loop``."""
        return f"{self.case.name}, {self.generator.name}, {self.loop} loop"


@dataclass(frozen=True, slots=True)
class Verified:
    """Result of one run."""

    step: Step
    judgement: Judgement | None = None
    waited_p99_ns: int | None = None
    """Closed loop: the 99th percentile of the wait of users who arrive on the case's schedule."""
    reason: str | None = None
    """Why there is no judgement; None if there is one."""
    disturbed: bool = False
    """Whether there is no judgement because other programs used the CPUs."""

    @property
    def right(self) -> bool | None:
        """Whether all figures are right; None if unknown."""
        return self.judgement.right if self.judgement else None

    @property
    def verdict(self) -> str:
        """``right``, ``NOT_JUDGED``, or the figure with the largest error."""
        if self.judgement is not None and self.judgement.worst is not None:
            return str(self.judgement.worst)
        return "right" if self.right else "NOT_JUDGED"


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen generators and cases."""

    generators: tuple[Generator, ...]
    cases: tuple[Case, ...]
    unavailable: Mapping[str, str]
    """Requested tools that cannot be run, with the reasons."""
    answerable: frozenset[str]
    """Generators whose errors make the command fail."""


def choose(tools: Iterable[str], cases: Iterable[str], bench: Bench, folders: Iterable[Path]) -> Choice:
    """Find the generators and cases by name.

    ``all`` in ``tools`` selects every tool. Default: our own generator and all ``cases``. ``folders`` have further
    subjects.
    """
    named = tuple(dict.fromkeys(tools)) or (OWN,)
    catalogue, chosen_cases = read_catalogue(folders), find_cases(cases)
    known = [OWN, *(tool.id for tool in catalogue.of_kind(SubjectKind.TOOL) if tool.id != _OWN_AS_TOOL)]
    wanted = known if ALL in named else named
    others = [name for name in wanted if name != OWN]
    subjects = {tool.id: tool for tool in catalogue.select_of_kind(others, SubjectKind.TOOL)}
    generators: list[Generator] = []
    unavailable: dict[str, str] = {}
    for name in wanted:
        try:
            generators.append(_own_generator(bench) if name == OWN else _tool_generator(subjects[name]))
        except SubjectUnavailable as error:
            unavailable[name] = error.reason
    if not generators:
        raise SubjectUnavailable("; ".join(f"{name}: {reason}" for name, reason in unavailable.items()))
    answerable = frozenset({OWN, *named} if ALL in named else named)
    return Choice(tuple(generators), chosen_cases, unavailable, answerable)


def _own_generator(bench: Bench) -> Generator:
    def argv(load: Load) -> Sequence[str]:
        rate = () if load.rate_per_s is None else ("--rate", format_exact(load.rate_per_s))
        return (
            *(str(bench.engine), "load", load.url, "--connections", str(load.connections), *rate),
            *("--duration", f"{format_exact(load.duration_s)}s", "--timeout", f"{format_exact(load.timeout_s)}s"),
            # The server is on this machine, and proxies are about others.
            *("--no-proxy", "*", "--cpus", format_cpus(bench.generator_cpus), "--report", "-"),
        )

    version, read = Engine(bench.engine).version(), partial(read_tool_report, _OWN_AS_TOOL)
    return Generator(OWN, version, (Loop.CLOSED, Loop.OPEN), argv, read, environment=dict(os.environ))


def _tool_generator(tool: Subject) -> Generator:
    """Return a tool, ready to run; one without a compiler is built at once.

    Raises
    ------
    SubjectUnavailable
        If it cannot be run; the message says how to install it.
    """
    if error := why_unavailable(tool):
        raise error
    build = find_build(tool, cache_folder())
    if build is None:
        if tool.build_argv:
            raise SubjectUnavailable(f"not built yet; build it with: httpdyno subjects install {tool.id}")
        (outcome,) = build_subjects([tool], cache_folder()).values()
        if outcome.build is None:
            raise outcome.error or SubjectUnavailable("it cannot be prepared")
        build = outcome.build
    place = build.place

    def argv(load: Load) -> Sequence[str]:
        return [place.filled(part) for part in fill_template(tool, load)]

    read = partial(read_tool_report, tool.report_parser)
    environment = tool_environment() | build.environment
    return Generator(tool.id, build.version, loops_of(tool), argv, read, build.folder, environment)


def steps(generators: Sequence[Generator], cases: Sequence[Case]) -> tuple[Step, ...]:
    """List the runs case by case, so that comparable figures are adjacent."""
    return tuple(
        Step(generator, case, loop)
        for case, generator in product(cases, generators)
        for loop in case.loops
        if loop in generator.loops
    )


def verify(planned: Sequence[Step], bench: Bench, tell: Callable[[Step], None]) -> Iterator[Verified]:
    """Run the steps in order; the failure of a tool is a result. ``tell`` is called before each step."""
    for step in planned:
        tell(step)
        yield until_judged(partial(_run, step, bench))


def until_judged(once: Callable[[], Verified]) -> Verified:
    """Repeat a run while it is disturbed, or wrong for the first time.

    Return the first run that is right or impossible; else the second wrong run; else a disturbed one.
    """
    found: list[Verified] = []
    for _ in range(ATTEMPTS):
        found.append(once())
        wrong = sum(verified.right is False for verified in found)
        if wrong == _WRONG_TIMES or not (found[-1].disturbed or found[-1].right is False):
            return found[-1]
    return next(verified for verified in found if verified.disturbed)


def _run(step: Step, bench: Bench) -> Verified:
    case, loop, duration_s, generator = step.case, step.loop, bench.duration_s, step.generator
    try:
        with Calibrator(bench.engine, case.behaviour(duration_s), bench.server_cpus) as calibrator:
            load = Load(
                url=calibrator.url,
                connections=CONNECTIONS[loop],
                duration_s=duration_s,
                requests=case.requests(loop, duration_s),
                rate_per_s=case.rate_per_s if loop is Loop.OPEN else None,
                timeout_s=_TIMEOUT_S,
            )
            ran = run_load_tool(
                generator.argv(load),
                folder=generator.folder,
                environment=generator.environment,
                cpus=bench.generator_cpus,
                deadline_s=duration_s + _GRACE_S,
                interruption=bench.interruption,
            )
            record = calibrator.stop()
        report = generator.read(ran.text)
    except Interrupted:
        raise
    except HttpdynoError as error:
        return Verified(step, reason=error.line)
    if reason := case.why_excluded(record):
        return Verified(step, reason=reason)
    if reason := why_not_judged(record, foreign_share=ran.foreign_share):
        return Verified(step, reason=reason, disturbed=True)
    truth = case.truth(loop, duration_s, record=record, report=report, overhead_ns=bench.overhead_ns)
    judgement = judge_report(
        report,
        truth.times,
        connections=CONNECTIONS[loop],
        sent=record.requests if truth.expected is not None else None,
        expected=truth.expected,
    )
    if reason := why_not_usable(judgement, record, foreign_share=ran.foreign_share):
        return Verified(step, reason=reason, disturbed=True)
    return Verified(step, judgement, case.waited_ns(0.99, duration_s) if loop is Loop.CLOSED else None)


def make_bench(cpus: str | None, duration_s: float, interruption: Interruption) -> Bench:
    """Find the engine and the CPUs, and measure a round trip."""
    if duration_s < _LEAST_S:
        raise InvalidValue(f"--duration: {duration_s:g} s are too short for a measurement; write {_LEAST_S:g}s or more")
    generator, server = divide_cpus(cpus, os.sched_getaffinity(0))
    engine = find_engine()
    overhead_ns = measure_overhead_ns(engine, server_cpus=server, client_cpus=generator)
    return Bench(engine, server, generator, duration_s, overhead_ns, interruption)


def divide_cpus(cpus: str | None, available: Collection[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the CPUs of the generator and, separate from them, those of the server.

    ``cpus`` is the option's text: ``1``, ``1:0``, ``2-3:0``. By default the server gets the first free CPU, and the
    generator the next one.
    """
    if len(available) == 1:
        raise NothingMeasured(
            "a generator and a server need a CPU each; this process may use one only; give it another"
        )
    named, _, behind = (cpus or "").partition(":")
    if cpus is not None and (not named or cpus.endswith(":")):
        raise InvalidValue(f"--cpus: {cpus!r} is not understood; write it like 1:0 or 2-3:0")
    generator, server = (
        frozenset(parse_cpus(text, name="--cpus")) if text else frozenset[int]() for text in (named, behind)
    )
    if absent := (generator | server) - frozenset(available):
        raise InvalidValue(f"--cpus: CPU {min(absent)} is not available here; choose from {format_cpus(available)}")
    free = sorted(frozenset(available) - generator - server)
    if not server:
        server, free = frozenset(free[:1]), free[1:]
    generator = generator or frozenset(free[:1])
    if not generator or not server or generator & server:
        raise InvalidValue("--cpus: the generator and the server need CPUs of their own; write it like 1:0")
    return generator, server


_NAMES: Final = ("mean", *FIGURES)
_HIDDEN: Final = frozenset({"p90", "p95"})
"""Figures that are judged but hidden, because the table would be too wide."""
_MEASURED: Final = {Loop.OPEN: "response time", Loop.CLOSED: "service time"}
_figure_column: Final = partial(Column, kind=ColumnKind.NUMBER, unit="ms")
_COLUMNS: Final = (
    Column("case", description="server with known behaviour"),
    Column("method", description="generator"),
    Column("version", shown=False),
    Column("loop", description="open or closed"),
    Column("held_to", description="the true times with which its times are compared", shown=False),
    *(
        _figure_column(name + suffix, description=f"{figure} that it {reports}", shown=name not in _HIDDEN)
        for name in _NAMES
        for figure in ["mean" if name == "mean" else f"{name[1:]}th percentile"]
        for suffix, reports in (("", "reports"), ("True", "should report"))
    ),
    _figure_column("p99_waited_ms", description="closed loop: 99th percentile of the wait of users on a schedule"),
    Column("verdict", description="right, or the figure with the largest error"),
)


def verified_table(
    results: Sequence[Verified], *, unavailable: Mapping[str, str], duration_s: float, overhead_ns: int
) -> Table:
    """Return a row for each result, in order, and for each unavailable tool.

    ``unavailable`` has the reasons of these tools. ``overhead_ns`` is added to the server's own times.
    """
    cells = list(map(_cells, results))
    cells += ({"method": name, "verdict": str(Outcome.UNAVAILABLE)} for name in unavailable)
    reasons = (*(verified.reason for verified in results), *unavailable.values())
    how = (
        f"milliseconds; {duration_s:g} s for each row;"
        f" right is within {RELATIVE:.0%} and {allowed_ns('p99') / 1e6:g} ms (p99.9: {allowed_ns('p99.9') / 1e6:g} ms);"
        f" a percentile that fewer than {LEAST_BEYOND} requests exceed is not judged;"
        f" a round trip adds {overhead_ns / 1e6:.3f} ms to the server's own times"
    )
    notes = (Note(how), *(Note(reason, place) for place, reason in enumerate(reasons) if reason))
    rows = tuple(tuple(row.get(column.name) for column in _COLUMNS) for row in cells)
    return Table(_COLUMNS, rows, notes=notes)


def _cells(verified: Verified) -> dict[str, Cell]:
    step, judgement = verified.step, verified.judgement
    cells: dict[str, Cell] = {
        "case": step.case.name,
        "method": step.generator.name,
        "version": step.generator.version,
        "loop": str(step.loop),
        "held_to": _MEASURED[step.loop],
        "p99_waited_ms": _ms(verified.waited_p99_ns),
        "verdict": verified.verdict,
    }
    for finding in filter(None, map(judgement.of, _NAMES)) if judgement else ():
        cells |= {finding.name: _ms(finding.reported), f"{finding.name}True": _ms(finding.truth)}
    return cells


def _ms(time_ns: float | None) -> float | None:
    """Return milliseconds with three significant digits."""
    return None if time_ns is None else float(f"{time_ns / 1e6:.3g}")
