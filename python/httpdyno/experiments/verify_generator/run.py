"""Runs the checks of the generator: which ones, with which generators, and where; and the table of what they found."""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
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
from httpdyno.judge.tool_reports.httpdyno_load import read_load_report
from httpdyno.lab.calibrator import Calibrator, measure_overhead_ns
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.load_tool import LoadToolRun, run_load_tool
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
from httpdyno.subjects.build import Build, build_subjects, filled, find_build
from httpdyno.subjects.cache import cache_folder, tool_environment
from httpdyno.subjects.catalogue import read_catalogue
from httpdyno.subjects.engine_program import find_engine
from httpdyno.subjects.needs import why_unavailable
from httpdyno.subjects.template import Load, fill_template, loops_of

__all__ = [
    "Bench",
    "Generator",
    "Step",
    "Verified",
    "choose",
    "divide_cpus",
    "make_bench",
    "steps",
    "until_judged",
    "verdict_of",
    "verified_table",
    "verify",
]

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


ATTEMPTS: Final = 3
"""How often a case is tried until the server behaved as known, and what is wrong was so twice."""
_WRONG_TIMES: Final = 2
"""How often a report must be wrong to be called so: a virtual machine may be stopped for less than counters tell."""
_GRACE_S: Final = 60.0
"""What a tool may take beyond the duration: it starts, waits for what is under way, adds up."""
_TIMEOUT_S: Final = 30.0
"""Of one request: longer than any answer takes."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where it happens."""

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
    """What came of one run."""

    step: Step
    judgement: Judgement | None = None
    waited_p99_ns: int | None = None
    """Of a closed loop: the 99th percentile of what users wait who come on the case's schedule."""
    reason: str | None = None
    """Why there is no judgement; None when there is one."""
    disturbed: bool = False
    """Whether that is because other work had the CPUs."""

    @property
    def right(self) -> bool | None:
        """Whether all figures are right; None if unknown."""
        return self.judgement.right if self.judgement else None


def steps(generators: Sequence[Generator], cases: Sequence[Case]) -> tuple[Step, ...]:
    """List the runs: case by case, so that figures which belong together stand together."""
    return tuple(
        Step(generator, case, loop)
        for case in cases
        for generator in generators
        for loop in case.loops
        if loop in generator.loops
    )


def verify(planned: Sequence[Step], bench: Bench, tell: Callable[[Step], None]) -> Iterator[Verified]:
    """Do one run after the other.

    That a tool fails is a result. ``tell`` gets each step before it begins.
    """
    for step in planned:
        tell(step)
        yield until_judged(partial(_once, step, bench))


def until_judged(once: Callable[[], Verified]) -> Verified:
    """Do a run again while it was disturbed, or was wrong for the first time.

    The first that was right or could not be had comes back; else the second that was wrong; else one that was
    disturbed.
    """
    found: list[Verified] = []
    for _ in range(ATTEMPTS):
        found.append(once())
        latest = found[-1]
        wrong = sum(verified.right is False for verified in found)
        if wrong == _WRONG_TIMES or not (latest.disturbed or latest.right is False):
            return latest
    return next(verified for verified in found if verified.disturbed)


def _once(step: Step, bench: Bench) -> Verified:
    case, loop, duration_s = step.case, step.loop, bench.duration_s
    try:
        with Calibrator(bench.engine, case.behaviour(duration_s), bench.server_cpus) as calibrator:
            ran = _generate(step, calibrator.url, bench)
            record = calibrator.stop()
        report = step.generator.read(ran.text, loop)
    except Interrupted:
        raise
    except HttpdynoError as error:
        return Verified(step, reason=error.line)
    if reason := case.why_not_asked(record):
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
    waited = case.waited_ns(0.99, duration_s) if loop is Loop.CLOSED else None
    return Verified(step, judgement, waited)


def _generate(step: Step, url: str, bench: Bench) -> LoadToolRun:
    loop, case = step.loop, step.case
    load = Load(
        url=url,
        connections=CONNECTIONS[loop],
        duration_s=bench.duration_s,
        requests=case.requests(loop, bench.duration_s),
        rate_per_s=case.rate_per_s if loop is Loop.OPEN else None,
        timeout_s=_TIMEOUT_S,
    )
    return run_load_tool(
        step.generator.argv(load),
        folder=step.generator.folder,
        environment=step.generator.environment,
        cpus=bench.generator_cpus,
        deadline_s=bench.duration_s + _GRACE_S,
        interruption=bench.interruption,
    )


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


_LEAST_S: Final = 2.0


def make_bench(cpus: str | None, duration_s: float, interruption: Interruption) -> Bench:
    """Find the engine and the CPUs, and measure a round trip."""
    if duration_s < _LEAST_S:
        raise InvalidValue(f"--duration: {duration_s:g} s are too short to tell anything; write {_LEAST_S:g}s or more")
    generator, server = divide_cpus(cpus, os.sched_getaffinity(0))
    engine = find_engine()
    overhead_ns = measure_overhead_ns(engine, server_cpus=server, client_cpus=generator)
    return Bench(engine, server, generator, duration_s, overhead_ns, interruption)


