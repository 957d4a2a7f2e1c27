"""Trials of a client in a room: execution, and judgement of the lines that the client printed."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Final

from httpdyno.judge import (
    Circumstances,
    Judge,
    JudgedTrial,
    Reference,
    TrialArtifacts,
    clock_bound_ns,
    ending_from_report,
    judge_crawl,
    read_arrivals,
    read_lines,
)
from httpdyno.judge.validity import Rule
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import LocalExecutor, TrialKind
from httpdyno.lab.room import Command, RoomSpec
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import TrialFiles
from httpdyno.lab.web_answers import unknown_answers
from httpdyno.model import TrialPlan
from httpdyno.subjects.build import Build

LINES: Final = "lines"
"""File with the rows of the client's output, as CSV."""


def _execute_client(
    executor: LocalExecutor, plan: TrialPlan, build: Build, peer: Command | None, *, script: str = ""
) -> TrialFiles:
    """Run one fresh process of a client: an ``Execute``; with a script, no web knows the answers."""
    condition = plan.condition
    command = Command.of(build, condition.workload.environment(plan.concurrency))
    spec = RoomSpec(command, condition, executor.pinning, peer, script=script)
    with executor.lines(condition.workload) as lines:
        answers = unknown_answers(lines.path) if script else executor.web.of(condition, lines)
        if executor.observer:
            executor.observer.expected(answers.expectations)
        round_trip_ns = executor.round_trip_ns(condition) if condition.times_wire else None
        # A client that times its own calls prints only at its end.
        files = executor.room(spec, lines, answers_lines=not condition.workload.harness)
    files.answers, files.round_trip_ns = answers, round_trip_ns
    with ExitStack() as on_error:
        add_lines(on_error.enter_context(files), executor.engine)
        on_error.pop_all()
    return files


def add_lines(files: TrialFiles, engine: Engine) -> None:
    """Add the file with the rows that the client printed, which the engine derives from its standard output."""
    files.more[LINES] = rows = ScratchFile()
    engine.write_lines(files.stdout.path, rows.file, killed=ending_from_report(files.report).killed)


def client_trials(judge: Judge, *, script: str = "") -> TrialKind:
    """Return the trials of clients for an experiment with its own judge, or against the hosts of a script."""
    execute = partial(_execute_client, script=script) if script else _execute_client
    return TrialKind(execute, partial(_judge_client, judge=judge, is_scripted=bool(script)))


def _judge_client(
    plan: TrialPlan,
    files: TrialFiles,
    circumstances: Circumstances,
    rules: Sequence[Rule],
    *,
    judge: Judge,
    is_scripted: bool = False,
) -> JudgedTrial:
    """Judge one trial of a client by its lines, the truth of its web, and the arrivals at our origin."""
    assert files.answers is not None, "a trial of a client has a list"
    # Only our origin logs arrivals.
    is_logged = plan.condition.peer is None and not plan.condition.live and not is_scripted
    reference = Reference(
        files.answers.expectations,
        read_arrivals(files.arrivals.path) if is_logged else None,
        clock_bound_ns(files.report),
        files.answers.planned.mean_ns,
    )
    with files.stdout.path.open("rb") as output:
        artifacts = TrialArtifacts(
            files.report, read_lines(files.more[LINES].path), files.stderr.last_words(), files.round_trip_ns, output
        )
        return judge(plan, artifacts, reference, rules, circumstances)


CRAWL: Final = client_trials(judge_crawl)
"""Trials of a client that crawls a list."""
