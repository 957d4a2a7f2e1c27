"""Conformance of built subjects: cases are run, contracts checked, claims proved once for each build."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from httpdyno.errors import Interrupted, SubjectUnavailable
from httpdyno.judge import Circumstances, ending_from_report, judge_crawl, trial_not_run
from httpdyno.judge.client_cases import CONTRACT_WEB, DOCUMENT_HOST, claim_cases, contract_cases
from httpdyno.judge.conformance import Attempt, Case, Observation, Stimulus, judge_cases, not_tried
from httpdyno.judge.server_cases import server_cases
from httpdyno.judge.validity import RULES, Rule
from httpdyno.lab.client_trial import CRAWL, client_trials
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import LocalExecutor, judge_trial
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.room import Pinning
from httpdyno.lab.run_room import TRANSCRIPTS
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.server_process import start_server
from httpdyno.lab.trial_files import TrialFiles
from httpdyno.model import (
    CaseOutcome,
    CaseResult,
    Cases,
    Condition,
    Outcome,
    Subject,
    SubjectKind,
    Trial,
    TrialPlan,
    Workload,
    flatten,
    restore,
)
from httpdyno.storage import storage_errors
from httpdyno.store.files import write_whole
from httpdyno.subjects.build import Build, BuildOutcome
from httpdyno.subjects.cache import BuildPlace

_ANSWER_S: Final = 120.0
"""Timeout: longer than any answer of a server, even on a busy machine."""
_STALLS: Final = 15
"""Number of stalls: the contract's web has a dozen, which a client may meet one after another."""
_DOCUMENTS: Final = 3000
_FILE: Final = "probe.json"
"""File of a build with the results of its claims."""


@dataclass(frozen=True, slots=True)
class CaseRunner:
    """Runner of the cases of a built subject."""

    engine: Engine
    build: Build
    pinning: Pinning
    interruption: Interruption
    hang_s: float = 30.0
    """Time that a client gets in addition to the time of its stalls: the lists are short."""
    rules: Sequence[Rule] = RULES
    """Rules of validity of the trials."""

    def run(self, stimulus: Stimulus) -> tuple[Observation, int]:
        """Give the subject a stimulus, with more time until that changes nothing; return the attempts made, too."""
        tried: list[Observation] = []
        for attempt in stimulus.attempts:
            tried.append(self.observe(attempt))
            if stimulus.is_settled(tried):
                break
        return tried[-1], len(tried)

    def observe(self, attempt: Attempt) -> Observation:
        """Run a fresh process of the subject: a client in a room, a server on this machine's loopback."""
        return self._request(attempt) if self.build.subject.kind is SubjectKind.SERVER else self._crawl(attempt)

    def _crawl(self, attempt: Attempt) -> Observation:
        subject, timeout_s = self.build.subject, attempt.workload.timeout_s
        lines = list(attempt.lines)
        if attempt.listed == "documents":
            lines[:0] = find_documents(self.engine)[0]
        elif attempt.listed == "web":
            lines[:0] = urls_of(self.engine, attempt.web, 10_000)
        given = replace(subject, environment={**subject.environment, **attempt.environment})
        with ScratchFile() as urls:
            urls.write(f"{line}\n".encode() for line in lines)
            condition = Condition(
                "contract",
                attempt.web,
                replace(attempt.workload, urls=urls.path),
                concurrency=attempt.concurrency,
                deadline_s=attempt.deadline_s or self.hang_s + _STALLS * timeout_s * (attempt.web == CONTRACT_WEB),
                batch=attempt.batch,
            )
            builds = {subject.id: BuildOutcome(given, replace(self.build, subject=given))}
            executor = LocalExecutor(self.engine, self.pinning, self.interruption, builds=builds, urls=urls)
            plan = TrialPlan(0, 0, 0, given, condition)
            kind = client_trials(judge_crawl, script=attempt.script) if attempt.script else CRAWL
            files = executor.execute(plan, kind)
            assert isinstance(files, TrialFiles), "it is built"
            with files:
                judged, output = judge_trial(plan, files, kind, rules=self.rules), files.stdout.read_text()
                stderr, ending = files.stderr.last_words(), ending_from_report(files.report)
                transcript = files.more[TRANSCRIPTS].read_text() if attempt.script else ""
        if self.interruption.requested:
            raise Interrupted(f"interrupted while {subject.id} was checked")
        return Observation(
            *(attempt, judged.trial, output, judged.samples, lines, stderr),
            transcript=transcript,
            exit_code=ending.exit_code,
        )

    def _request(self, attempt: Attempt) -> Observation:
        plan = TrialPlan(0, 0, 0, self.build.subject, Condition("contract", "", Workload(())))
        with start_server(self.build, attempt.environment) as server:
            requests = attempt.requests if server.ready(self.interruption) else ()
            answers = [answer for request in requests if (answer := server.send(request, timeout_s=_ANSWER_S))]
        trial = trial_not_run(plan, Outcome.OK, None, Circumstances(version=self.build.version))
        return Observation(attempt, trial, answers=answers if len(answers) == len(attempt.requests) else ())


def find_documents(engine: Engine) -> tuple[list[str], frozenset[str]]:
    """Return the URLs of wrong documents and of the right ones around each, and those of the wrong ones alone."""
    urls = [f"{DOCUMENT_HOST}/json?n={number}" for number in range(_DOCUMENTS)]
    with ScratchFile() as listed, ScratchFile() as answer:
        listed.write(f"{url}\n".encode() for url in urls)
        engine.expect(Condition("contract", "wrong-documents", Workload((), check="json")), listed.path, answer.file)
        rows = answer.read_text().splitlines()[1:]
    wrong = [number for number, row in enumerate(rows) if ",error,,,check_failed," in row]
    near = sorted({number + step for number in wrong for step in range(-3, 4)} & set(range(_DOCUMENTS)))
    return [urls[number] for number in near], frozenset(urls[number] for number in wrong)