def divide_cpus(cpus: str | None, available: Collection[int]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the CPUs of the generator and those of the server: none is both's.

    ``cpus`` is as typed: ``1``, ``1:0``, ``2-3:0``. What is not said is chosen: the server has the first CPU that is
    free, the generator the one after it.
    """
    if len(available) == 1:
        raise NothingMeasured(
            "a generator and a server need a CPU each; this process may use one only; give it another"
        )
    named, _, behind = (cpus or "").partition(":")
    if cpus is not None and (not named or cpus.endswith(":")):
        raise InvalidValue(f"--cpus: {cpus!r} is not understood; write it like 1:0 or 2-3:0")
    generator = parse_cpus(named, name="--cpus") if named else None
    server = parse_cpus(behind, name="--cpus") if behind else None
    for part in filter(None, (generator, server)):
        if absent := part - frozenset(available):
            raise InvalidValue(f"--cpus: CPU {min(absent)} is not available here; choose from {format_cpus(available)}")
    rest = sorted(frozenset(available) - (generator or frozenset()) - (server or frozenset()))
    if server is None:
        server = frozenset(rest[:1])
        rest = rest[1:]
    if generator is None:
        generator = frozenset(rest[:1])
    if not generator or not server or generator & server:
        raise InvalidValue("--cpus: the generator and the server need CPUs of their own; write it like 1:0")
    return generator, server


RIGHT: Final = "right"
NOT_JUDGED: Final = "NOT_JUDGED"
_DIGITS: Final = 3
_NAMES: Final = ("mean", *FIGURES)
_HIDDEN: Final = frozenset({"p90", "p95"})
"""Judged like the others; a table for people is wide enough without them."""
_MEASURED: Final = {Loop.OPEN: "response time", Loop.CLOSED: "service time"}


def _figure_columns() -> Iterable[Column]:
    for name in _NAMES:
        said = "mean" if name == "mean" else f"{name[1:]}th percentile"
        shown = name not in _HIDDEN
        yield Column(name, ColumnKind.NUMBER, "ms", f"{said} that it reports", shown)
        yield Column(f"{name}True", ColumnKind.NUMBER, "ms", f"{said} that it should report", shown)


_COLUMNS: Final = (
    Column("case", description="server with known behaviour"),
    Column("method", description="generator"),
    Column("version", shown=False),
    Column("loop", description="open or closed"),
    Column("held_to", description="what its times are held to", shown=False),
    *_figure_columns(),
    Column(
        "p99_waited_ms", ColumnKind.NUMBER, "ms", "of a closed loop: 99th percentile of what users on a schedule wait"
    ),
    Column("verdict", description="right, or the figure that is off the most"),
)


def verdict_of(verified: Verified) -> str:
    """Describe in a word, or in one figure, what came of a run."""
    if verified.judgement is None:
        return NOT_JUDGED
    worst = verified.judgement.worst
    if worst is not None:
        return str(worst)
    return RIGHT if verified.right else NOT_JUDGED


def verified_table(
    results: Sequence[Verified], *, unavailable: Mapping[str, str], duration_s: float, overhead_ns: int
) -> Table:
    """Put results into a table, in their order.

    ``unavailable`` has, for each tool that cannot be run here, why. ``overhead_ns`` is what is added to the server's
    own times.
    """
    rows = [_row(verified) for verified in results]
    notes = [Note(_how(duration_s, overhead_ns))]
    for place, verified in enumerate(results):
        if verified.reason:
            notes.append(Note(verified.reason, place))
    for name, reason in unavailable.items():
        notes.append(Note(reason, len(rows)))
        blank: list[Cell] = [None] * len(_COLUMNS)
        blank[1], blank[-1] = name, str(Outcome.UNAVAILABLE)
        rows.append(tuple(blank))
    return Table(_COLUMNS, tuple(rows), notes=tuple(notes))


def _how(duration_s: float, overhead_ns: int) -> str:
    return (
        f"milliseconds; {duration_s:g} s for each row;"
        f" right is within {RELATIVE:.0%} and {allowed_ns('p99') / 1e6:g} ms (p99.9: {allowed_ns('p99.9') / 1e6:g} ms);"
        f" a percentile that fewer than {LEAST_BEYOND} requests exceed is not judged;"
        f" a round trip adds {overhead_ns / 1e6:.3f} ms to the server's own times"
    )


def _row(verified: Verified) -> tuple[Cell, ...]:
    step = verified.step
    return (
        step.case.name,
        step.generator.name,
        step.generator.version,
        str(step.loop),
        _MEASURED[step.loop],
        *(cell for name in _NAMES for cell in _figure(verified.judgement, name)),
        _ms(verified.waited_p99_ns),
        verdict_of(verified),
    )


def _figure(judgement: Judgement | None, name: str) -> tuple[Cell, Cell]:
    finding = judgement.of(name) if judgement else None
    return (None, None) if finding is None else (_ms(finding.reported), _ms(finding.truth))


def _ms(time_ns: float | None) -> float | None:
    """Return milliseconds with three significant digits."""
    return None if time_ns is None else float(f"{time_ns / 1e6:.{_DIGITS}g}")
