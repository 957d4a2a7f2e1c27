"""Records of conformance: the results of cases with one subject, and the claims behind some of them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, ClassVar, Final

from httpdyno.model.record import FigureRecord, Recorded, measured


class Level(StrEnum):
    """How strongly a clause requires something."""

    MUST = "must"
    SHOULD = "should"
    MAY = "may"
    PRACTICE = "practice"
    """Not required by a clause, but usual in good programs."""


class CaseOutcome(StrEnum):
    """Result of trying a case."""

    PASS = "pass"
    LENIENT = "lenient"
    """The subject accepts what it should refuse, without a change in meaning."""
    FAIL = "fail"
    UNSAFE = "unsafe"
    """The subject accepts what it must refuse, with harm: a false certificate, credentials elsewhere, mixed answers."""
    UNSTEADY = "unsteady"
    """Several tries in fresh processes gave different outcomes."""
    UNSUPPORTED = "unsupported"
    """The subject neither has nor claims the capability."""
    HANG = "hang"
    CRASH = "crash"
    NOT_TRIED = "not tried"
    """An earlier failure leaves this case without a result."""

    @property
    def is_good(self) -> bool:
        """Whether the subject does what the case requires."""
        return self in {CaseOutcome.PASS, CaseOutcome.LENIENT}


WORST_FIRST: Final = (
    CaseOutcome.UNSAFE,
    CaseOutcome.CRASH,
    CaseOutcome.HANG,
    CaseOutcome.FAIL,
    CaseOutcome.UNSTEADY,
    CaseOutcome.LENIENT,
    CaseOutcome.UNSUPPORTED,
    CaseOutcome.PASS,
)
"""Outcomes of cases that are tried, the worst first."""


@dataclass(frozen=True, slots=True)
class Breach:
    """A difference between a subject and a clause."""

    seen: Annotated[str, Recorded("what was seen")]
    change: Annotated[str, Recorded("what has to change in the subject")]


@dataclass(frozen=True, slots=True)
class CaseResult:
    """Result of one case with one subject."""

    case: Annotated[str, Recorded("id of the case, such as `contract/streaming` or `claim/http-2`")]
    title: Annotated[str, Recorded("the case in a few words")]
    clause: Annotated[str, Recorded("where the rule is written")]
    level: Annotated[Level, Recorded("how strongly the clause requires it")]
    outcome: Annotated[CaseOutcome, Recorded("what the subject did")]
    claimed: bool | None = measured("whether the subject claims this capability; null: required of every subject")
    known: Annotated[str | None, Recorded("the reason of the known failure that explains the difference")] = None
    unanswered: Annotated[str, Recorded("request without an answer in time; empty when there is none")] = ""
    attempts: Annotated[int, Recorded("how often the case was tried", type="int32")] = 1
    breaches: Annotated[tuple[Breach, ...], Recorded("the differences")] = ()
    tries: tuple[str, ...] | None = measured("outcome of each try in a fresh process; null: one try")
    code: str | None = measured("code of the client's last row; null without a row, or if it is right")
    length: int | None = measured("content that the client's last row reports; null like `code`", unit="bytes")
    transcript: str | None = measured("what the origin saw, shortened; null like `code`")

    @property
    def group(self) -> str:
        """The first part of the id: ``contract``, ``claim``, or the group of a scripted case."""
        return self.case.partition("/")[0]

    @property
    def is_right(self) -> bool:
        """Whether the subject behaves as required or claimed, or a known failure explains the difference."""
        return self.outcome.is_good is (self.claimed is not False) or self.known is not None

    @property
    def mark(self) -> str:
        """Mark of the result: ``ok``, or ``as said`` for a capability that is neither claimed nor there."""
        if self.outcome is CaseOutcome.NOT_TRIED and self.claimed is None:
            return "unseen"
        if not self.is_right:
            return "FAILED"
        if self.known is not None:
            return "known"
        return "ok" if self.outcome.is_good else "as said"

    @property
    def findings(self) -> tuple[Breach, ...]:
        """Differences to print, at least one: those of a clause, or one line for a claim; ``change`` may be empty."""
        if self.claimed is None:
            return self.breaches or (Breach("", ""),)
        claimed = "claimed" if self.claimed else "not claimed"
        works = "works" if self.outcome.is_good else "does not work"
        seen = ", ".join(filter(None, (claimed, works, self.unanswered)))
        known = f" (known: {self.known})" if self.known else ""
        change = "" if self.is_right else "; or ".join(breach.change for breach in self.breaches)
        return (Breach(f"{seen}{known}", change),)

    def __str__(self) -> str:
        """Describe the result in one line."""
        seen = "; ".join(filter(None, (finding.seen for finding in self.findings)))
        return f"{self.title}: {seen}" if seen else self.title


@dataclass(frozen=True, slots=True)
class Cases(FigureRecord):
    """Results of the cases that one trial tried."""

    prefix: ClassVar[str] = ""

    cases: Annotated[tuple[CaseResult, ...], Recorded("result of each case that the trial was made for")] = ()