def urls_of(engine: Engine, web: str, limit: int) -> list[str]:
    """Return the first URLs of a web."""
    with ScratchFile() as file:
        engine.urls(web=web, seed=1, limit=limit, into=file.file)
        return file.read_text().split()


def try_cases(runner: CaseRunner, cases: Sequence[Case], *, tries: int = 1) -> Iterator[Trial]:
    """Give a subject one stimulus after another; yield a trial for each, with the results of its cases.

    A stimulus is given again, up to ``tries`` times, while a result is wrong: on a busy machine a client can miss its
    timeout, but not twice in a row. After a subject does not answer it gets no more, and the last trial has the cases
    that are left.
    """
    subject, left = runner.build.subject, list(cases)
    while left:
        stimulus, attempts = left[0].stimulus, 0
        own = [case for case in left if case.stimulus is stimulus]
        left = [case for case in left if case.stimulus is not stimulus]
        for _ in range(tries):
            seen, more = runner.run(stimulus)
            attempts += more
            results = judge_cases(subject, own, seen, attempts=attempts)
            if all(result.is_right for result in results):
                break
        if stimulus.is_last(seen):
            results += tuple(not_tried(subject, case) for case in left)
            left.clear()
        yield replace(seen.trial, condition="").having(Cases(results))


def claims_of(subject: Subject) -> Sequence[Case]:
    """Return the cases of the claims that a subject of its kind can make."""
    return server_cases(subject) if subject.kind is SubjectKind.SERVER else claim_cases(subject)


def try_claims(runner: CaseRunner, *, tries: int = 1) -> Iterator[Trial]:
    """Try the claims of a built client or server, as ``try_cases`` does; capabilities that it claims come first.

    A client that hangs in a case that it does not claim has shown its claims by then.
    """
    return try_cases(runner, sorted(claims_of(runner.build.subject), key=lambda case: not case.claimed), tries=tries)


def results_of(trials: Sequence[Trial]) -> tuple[CaseResult, ...]:
    """Return the results of all cases of some trials."""
    return tuple(result for trial in trials if (shown := trial.get(Cases)) for result in shown.cases)


def check(runner: CaseRunner) -> Iterator[Trial]:
    """Try each clause of the contract of clients, and the claims if every clause was tried."""
    is_whole = True
    for trial in try_cases(runner, contract_cases(runner.build.subject)):
        is_whole &= all(result.outcome is not CaseOutcome.NOT_TRIED for result in trial[Cases].cases)
        yield trial
    if is_whole:
        yield from prove(runner)


def prove(runner: CaseRunner) -> Sequence[Trial]:
    """Try the claims of a built client or server now, a wrong one twice, and keep the results with the build."""
    order = [case.title for case in claims_of(runner.build.subject)]
    trials = sorted(try_claims(runner, tries=2), key=lambda trial: order.index(trial[Cases].cases[0].title))
    with storage_errors("keeping what a probe found: cannot write"):
        write_proof(runner.build.place, runner.engine.identity().sha256, results_of(trials))
    return trials


def prove_all(
    builds: Mapping[str, BuildOutcome],
    engine: Engine,
    pinning: Pinning,
    interruption: Interruption,
    *,
    tell: Callable[[Subject], None] = lambda _: None,
) -> dict[str, BuildOutcome]:
    """Replace the build of each client and server whose claims do not hold by an error that names the claims.

    Builds are by the id of the subject, and keep their order. ``tell`` gets each subject that must be probed now,
    because it was not probed before with this build and this engine.
    """
    proven, digest = dict(builds), ""
    for subject, build in [(outcome.subject, outcome.build) for outcome in builds.values()]:
        # Load tools and adapters for other purposes claim nothing.
        is_tool = subject.kind is SubjectKind.TOOL
        if build is None or is_tool or not any(case.claimed for case in claims_of(subject)):
            continue
        digest = digest or engine.identity().sha256
        results = _read_proof(build.place, digest)
        if results is None:
            tell(subject)
            results = results_of(prove(CaseRunner(engine, build, pinning, interruption)))
        # A capability that works without a claim spoils no figure; the contract test reports it.
        if broken := [str(result) for result in results if result.claimed and not result.is_right]:
            error = SubjectUnavailable(
                f"not measured: claims that do not hold: {'; '.join(broken)}; "
                f"look closer with: httpdyno subjects probe {subject.id}",
                option=subject.id,
            )
            proven[subject.id] = BuildOutcome(subject, error=error)
    return proven


def _read_proof(place: BuildPlace, engine: str) -> tuple[CaseResult, ...] | None:
    """Read the results of a probe; None if this build was not probed with this engine, or the file is unreadable."""
    try:
        values = json.loads((place.path / _FILE).read_text(encoding="utf-8"))
        results = tuple(restore(CaseResult, result) for result in values["results"])
        return results if values["engine"] == engine else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_proof(place: BuildPlace, engine: str, results: Sequence[CaseResult]) -> None:
    """Write the results of a probe atomically; ``engine`` is the digest of the engine's program."""
    text = json.dumps({"engine": engine, "results": [flatten(result) for result in results]}, indent=2)
    write_whole(place.path / _FILE, lambda file: file.write(f"{text}\n".encode()))
