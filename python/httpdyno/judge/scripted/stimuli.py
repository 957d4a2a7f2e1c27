"""Plan the processes of scripted cases: cases share one where they can; and judge what a process shows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

from httpdyno.judge.conformance import Attempt, Case, Judgement, Observation, Stimulus
from httpdyno.judge.scripted.case_file import CaseFile
from httpdyno.judge.scripted.outcomes import Row, Seen, decide, read_rows, rows_of
from httpdyno.judge.scripted.script import compile_script
from httpdyno.judge.scripted.transcript import Transcript, read_transcript
from httpdyno.model import Breach, CaseOutcome, CaseResult, Outcome, Subject, Workload

CONCURRENCY: Final = 10
"""Cases that are in flight at least, except with browsers: many of them wait for a timeout."""
_START_S: Final = 10.0
"""Time for the start of a client, in addition to its cases."""
_SLOW_START_S: Final = 60.0
"""The same for clients whose requests take far longer than a library's: browsers, which start many processes."""
_NOT_SUPPORTED: Final = 127
SCRIPTED_WEB: Final = "plain"
"""The web around the hosts of scripted cases."""
_transcript_of = lru_cache(maxsize=4)(read_transcript)
_rows_of_output = lru_cache(maxsize=4)(read_rows)


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a client, with the cases that it tries."""

    stimulus: Stimulus
    cases: tuple[Case, ...]
    files: tuple[CaseFile, ...]

    @property
    def is_shared(self) -> bool:
        """Whether several cases are tried."""
        return len(self.files) > 1


def plan_processes(subject: Subject, files: Sequence[CaseFile]) -> list[Process]:
    """Return the processes that try all cases once: those that share an environment together, then each other alone."""
    processes = [process_of(subject, together) for together in _files_by_process(files)]
    return sorted(processes, key=lambda process: not process.is_shared)


def count_processes(subject: Subject, files: Sequence[CaseFile]) -> int:
    """Count the processes that try once all cases whose needs a subject claims."""
    return len(_files_by_process([file for file in files if not missing_capability(subject, file)]))


def _files_by_process(files: Sequence[CaseFile]) -> list[list[CaseFile]]:
    shared: dict[tuple[object, ...], list[CaseFile]] = {}
    for file in files:
        key = (file.needs.http, file.keepalive, file.timeout_s, file.needs.method, file.needs.content)
        shared.setdefault((*key, file.id) if file.alone else key, []).append(file)
    return list(shared.values())


def process_of(subject: Subject, files: Sequence[CaseFile]) -> Process:
    """Return the process that tries some cases, which need the same environment."""
    first = files[0]
    workload = Workload(
        (),
        first.timeout_s,
        keepalive=first.keepalive,
        http_version=first.needs.http or "",
        method=first.needs.method or "GET",
        body=first.needs.content or "",
    )
    urls = [url for file in files for url in file.full_urls]
    # A browser shares the processor among its pages: ten at once would make each of them late.
    is_slow = subject.request_ms is not None
    concurrency = max(subject.concurrency, 1 if is_slow else CONCURRENCY, first.batch)
    is_in_turn = first.batch < len(first.urls)
    rounds = len(urls) if is_in_turn else -(-len(urls) // concurrency)
    start_s = _SLOW_START_S if is_slow else _START_S
    attempt = Attempt(
        urls,
        web=SCRIPTED_WEB,
        workload=workload,
        concurrency=concurrency,
        batch=first.batch if is_in_turn else None,
        deadline_s=start_s + 2 * first.timeout_s * (rounds + 1),
        script=compile_script(files),
    )
    stimulus = Stimulus(first.id if len(files) == 1 else f"{len(files)} cases", (attempt,))
    return Process(stimulus, tuple(_case(file, stimulus, alone=len(files) == 1) for file in files), tuple(files))


def missing_capability(subject: Subject, file: CaseFile) -> str:
    """Describe a capability that a case needs and the subject does not claim; empty if there is none."""
    needs, capabilities = file.needs, subject.capabilities
    if needs.http and needs.http not in capabilities.http:
        return f"HTTP/{needs.http}"
    if needs.keepalive is not None and needs.keepalive not in capabilities.keepalive:
        return "keeping connections" if needs.keepalive else "a connection for each request"
    if needs.method and not capabilities.methods:
        return f"the method {needs.method}"
    return ""


def _case(file: CaseFile, stimulus: Stimulus, *, alone: bool) -> Case:
    group, _, name = file.id.partition("/")
    return Case(
        group,
        file.clause,
        file.title,
        stimulus,
        partial(judge_case, file, alone=alone),
        file.why or f"do what {file.clause} requires",
        level=file.level,
        name=name,
    )


def unsupported(file: CaseFile, reason: str) -> Case:
    """Return a case that is not tried, because the subject does not claim what it needs."""
    judgement = Judgement(CaseOutcome.UNSUPPORTED, (Breach(f"not claimed: {reason}", ""),))
    stimulus, name = Stimulus(file.id, ()), file.id.partition("/")[2]
    return Case(*(file.group, file.clause, file.title, stimulus, lambda _: judgement, ""), level=file.level, name=name)


def seen_of(file: CaseFile, observation: Observation) -> Seen:
    """Return what an observation shows of one case."""
    peak = observation.trial.counters.peak_memory_bytes
    return Seen(
        rows_of(file, _rows_of_output(observation.output)),
        _transcript_of(observation.transcript).of(*file.hosts.values()),
        None if peak is None else peak / 2**20,
    )


def lacks_rows(file: CaseFile, observation: Observation) -> bool:
    """Return whether a URL of the case has no row."""
    return None in seen_of(file, observation).rows


def may_be_late(file: CaseFile, result: CaseResult, observation: Observation) -> bool:
    """Return whether waiting for other cases can be the reason of an outcome.

    That is an outcome other than ``pass`` of a case with conditions of time, or one that is not good after a row that
    took as long as the timeout.
    """
    if result.outcome is CaseOutcome.PASS:
        return False
    return _has_conditions_of_time(file) or (_has_timed_out(file, observation) and not result.outcome.is_good)


def may_be_slowed(file: CaseFile, result: CaseResult, observation: Observation) -> bool:
    """Return whether a lack of CPU time can be the reason of an outcome.

    That is one that may be late, one without a row, and one that is good because the timeout ended the request, in a
    case without conditions of time: with more of it, the client may have accepted the answer.
    """
    if may_be_late(file, result, observation) or lacks_rows(file, observation):
        return True
    return _has_timed_out(file, observation) and not _has_conditions_of_time(file)


def _has_conditions_of_time(file: CaseFile) -> bool:
    return any(part.within_s or part.at_least_s for rule in file.outcome for part in (rule, *rule.at.values()))


def _has_timed_out(file: CaseFile, observation: Observation) -> bool:
    rows = [row for row in seen_of(file, observation).rows if row]
    return any(row.duration_s is not None and row.duration_s >= file.timeout_s for row in rows)


def judge_case(file: CaseFile, observation: Observation, *, alone: bool) -> Judgement:
    """Judge one case; ``alone``: the end of the process is that of the case."""
    seen = seen_of(file, observation)
    outcome, reason = _judge(file, seen, observation, alone=alone)
    if outcome is CaseOutcome.PASS:
        return Judgement(outcome)
    last = next((row for row in reversed(seen.rows) if row), None)
    breach = Breach(f"{describe(seen)} ({reason})", file.why)
    return Judgement(
        outcome,
        (breach,),
        last.code if last else None,
        last.length if last else None,
        seen.transcript.shortened(),
    )


def _judge(file: CaseFile, seen: Seen, observation: Observation, *, alone: bool) -> tuple[CaseOutcome, str]:
    has_crashed = observation.trial.outcome is Outcome.CRASHED
    if has_crashed and observation.exit_code == _NOT_SUPPORTED:
        said = observation.stderr.strip().splitlines()[-1:] or ["exit status 127"]
        return CaseOutcome.UNSUPPORTED, said[0]
    if has_crashed and (alone or None in seen.rows):
        return CaseOutcome.CRASH, observation.trial.reason or "the process died"
    if None in seen.rows:
        if observation.exit_code == 0:
            return CaseOutcome.FAIL, "the process ended without a row"
        return CaseOutcome.HANG, f"no row within {observation.attempt.deadline_s or 0:.0f} s"
    decision = decide(file, seen)
    return decision.outcome, decision.reason


def describe(seen: Seen) -> str:
    """Describe what a client did with a case: its rows, and what the origin saw."""
    rows = ", ".join(str(row) if row else "no row" for row in seen.rows)
    return f"{rows}; {_count(seen.transcript)}"


def _count(transcript: Transcript) -> str:
    connections = len(transcript.speaking)
    requests = f"{transcript.requests} request{'' if transcript.requests == 1 else 's'}"
    return f"{requests} on {connections} connection{'' if connections == 1 else 's'}"


def rows_shown(seen: Seen) -> list[str]:
    """Return each row with its URL."""
    return [f"{row.url}: {row}" if isinstance(row, Row) else "no row" for row in seen.rows]
