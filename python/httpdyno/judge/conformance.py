"""Conformance: the form of a case, the input of a subject for it, the observation, and its judgement."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Literal

import polars as pl

from httpdyno.errors import UnreadableReport
from httpdyno.judge.lines import read_harness_line
from httpdyno.judge.verdict import TIMED_OUT_SATURATED
from httpdyno.model import Breach, CaseOutcome, CaseResult, Level, Outcome, Subject, Trial, Verdict, Workload
from httpdyno.model.timed_calls import TimedCalls

HONEST: Final = Workload((), timeout_s=60)
"""Settings of a client where every answer is correct: only a hang takes as long."""
READS_ON: Final = "read lines until the end of the input, print a row for each, end with status 0"
CHANGE_AFTER: Final = {
    Outcome.HUNG: "print a row for each line when it is done, whatever else waits; REQUEST_TIMEOUT bounds every stage",
    Outcome.GARBAGE: (
        "print nothing but rows to stdout, url,code,start_time,duration,body_length, and none for an empty line"
    ),
    Outcome.FOREIGN: "the first column is the line as it was read",
    Outcome.DUPLICATE: "print one row for each line",
    Outcome.MISSING: "print one row for each line",
}
"""The change that a client needs, by the outcome of its crawl."""
_BADLY: Final = {Outcome.HUNG: CaseOutcome.HANG, Outcome.CRASHED: CaseOutcome.CRASH}
_NAMED: Final = 3
_OF_TIME: Final = frozenset({Verdict.LATE, Verdict.FALSE_ERROR, Verdict.WRONG_TIME, Verdict.NOT_REACHED})
_NOT_ANSWERED: Final = "not tried: it did not answer in an earlier case"


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a server."""

    path: str
    method: str = "GET"
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a server to one request."""

    status: int
    content_type: str
    content: bytes
    took_s: float
    """From the first byte of the request to the last of the answer."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Input of a subject, once: lines for a client, in a room with a web; requests for a server."""

    lines: Sequence[str] = ()
    listed: Literal["", "web", "documents"] = ""
    """What the engine lists before the lines: every URL of the web, or those of its wrong JSON documents and others."""
    web: str = "plain"
    workload: Workload = HONEST
    """Settings of a client; the lines replace its URLs."""
    concurrency: int = 10
    batch: int | None = None
    """Number of lines that a client gets at first, and again whenever it has answered those; None: all at once."""
    deadline_s: float | None = None
    """When a client is ended; None: later than any of these lists can take."""
    requests: Sequence[Request] = ()
    """Requests to a server, one after the other."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of the contract in addition to those of the settings, or in their place."""
    script: str = ""
    """Hosts that the engine plays step by step, as JSON; empty: the web serves every host."""


