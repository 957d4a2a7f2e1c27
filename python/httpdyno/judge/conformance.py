"""Conformance: cases, what a subject is given for each of them, and the judgement of what was seen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, ClassVar, Final, Generic, TypeVar

import polars as pl

from httpdyno.errors import UnreadableReport
from httpdyno.judge.lines import read_harness_line
from httpdyno.judge.trial import JudgedTrial
from httpdyno.judge.verdict import TIMED_OUT_SATURATED
from httpdyno.model import Breach, CaseOutcome, CaseResult, Level, Outcome, Subject, Trial, Verdict, Workload
from httpdyno.model.timed_calls import TimedCalls

HONEST: Final = Workload((), timeout_s=60)
"""Settings of a client where every answer is honest: only a hang takes as long."""
READS_ON: Final = "read lines until the end of the input, print a row for each, end with status 0"
ENDS: Final = {
    Outcome.HUNG: "print a row for each line when it is done, whatever else waits; REQUEST_TIMEOUT bounds every stage",
    Outcome.GARBAGE: (
        "print nothing but rows to stdout, url,code,start_time,duration,body_length, and none for an empty line"
    ),
    Outcome.FOREIGN: "the first column is the line as it was read",
    Outcome.DUPLICATE: "print one row for each line",
    Outcome.MISSING: "print one row for each line",
}
"""What has to change in a client whose crawl ended so."""
_BADLY: Final = {Outcome.HUNG: CaseOutcome.HANG, Outcome.CRASHED: CaseOutcome.CRASH}
_NAMED: Final = 3
_OF_TIME: Final = frozenset({Verdict.LATE, Verdict.FALSE_ERROR, Verdict.WRONG_TIME, Verdict.NOT_REACHED})


class Listed(StrEnum):
    """Lines that the engine lists, which a client is given in front of the others."""

    NOTHING = ""
    WEB = "web"
    """Every URL of the web."""
    DOCUMENTS = "documents"
    """URLs of the JSON document, a few of which have a wrong number."""


@dataclass(frozen=True, slots=True)
class Crawl:
    """What a client is given in one room."""

    lines: Sequence[str] = ()
    listed: Listed = Listed.NOTHING
    web: str = "plain"
    workload: Workload = HONEST
    """Its settings; the lines replace its URLs."""
    concurrency: int = 10
    batch: int | None = None
    """It gets so many lines, and as many again whenever it has answered those; None: all at once."""
    deadline_s: float | None = None
    """When it is ended; None: later than any of these lists can take."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that replace those of the settings."""


@dataclass(frozen=True)
class Crawled:
    """One crawl of a client: its output and what the origin saw."""

    asked: Crawl
    output: str
    judged: JudgedTrial
    given: Sequence[str] = ()
    """The lines that the client was given to read."""

    @property
    def trial(self) -> Trial:
        """The record of the crawl."""
        return self.judged.trial

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
    def wrong(self) -> list[dict[str, Any]]:
        """The samples at fault that no known failure explains, with the columns of ``model.Sample``."""
        samples = self.judged.samples
        if samples.is_empty():
            return []
        fault = (samples["verdict"].cast(pl.String) != Verdict.RIGHT.value) & ~samples["explained"]
        return samples.filter(fault).rows(named=True)

    @property
    def wants_time(self) -> bool:
        """Whether what is at fault may be right with more time."""
        samples = self.judged.samples
        if self.trial.outcome is not Outcome.OK or samples.is_empty():
            return False
        given_up = samples["explained"] & (samples["cause"] == TIMED_OUT_SATURATED)
        return given_up.any() or any(Verdict(sample["verdict"]) in _OF_TIME for sample in self.wrong)

    @property
    def peak(self) -> int | None:
        """The most requests that the origin had in flight together."""
        return self.trial.counters.peak_concurrency

    @property
    def versions(self) -> dict[str, int]:
        """How many requests came in each version of HTTP."""
        return {count.name: count.count for count in self.trial.counters.http_versions or () if count.count}

    @property
    def timed(self) -> TimedCalls | None:
        """The calls that the client timed itself; None when it printed something else."""
        try:
            return read_harness_line(self.output)
        except UnreadableReport:
            return None

    @property
    def is_cut_short(self) -> bool:
        """Whether the crawl broke off too early to show more than that."""
        outcome = self.trial.outcome
        return outcome is not Outcome.OK and not (outcome is Outcome.HUNG and self.lines)

    @property
    def unanswered(self) -> str:
        """The URLs that the deadline left without a line, in words; empty when there are none."""
        samples = self.judged.samples
        urls = [] if samples.is_empty() else samples.filter(pl.col("line").is_null())["url"].to_list()
        more = f" and {len(urls) - _NAMED} more" if len(urls) > _NAMED else ""
        within = f" within {self.asked.deadline_s:.0f} s" if self.asked.deadline_s else ""
        return f"no answer to {', '.join(urls[:_NAMED])}{more}{within}" if urls else ""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request."""

    path: str
    method: str = "GET"
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to one request."""

    status: int
    content_type: str
    content: bytes
    took_s: float
    """From the first byte of the request to the last of the answer."""


@dataclass(frozen=True, slots=True)
class Requests:
    """What a server is asked with some settings."""

    settings: Mapping[str, str]
    asks: Sequence[Ask]


@dataclass(frozen=True, slots=True)
class Answered:
    """What a server answered."""

    asked: Requests
    answers: Sequence[Answer] | None
    """One for each request; None when the server ended instead, or left a request unanswered."""
    trial: Trial

    unanswered: ClassVar[str] = ""
    wants_time: ClassVar[bool] = False
    is_cut_short: ClassVar[bool] = False


