"""Judge cost trials: time, CPU and memory of clients and load tools for each document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final

import polars as pl

from httpdyno.errors import InvalidValue
from httpdyno.judge.cpu_time import CpuSeries, Spending, spending_of
from httpdyno.judge.outcome import ToolArtifacts, ending_from_report, tool_ending
from httpdyno.judge.reference import Reference, clock_bound_ns
from httpdyno.judge.trial import (
    NO_CIRCUMSTANCES,
    Circumstances,
    JudgedTrial,
    TrialArtifacts,
    judge_crawl,
    trial_not_run,
    trial_refused,
)
from httpdyno.judge.validity import Evidence, Rule, rules_for
from httpdyno.model import (
    Counters,
    Outcome,
    Tally,
    ToolReport,
    Trial,
    TrialPlan,
    Validity,
    Verdict,
    counters_from_report,
)
from httpdyno.model.record import FigureRecord, Recorded

__all__ = [
    "BOUND_AT_MOST_NS",
    "COST_RULES",
    "DOCUMENT_BYTES",
    "UNCHECKED",
    "Coding",
    "CostPoint",
    "CostStep",
    "CostSummary",
    "RequestClock",
    "judge_cost",
    "judge_cost_tool",
]

DOCUMENT_BYTES: Final = 16_384
"""Content of the JSON document that every web and every server has at ``/json``."""


class Coding(StrEnum):
    """In which content coding documents are sent."""

    IDENTITY = "identity"
    """Not compressed, whatever the client accepts."""
    GZIP = "gzip"
    """Compressed, for a client that accepts it."""


class RequestClock(StrEnum):
    """Source of the start times of requests."""

    ORIGIN = "origin"
    """Our origin, which stamps their arrivals."""
    CLIENT = "client"
    """The client, by its own lines."""


@dataclass(frozen=True, slots=True)
class CostPoint(FigureRecord):
    """Number and content coding of the documents."""

    prefix: ClassVar[str] = "cost_point_"

    documents: Annotated[int, Recorded("documents to fetch, one after another")]
    coding: Annotated[Coding, Recorded("content coding in which they are offered")] = Coding.IDENTITY

    def __post_init__(self) -> None:
        """Raise if no trial can measure this point."""
        if self.documents < 1:
            raise InvalidValue(f"cost: there must be one document at least, not {self.documents}")


@dataclass(frozen=True, slots=True)
class CostStep:
    """A stretch of a trial, as long as it took for some documents."""

    documents: Annotated[int, Recorded("documents that had been asked for at its end")]
    cpu_ns: Annotated[float, Recorded("CPU time of the stretch for each of its documents", unit="ns")]


@dataclass(frozen=True, slots=True)
class CostSummary(FigureRecord):
    """Figures of a trial. A figure without data is None."""

    prefix: ClassVar[str] = "cost_"

    answered: Annotated[int, Recorded("documents that came: 2xx, or for a tool what it says and the server served")]
    verified: Annotated[
        int | None, Recorded("documents that came whole and whose value the client found right; null of a tool")
    ] = None
    caught: Annotated[
        int | None, Recorded("wrong documents that the web served and the client named as such; null of a tool")
    ] = None
    real_ns: Annotated[int | None, Recorded("from exec to the end of the process", unit="ns")] = None
    cpu_ns: Annotated[
        int | None, Recorded("CPU time of all of the subject's processes, user and system", unit="ns")
    ] = None
    per_s: Annotated[float | None, Recorded("documents that came, for each second of `cost_real_ns`", unit="1/s")] = (
        None
    )
    bytes_per_s: Annotated[
        float | None, Recorded("content of these documents after decoding, for each such second", unit="bytes/s")
    ] = None
    cpu_per_document_ns: Annotated[
        float | None,
        Recorded("CPU time for each verified document; of a tool, which verifies none, for each that came", unit="ns"),
    ] = None
    requests_timed_by: Annotated[
        RequestClock | None,
        Recorded("who says when requests began, on which the figures of start-up and steady state rest"),
    ] = None
    start_ns: Annotated[int | None, Recorded("from exec to the first request", unit="ns")] = None
    start_cpu_ns: Annotated[int | None, Recorded("CPU time until the first request", unit="ns")] = None
    warm_up_documents: Annotated[
        int | None, Recorded("documents before the cost of one had settled, as MSER-5 finds it")
    ] = None
    warm_up_cpu_ns: Annotated[
        float | None, Recorded("CPU time of those beyond what as many cost once it had settled", unit="ns")
    ] = None
    cold_cpu_per_document_ns: Annotated[
        float | None, Recorded("CPU time for each of the first hundredth of the documents", unit="ns")
    ] = None
    steady_cpu_per_document_ns: Annotated[
        float | None, Recorded("CPU time for each document once the cost of one had settled", unit="ns")
    ] = None
    drift: Annotated[
        float | None,
        Recorded("change of that cost from the first to the last third of the steady state, where it is no chance"),
    ] = None
    json_parser: Annotated[str | None, Recorded("what the client parses the documents with; null of a tool")] = None
    receive_steering: Annotated[
        bool | None, Recorded("whether the work of receiving packets was done on the receiver's own CPUs")
    ] = None
    receive_steering_reason: Annotated[str | None, Recorded("why it was not, though it was asked for")] = None
    claimed_answers: Annotated[int | None, Recorded("answers that a tool says it got; null of a client")] = None
    claimed_per_s: Annotated[float | None, Recorded("rate that a tool states itself; null of a client", unit="1/s")] = (
        None
    )
    steps: Annotated[
        tuple[CostStep, ...] | None, Recorded("the cost of a document over the trial, in stretches of equal length")
    ] = None


COST_RULES: Final = rules_for(Evidence.ANSWERS, Evidence.ORIGIN, Evidence.LINK, Evidence.FREE_LINK, Evidence.MACHINE)
"""Cost trials have a fixed number of documents and no pace; the cost falls while a program warms up."""


BOUND_AT_MOST_NS: Final = 10_000_000
"""Another machine's stamps that are known to this bound serve: the CPU clock is read every 10 ms, not more often."""