@dataclass(frozen=True)
class Observation:
    """Result of one attempt."""

    attempt: Attempt
    trial: Trial
    output: str = ""
    """What a client printed."""
    samples: pl.DataFrame = field(default_factory=pl.DataFrame)
    """A client's, with the columns of ``model.Sample``."""
    given: Sequence[str] = ()
    """The lines that a client was given to read."""
    stderr: str = ""
    """The end of what a client wrote to its standard error."""
    answers: Sequence[Answer] = ()
    """A server's, one for each request; empty when it ended instead, or left a request unanswered."""
    transcript: str = ""
    """What the hosts of the script received and sent, as JSON lines of the engine; empty without a script."""
    exit_code: int | None = None
    """Exit status of a client; None if it was killed."""

    @cached_property
    def lines(self) -> list[str]:
        """The lines as printed."""
        return self.output.splitlines()

    @cached_property
    def rows(self) -> list[tuple[str, str]]:
        """URL and code of each line that has them."""
        return [(row[0], row[1]) for row in (line.rsplit(",", 4) for line in self.lines) if len(row) > 1]

    @cached_property
    def codes(self) -> dict[str, str]:
        """The code of each URL, without the blanks around it."""
        return {url.strip(): code for url, code in self.rows}

    @cached_property
    def lengths(self) -> dict[str, str]:
        """The length of the content of each URL that was answered with 200, as printed."""
        split = [line.rsplit(",", 4) for line in self.lines]
        return {row[0].strip(): row[-1] for row in split if row[1:2] == ["200"]}

    @cached_property
    def wrong(self) -> list[dict[str, Any]]:
        """The wrong samples that no known failure explains."""
        if self.samples.is_empty():
            return []
        fault = (self.samples["verdict"].cast(pl.String) != Verdict.RIGHT.value) & ~self.samples["explained"]
        return self.samples.filter(fault).rows(named=True)

    @property
    def wants_time(self) -> bool:
        """Whether the wrong samples may be right with more time."""
        if self.trial.outcome is not Outcome.OK or self.samples.is_empty():
            return False
        given_up = self.samples["explained"] & (self.samples["cause"] == TIMED_OUT_SATURATED)
        return given_up.any() or any(Verdict(sample["verdict"]) in _OF_TIME for sample in self.wrong)

    @property
    def versions(self) -> dict[str, int]:
        """Number of requests that came in each version of HTTP."""
        return {count.name: count.count for count in self.trial.counters.http_versions or () if count.count}

    @property
    def timed(self) -> TimedCalls | None:
        """The calls that the client timed itself; None if it printed something else."""
        try:
            return read_harness_line(self.output)
        except UnreadableReport:
            return None

    @property
    def unanswered(self) -> str:
        """Describe the URLs without a line at the deadline; empty if there are none."""
        if self.samples.is_empty():
            return ""
        urls = self.samples.filter(pl.col("line").is_null())["url"].to_list()
        within = f" within {self.attempt.deadline_s:.0f} s" if self.attempt.deadline_s else ""
        return f"no answer to {first_few(urls, ', ')}{within}" if urls else ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Outcome of one case with an observation, where it is more than a difference."""

    outcome: CaseOutcome
    breaches: tuple[Breach, ...] = ()
    code: str | None = None
    length: int | None = None
    transcript: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Stimulus:
    """Input of a subject that shows one case or several."""

    name: str
    attempts: Sequence[Attempt]
    """Attempts in order, each with more time, until more time would change nothing."""
    is_settled: Callable[[Sequence[Observation]], bool] = lambda tried: not tried[-1].wants_time
    """Returns whether more time would not change the result, judging by the attempts so far."""
    must_end: bool = False
    """Whether a client that does not end fails the first case, and the other cases are skipped."""
    endless: str = ""
    """The change that a client needs if it does not end; empty: the sentence in ``CHANGE_AFTER``."""
    is_last: Callable[[Observation], bool] = lambda _: False
    """Returns whether the subject gets no further stimulus, because it would not answer."""


Claim = tuple[bool, Sequence[Attempt], Callable[[Observation], bool]]
"""Whether a capability is claimed, the attempts that show it, and its test."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One requirement of a clause."""

    suite: str
    """Begins its id: ``contract``, ``claim``, the group of a scripted case."""
    clause: str
    """Where the requirement is written."""
    title: str
    """The case in a few words, which a ``known_failure`` can name."""
    stimulus: Stimulus
    differs: Callable[[Observation], str | Sequence[Breach] | Judgement]
    """Returns the difference from the clause, in words or as breaches with changes of their own; empty: none.

    A scripted case returns its judgement.
    """
    change: str
    """The change that a subject needs if it differs."""
    claimed: bool | None = None
    """Whether the subject claims the capability; None: the capability is required of every subject."""
    level: Level = Level.MUST
    name: str = ""
    """Ends its id; empty: the title does."""

    @property
    def id(self) -> str:
        """Name of the case in records."""
        return f"{self.suite}/{self.name or self.title.replace(' ', '-')}"


def claim_case(
    title: str, claimed: bool, attempts: Sequence[Attempt], works: Callable[[Observation], bool], required: str
) -> Case:
    """Return the case of a claim: ``works`` tests the capability; ``required`` is what the contract requires of it."""
    # Longer attempts are only for a claim that shorter ones did not show.
    stimulus = Stimulus(
        title,
        attempts,
        is_settled=lambda tried: not claimed or works(tried[-1]),
        is_last=lambda seen: bool(seen.unanswered),
    )
    return Case(
        "claim",
        "subjects/CONTRACT.md#proof",
        title,
        stimulus,
        lambda seen: "" if works(seen) else "it does not work",
        f"{required}; or remove the claim from its [capabilities]",
        claimed,
    )