Asked = TypeVar("Asked", Crawl, Requests)
Seen = TypeVar("Seen", Crawled, Answered)


@dataclass(frozen=True, slots=True, eq=False)
class Stimulus(Generic[Asked, Seen]):
    """What a subject is given, which shows one case or several."""

    name: str
    attempts: Sequence[Asked]
    """One after the other, each with more time, until more would change nothing."""
    is_settled: Callable[[Sequence[Seen]], bool] = lambda tried: not tried[-1].wants_time
    """Returns whether more time would change nothing of what the attempts so far have shown."""
    must_end: bool = False
    """Whether a client that does not end fails the first case, and the others are not tried."""
    endless: str = ""
    """What has to change in a client that does not end; empty: the sentence in ``ENDS``."""
    is_last: Callable[[Seen], bool] = lambda _: False
    """Returns whether this was the subject's last stimulus, since it would not answer another."""


@dataclass(frozen=True, slots=True, eq=False)
class Case(Generic[Asked, Seen]):
    """One thing that a clause asks of a subject."""

    id: str
    title: str
    """The case in a few words; a ``known_failure`` names it."""
    clause: str
    """Where it is written."""
    stimulus: Stimulus[Asked, Seen]
    breaches: Callable[[Seen], Sequence[Breach]]
    """Returns how what was seen differs from the clause."""
    level: Level = Level.MUST
    claimed: bool | None = None
    """Whether the subject claims the capability; None: every subject has to have it."""
    change: str = ""
    """What has to change in a subject whose claim does not hold."""

    def result(self, outcome: CaseOutcome, **more: Any) -> CaseResult:  # noqa: ANN401
        """Return a result of this case."""
        return CaseResult(self.id, self.title, self.clause, self.level, outcome, self.claimed, **more)


ClientCase = Case[Crawl, Crawled]
ServerCase = Case[Requests, Answered]
_NOT_ANSWERED: Final = "not tried, for it did not answer before"


def not_tried(subject: Subject, case: Case[Asked, Seen]) -> CaseResult:
    """Return the result of a case that an earlier one has made pointless."""
    if case.claimed is None:
        return case.result(CaseOutcome.NOT_TRIED)
    failure = subject.known_failure(case.title) if case.claimed else None
    return case.result(
        CaseOutcome.NOT_TRIED,
        known=failure.reason if failure else None,
        unanswered=_NOT_ANSWERED,
        breaches=(Breach(_NOT_ANSWERED, case.change),),
    )


def judge_cases(
    subject: Subject, cases: Sequence[Case[Asked, Seen]], seen: Seen, *, attempts: int = 1
) -> tuple[CaseResult, ...]:
    """Judge what one stimulus showed of its cases, which stand in their order; ``attempts`` is how often it was tried.

    A known failure of the subject may explain a difference.
    """
    stimulus = cases[0].stimulus
    ended: tuple[Breach, ...] = ()
    if stimulus.must_end and seen.trial.outcome is not Outcome.OK:
        outcome = seen.trial.outcome
        ended = (Breach(f"{outcome}: {seen.trial.reason}", stimulus.endless or ENDS.get(outcome, READS_ON)),)
    if ended and seen.is_cut_short:
        first = cases[0].result(_BADLY.get(outcome, CaseOutcome.FAIL), breaches=ended, attempts=attempts)
        return (first, *(not_tried(subject, case) for case in cases[1:]))
    return tuple(
        _judge(subject, case, seen, ended if number == 0 else (), attempts) for number, case in enumerate(cases)
    )


def _judge(subject: Subject, case: Case[Asked, Seen], seen: Seen, ended: Sequence[Breach], attempts: int) -> CaseResult:
    breaches, outcome = (*ended, *case.breaches(seen)), CaseOutcome.PASS
    if breaches:
        outcome = CaseOutcome.UNSUPPORTED if case.claimed is False else CaseOutcome.FAIL
        if ended or case.claimed:
            outcome = _BADLY.get(seen.trial.outcome, outcome)
    if case.claimed is False and not breaches:
        breaches = (Breach("it works", "add the claim to its [capabilities]"),)
    failure = None if outcome.is_good is (case.claimed is not False) else subject.known_failure(case.title)
    return case.result(
        outcome,
        known=failure.reason if failure else None,
        unanswered="" if case.claimed is None else seen.unanswered,
        attempts=attempts,
        breaches=breaches,
    )


def listed(which: Sequence[str]) -> str:
    """Name the first few, and how many more there are."""
    more = f" and {len(which) - _NAMED} more" if len(which) > _NAMED else ""
    return "; ".join(which[:_NAMED]) + more


def claim_case(
    title: str,
    stimulus: Stimulus[Asked, Seen],
    works: Callable[[Seen], bool],
    *,
    claimed: bool,
    asked: str,
) -> Case[Asked, Seen]:
    """Return the case of a claim: ``works`` tests the capability; ``asked`` is the requirement of the contract."""
    change = f"{asked}; or take the claim out of its [capabilities]"

    def breaches(seen: Seen) -> Sequence[Breach]:
        return () if works(seen) else (Breach("it does not work", change),)

    name, clause = title.replace(" ", "-"), "subjects/CONTRACT.md#proof"
    return Case(f"claim/{name}", title, clause, stimulus, breaches, claimed=claimed, change=change)
