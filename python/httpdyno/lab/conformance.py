"""Trials of conformance cases: clients crawl in rooms, servers answer on this machine's loopback."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from httpdyno.errors import Interrupted
from httpdyno.judge import Circumstances, trial_not_run
from httpdyno.judge.client_cases import CONTRACT_WEB, DOCUMENT_HOST, claim_cases
from httpdyno.judge.conformance import (
    Answered,
    Asked,
    Case,
    Crawl,
    Crawled,
    Listed,
    Requests,
    Seen,
    Stimulus,
    judge_cases,
    not_tried,
)
from httpdyno.judge.server_cases import server_cases
from httpdyno.judge.validity import RULES
from httpdyno.lab.client_trial import CRAWL
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import LocalExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import KeptOutput
from httpdyno.lab.room import Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.server_process import ServerProcess
from httpdyno.model import CaseResult, Cases, Condition, Outcome, Subject, SubjectKind, Trial, TrialPlan, Workload
from httpdyno.subjects.build import Build, BuildOutcome

_ANSWER_S: Final = 120.0
"""Longer than any answer of a server, even on a busy machine."""
_STALLS: Final = 15
"""The contract's web has a dozen, which a client may meet one after the other."""
_DOCUMENTS: Final = 3000


@dataclass(frozen=True, slots=True)
class Room:
    """Runner of conformance trials of a built subject."""

    engine: Engine
    build: Build
    pinning: Pinning
    interruption: Interruption
    hang_s: float = 30.0
    """Patience with a client, beyond what its stalls take: the lists are short."""

    def crawl(self, asked: Crawl) -> Crawled:
        """Have the client crawl once."""
        output, subject = KeptOutput(), self.build.subject
        lines = list(asked.lines)
        if asked.listed is Listed.DOCUMENTS:
            lines[:0] = find_documents(self.engine)[0]
        elif asked.listed is Listed.WEB:
            lines[:0] = urls_of(self.engine, asked.web, 10_000)
        given = replace(subject, environment={**subject.environment, **asked.environment})
        patience_s = self.hang_s + (_STALLS * asked.workload.timeout_s if asked.web == CONTRACT_WEB else 0)
        with ScratchFile() as urls:
            urls.write(f"{line}\n".encode() for line in lines)
            condition = Condition(
                "contract",
                asked.web,
                replace(asked.workload, urls=urls.path),
                concurrency=asked.concurrency,
                deadline_s=asked.deadline_s or patience_s,
                batch=asked.batch,
            )
            builds = {subject.id: BuildOutcome(given, replace(self.build, subject=given))}
            executor = LocalExecutor(self.engine, self.pinning, self.interruption, output, builds, urls=urls)
            judged = executor.run(TrialPlan(0, 0, 0, given, condition), CRAWL, RULES)
        if self.interruption.requested:
            raise Interrupted(f"interrupted while {subject.id} was held to its contract")
        return Crawled(asked, output.text, judged, lines)

    def ask(self, asked: Requests) -> Answered:
        """Start the server and send it these requests."""
        subject, answers = self.build.subject, []
        plan = TrialPlan(0, 0, 0, subject, Condition("contract", "", Workload(())))
        ran = Circumstances(version=self.build.version)
        with ServerProcess(self.build, asked.settings) as server:
            is_ready = server.ready(self.interruption)
            if is_ready:
                answers = [server.ask(ask, timeout_s=_ANSWER_S) for ask in asked.asks]
        whole = [answer for answer in answers if answer is not None]
        is_whole = is_ready and len(whole) == len(asked.asks)
        return Answered(asked, whole if is_whole else None, trial_not_run(plan, Outcome.OK, None, ran))

    def attempt(self, stimulus: Stimulus[Asked, Seen]) -> tuple[Seen, int]:
        """Give the subject a stimulus, with more time until that changes nothing; return the attempts, too."""
        tried: list[Any] = []
        for asked in stimulus.attempts:
            tried.append(self.crawl(asked) if isinstance(asked, Crawl) else self.ask(asked))
            if stimulus.is_settled(tried):
                break
        return tried[-1], len(tried)


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


def try_cases(room: Room, cases: Sequence[Case[Asked, Seen]]) -> Iterator[Trial]:
    """Give a subject one stimulus after the other; yield a trial for each, with the results of its cases.

    After a subject does not answer it gets no more, and the last trial has the cases that are left.
    """
    subject = room.build.subject
    left = list(cases)
    while left:
        stimulus = left[0].stimulus
        seen, attempts = room.attempt(stimulus)
        own = [case for case in left if case.stimulus is stimulus]
        left = [case for case in left if case.stimulus is not stimulus]
        results = list(judge_cases(subject, own, seen, attempts=attempts))
        if stimulus.is_last(seen):
            results += [not_tried(subject, case) for case in left]
            left.clear()
        yield replace(seen.trial, condition="").having(Cases(tuple(results)))


def try_claims(room: Room, *, only: Collection[str] | None = None) -> Iterator[Trial]:
    """Try the claims of a built client or server: all, or only those of some titles; claims that it makes come first.

    A client that hangs in a case that it does not claim has shown its claims by then.
    """
    chosen = [case for case in claims_of(room.build.subject) if only is None or case.title in only]
    return try_cases(room, sorted(chosen, key=lambda case: not case.claimed))


def claims_of(subject: Subject) -> Sequence[Case[Any, Any]]:
    """Return the cases of the claims that a subject of its kind can make."""
    return server_cases(subject) if subject.kind is SubjectKind.SERVER else claim_cases(subject)


def results_of(trials: Sequence[Trial]) -> tuple[CaseResult, ...]:
    """Return the results of all cases of some trials."""
    return tuple(result for trial in trials if (shown := trial.get(Cases)) for result in shown.cases)