def judge_cases(
    subject: Subject, cases: Sequence[Case], seen: Observation, *, attempts: int = 1
) -> tuple[CaseResult, ...]:
    """Return the result of each case of one stimulus, in their order; ``attempts`` is how often it was tried.

    A known failure of the subject may explain a deviation.
    """
    stimulus, ending = cases[0].stimulus, seen.trial.outcome
    ended: tuple[Breach, ...] = ()
    if stimulus.must_end and ending is not Outcome.OK:
        ended = (Breach(f"{ending}: {seen.trial.reason}", stimulus.endless or CHANGE_AFTER.get(ending, READS_ON)),)
    if ended and not (ending is Outcome.HUNG and seen.lines):
        first = _result(subject, cases[0], _BADLY.get(ending, CaseOutcome.FAIL), ended, attempts=attempts)
        return (first, *(not_tried(subject, case) for case in cases[1:]))
    results = []
    for case in cases:
        found = case.differs(seen)
        if isinstance(found, Judgement):
            results.append(_judged(subject, case, found, attempts=attempts))
            continue
        if isinstance(found, str):
            found = (Breach(found, case.change),) if found else ()
        breaches, outcome = (*ended, *found), CaseOutcome.PASS
        if breaches:
            outcome = CaseOutcome.UNSUPPORTED if case.claimed is False else CaseOutcome.FAIL
            outcome = _BADLY.get(ending, outcome) if ended or case.claimed else outcome
        elif case.claimed is False:
            breaches = (Breach("it works", "add the claim to its [capabilities]"),)
        unanswered = "" if case.claimed is None else seen.unanswered
        results.append(_result(subject, case, outcome, breaches, attempts=attempts, unanswered=unanswered))
        ended = ()
    return tuple(results)


def _judged(subject: Subject, case: Case, found: Judgement, *, attempts: int) -> CaseResult:
    result = _result(subject, case, found.outcome, found.breaches, attempts=attempts)
    failure = None if found.outcome.is_good or result.known else subject.known_failure(case.id)
    if failure and found.outcome is not CaseOutcome.UNSUPPORTED:
        result = replace(result, known=failure.reason)
    claimed = False if found.outcome is CaseOutcome.UNSUPPORTED else result.claimed
    return replace(result, claimed=claimed, code=found.code, length=found.length, transcript=found.transcript)


def combine_tries(results: Sequence[CaseResult]) -> CaseResult:
    """Return the result of several tries of one case in fresh processes: the last, or ``unsteady``.

    Different outcomes are ``unsteady``; what was seen is then that of the first try that was not right.
    """
    outcomes = tuple(str(result.outcome) for result in results)
    if len(set(outcomes)) == 1:
        return replace(results[-1], attempts=len(results), tries=outcomes)
    shown = next((result for result in results if not result.outcome.is_good), results[-1])
    breach = Breach(f"different outcomes: {', '.join(outcomes)}", "answer the same input in the same way")
    breaches = (breach, *shown.breaches)
    return replace(
        shown, outcome=CaseOutcome.UNSTEADY, claimed=None, attempts=len(results), breaches=breaches, tries=outcomes
    )


def not_tried(subject: Subject, case: Case) -> CaseResult:
    """Return the result of a case that is not tried, because of the result of an earlier one."""
    if case.claimed is None:
        return _result(subject, case, CaseOutcome.NOT_TRIED)
    breaches = (Breach(_NOT_ANSWERED, case.change),)
    return _result(subject, case, CaseOutcome.NOT_TRIED, breaches, unanswered=_NOT_ANSWERED)


def _result(
    subject: Subject,
    case: Case,
    outcome: CaseOutcome,
    breaches: tuple[Breach, ...] = (),
    *,
    attempts: int = 1,
    unanswered: str = "",
) -> CaseResult:
    failure = None if outcome.is_good is (case.claimed is not False) else subject.known_failure(case.title)
    known = failure.reason if failure else None
    identity = (case.id, case.title, case.clause, case.level)
    return CaseResult(*identity, outcome, case.claimed, known, unanswered, attempts, breaches)


def first_few(names: Sequence[str], separator: str = "; ") -> str:
    """Join the first names, and count the others: ``a; b; c and 2 more``; empty without names."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return separator.join(names[:_NAMED]) + more
