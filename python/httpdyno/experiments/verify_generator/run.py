"""Runs each generator through each case, and judges what it reports."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from httpdyno.errors import HttpdynoError, Interrupted
from httpdyno.experiments.verify_generator.cases import CONNECTIONS, Case
from httpdyno.experiments.verify_generator.generators import Generator
from httpdyno.judge.generator import Judgement, judge_report, why_not_judged, why_not_usable
from httpdyno.lab.calibrator import Calibrator
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.load_tool import LoadToolRun, run_load_tool
from httpdyno.model import Loop
from httpdyno.subjects.template import Load

__all__ = ["ATTEMPTS", "Bench", "Step", "Verified", "steps", "until_judged", "verify"]

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
    """Of a round trip, beside the server's own time."""
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
        """Whether all figures are right; None when nobody can say."""
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