_RIGHT: Final = Verdict.RIGHT.value
_MISSED: Final = Verdict.MISSED_ERROR.value
_WRONG_DOCUMENT: Final = "check_failed"
"""The engine's name of the error cause of a wrong document."""


@dataclass(frozen=True, slots=True)
class RequestTimes:
    """Start times of the requests of a trial."""

    begun_ns: pl.Series
    """Since the Unix epoch, in any order; empty if unknown."""
    told_by: RequestClock


def stamped_arrivals(arrivals: pl.DataFrame | None, *, bound_ns: int) -> RequestTimes | None:
    """Return when requests arrived at our origin; None if unknown, or known by a clock that is not known well enough.

    ``bound_ns`` is by how much they may be off.
    """
    if arrivals is None or not len(arrivals) or bound_ns > BOUND_AT_MOST_NS:
        return None
    return RequestTimes(arrivals["at_ns"].drop_nulls(), RequestClock.ORIGIN)


def judge_cost(
    plan: TrialPlan,
    artifacts: TrialArtifacts,
    reference: Reference,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
    *,
    rules: Sequence[Rule],
) -> JudgedTrial:
    """Judge one trial of one client that was given documents to fetch, parse and check.

    A document is verified if its line matches the served document and the client, which compared its value, reports a
    status. A wrong document is caught if the client reports it as wrong.
    """
    judged = judge_crawl(plan, artifacts, reference, circumstances, rules=rules)
    if judged.trial.outcome is Outcome.REFUSED:
        return judged
    samples = judged.samples
    right = samples.filter(samples["verdict"] == _RIGHT)
    came = samples.filter(samples["status"] // 100 == 2)  # 2xx
    verified = int(right["status"].count())
    summary = cost_summary(
        artifacts.report,
        judged.trial.counters,
        answered=len(came),
        paid=verified,
        content_bytes=int(came["body_length"].drop_nulls().sum()),
        # Without logged arrivals, the client's start times.
        requests=stamped_arrivals(reference.arrivals, bound_ns=reference.clock_bound_ns)
        or RequestTimes(samples["start_ns"].drop_nulls(), RequestClock.CLIENT),
    )
    summary = replace(
        summary,
        verified=verified,
        caught=len(right) - verified,
        json_parser=plan.subject.json_parser or None,
    )
    trial = _distrusted(judged.trial.having(summary), samples)
    return replace(judged, trial=trial)


def _distrusted(trial: Trial, samples: pl.DataFrame) -> Trial:
    """Reject a client that accepted a wrong document: it verifies none of them.

    Only one document in a thousand is wrong, which would be tolerated as an ordinary wrong answer.
    """
    passed = int(((samples["verdict"] == _MISSED) & (samples["cause"] == _WRONG_DOCUMENT)).sum())
    if not passed or trial.outcome is not Outcome.OK:
        return trial
    served = passed + (trial[CostSummary].caught or 0 if trial.get(CostSummary) else 0)
    reason = f"it took {passed:,} of {served:,} wrong documents for right ones: its check does not check"
    return replace(trial, validity=Validity.INCORRECT, validity_reason=reason)


def cost_summary(
    report: Mapping[str, Any],
    counters: Counters,
    *,
    answered: int,
    paid: int,
    content_bytes: int,
    requests: RequestTimes | None,
) -> CostSummary:
    """Compute the figures of a subject.

    The CPU time is divided among the documents ``paid``; ``content_bytes`` counts after decoding. Without ``requests``,
    start-up and steady state are not known.
    """
    cpu_ns, real = counters.cpu_ns, counters.wall_ns
    spending = None if requests is None else _spending(report, requests.begun_ns)
    steering = report.get("receive_steering") or {}
    return CostSummary(
        answered=answered,
        real_ns=real,
        cpu_ns=cpu_ns,
        per_s=answered * 1e9 / real if real else None,
        bytes_per_s=content_bytes * 1e9 / real if real else None,
        cpu_per_document_ns=cpu_ns / paid if cpu_ns is not None and paid else None,
        requests_timed_by=requests.told_by if spending and requests else None,
        start_ns=spending.start_ns if spending else None,
        start_cpu_ns=spending.start_cpu_ns if spending else None,
        warm_up_documents=spending.warm_up_answers if spending else None,
        warm_up_cpu_ns=spending.warm_up_cpu_ns if spending else None,
        cold_cpu_per_document_ns=spending.cold_cpu_per_answer_ns if spending else None,
        steady_cpu_per_document_ns=spending.steady_cpu_per_answer_ns if spending else None,
        drift=spending.drift if spending else None,
        receive_steering=steering.get("done"),
        receive_steering_reason=steering.get("reason"),
        steps=tuple(CostStep(step.answers, step.cpu_ns) for step in spending.steps) if spending else None,
    )


def _spending(report: Mapping[str, Any], requests_ns: pl.Series) -> Spending | None:
    cpu = CpuSeries.of(report)
    if cpu is None or not len(requests_ns):
        return None
    return spending_of(cpu, requests_ns.to_numpy() - cpu.started_at_ns)


UNCHECKED: Final = "it reads the documents and checks none of them"
_OK: Final = "200"


def judge_cost_tool(
    plan: TrialPlan,
    artifacts: ToolArtifacts,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
    *,
    rules: Sequence[Rule],  # noqa: ARG001  # nothing of a tool is verified: no rule can make it valid
) -> Trial:
    """Compute the figures of a tool's trial, which are shown but not ranked.

    Its documents are those that the tool reports and the origin served. None is verified: a tool, which parses nothing,
    does less work than a client.
    """
    counters = counters_from_report(artifacts.report)
    ending = ending_from_report(artifacts.report, artifacts.stderr)
    if ending.refused:
        return trial_refused(plan, artifacts.report, circumstances)
    outcome, reason, claimed = tool_ending(plan, ending, artifacts.text)
    point = plan.condition.get(CostPoint)
    urls_given = point.documents if point else 0
    trial = replace(trial_not_run(plan, outcome, reason, circumstances, urls_given=urls_given), counters=counters)
    if claimed is None:
        return trial
    answered, unserved = _answered(claimed, counters)
    if answered < urls_given:
        lacking = f"{answered:,} of {urls_given:,} documents came{_errors(claimed)}"
        return replace(trial, outcome=Outcome.MISSING, reason=lacking)
    summary = replace(
        cost_summary(
            artifacts.report,
            counters,
            answered=answered,
            paid=answered,
            content_bytes=answered * DOCUMENT_BYTES,
            # A tool reports no single requests.
            requests=stamped_arrivals(artifacts.arrivals, bound_ns=clock_bound_ns(artifacts.report)),
        ),
        claimed_answers=claimed.requests,
        claimed_per_s=claimed.stated_per_s or claimed.requests_per_s,
    )
    judged = replace(trial.having(summary), tally=Tally(right=0, unverified=answered, missed_error=unserved))
    return replace(judged, validity=Validity.UNVERIFIED, validity_reason=UNCHECKED)


def _errors(claimed: ToolReport) -> str:
    errors = ", ".join(f"{one.count:,} {one.name}" for one in claimed.errors if one.count)
    return f"; errors: {errors}" if errors else "; it reports no error: the server may have closed its connection"


def _answered(claimed: ToolReport, counters: Counters) -> tuple[int, int]:
    """Return how many documents came, and how many more the tool claims than were served."""
    good = claimed.requests - (claimed.non_2xx or 0)
    if counters.statuses is None:
        return good, 0
    served = sum(one.count for one in counters.statuses if one.name == _OK)
    return min(good, served), max(0, good - served)
