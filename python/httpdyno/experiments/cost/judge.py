"""Judge cost trials: time, CPU and memory of clients and load tools for each document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final

import polars as pl

from httpdyno.judge.cpu_time import CpuSeries, spending_of
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
from httpdyno.judge.validity import Rule
from httpdyno.model import (
    Counters,
    Outcome,
    Tally,
    Trial,
    TrialPlan,
    Validity,
    Verdict,
    counters_from_report,
)
from httpdyno.model.record import FigureRecord, Recorded, measured

DOCUMENT_BYTES: Final = 16_384
"""Length of the JSON document that every web and every server has at ``/json``."""


class Coding(StrEnum):
    """Content coding of the documents."""

    IDENTITY = "identity"
    """Not compressed, whatever coding the client accepts."""
    GZIP = "gzip"
    """Compressed, for a client that accepts it."""


class RequestClock(StrEnum):
    """Source of the start times of requests."""

    ORIGIN = "origin"
    """Our origin, which records their arrivals."""
    CLIENT = "client"
    """The client, whose output has them."""


@dataclass(frozen=True, slots=True)
class CostPoint(FigureRecord):
    """Number and content coding of the documents."""

    prefix: ClassVar[str] = "cost_point_"

    documents: Annotated[int, Recorded("documents to fetch, one after another")]
    coding: Annotated[Coding, Recorded("content coding in which they are offered")] = Coding.IDENTITY


@dataclass(frozen=True, slots=True)
class CostStep:
    """A part of a trial, during which a number of documents was requested."""

    documents: Annotated[int, Recorded("documents requested until its end")]
    cpu_ns: Annotated[float, Recorded("CPU time of the stretch for each of its documents")]


@dataclass(frozen=True, slots=True)
class CostSummary(FigureRecord):
    """Figures of a trial. A figure without data is None."""

    prefix: ClassVar[str] = "cost_"

    answered: Annotated[
        int, Recorded("documents received: 2xx; for a tool, those that it reports and the server served")
    ]
    verified: int | None = measured("complete documents whose value the client found right; null for a tool")
    caught: int | None = measured("wrong documents of the web that the client reported as wrong; null for a tool")
    real_ns: int | None = measured("time from exec to the end of the process")
    cpu_ns: int | None = measured("CPU time of all of the subject's processes, user and system")
    per_s: float | None = measured("documents received per second of `cost_real_ns`", unit="1/s")
    bytes_per_s: float | None = measured("content of these documents after decoding, per second", unit="bytes/s")
    cpu_per_document_ns: float | None = measured(
        "CPU time per verified document; for a tool, which verifies none, per received document"
    )
    requests_timed_by: RequestClock | None = measured(
        "source of the start times of requests, which the figures of start-up and steady state need"
    )
    start_ns: int | None = measured("time from exec to the first request")
    start_cpu_ns: int | None = measured("CPU time until the first request")
    warm_up_documents: int | None = measured("documents of the warm-up, as determined by MSER-5")
    warm_up_cpu_ns: float | None = measured("CPU time of the warm-up beyond that of as many documents in steady state")
    cold_cpu_per_document_ns: float | None = measured("CPU time per document over the first hundredth of the documents")
    steady_cpu_per_document_ns: float | None = measured("CPU time per document in steady state")
    drift: float | None = measured(
        "change of that cost from the first to the last third of the steady state; null: it may be chance"
    )
    json_parser: str | None = measured("JSON parser of the client; null of a tool")
    receive_steering: bool | None = measured("whether packets were received on the receiver's own CPUs")
    receive_steering_reason: str | None = measured("reason why they were not, although requested")
    claimed_answers: int | None = measured("answers that a tool reports; null of a client")
    claimed_per_s: float | None = measured("rate that a tool reports; null of a client", unit="1/s")
    steps: tuple[CostStep, ...] | None = measured("the cost of a document over the trial, in stretches of equal length")


BOUND_AT_MOST_NS: Final = 10_000_000
"""Largest accepted error of another machine's time stamps: the CPU time is read only every 10 ms."""
UNCHECKED: Final = "it reads the documents without checking them"


def judge_cost(
    plan: TrialPlan,
    artifacts: TrialArtifacts,
    reference: Reference,
    rules: Sequence[Rule],
    circumstances: Circumstances = NO_CIRCUMSTANCES,
) -> JudgedTrial:
    """Judge one trial of one client that has to fetch, parse and check documents.

    A document is verified if its line matches the served document and the client, which compared its value, reports a
    status. A wrong document is caught if the client reports it as wrong. If a client accepts a wrong document, none of
    its documents counts as verified, and the trial is incorrect.
    """
    judged = judge_crawl(plan, artifacts, reference, rules, circumstances)
    if judged.trial.outcome is Outcome.REFUSED:
        return judged
    samples = judged.samples
    right = samples.filter(samples["verdict"] == Verdict.RIGHT.value)
    came = samples.filter(samples["status"] // 100 == 2)  # 2xx
    verified = int(right["status"].count())
    caught = len(right) - verified
    summary = _summary(
        artifacts.report,
        judged.trial.counters,
        answered=len(came),
        paid=verified,
        content_bytes=int(came["body_length"].drop_nulls().sum()),
        arrivals=reference.arrivals,
        bound_ns=reference.clock_bound_ns,
        claimed_ns=samples["start_ns"].drop_nulls(),
    )
    summary = replace(summary, verified=verified, caught=caught, json_parser=plan.subject.json_parser or None)
    trial = judged.trial.having(summary)
    missed = (samples["verdict"] == Verdict.MISSED_ERROR.value) & (samples["cause"] == "check_failed")
    accepted = int(missed.sum())
    # Only one document in a thousand is wrong, which would be tolerated for ordinary wrong answers.
    if accepted and trial.outcome is Outcome.OK:
        reason = (
            f"it took {accepted:,} of {accepted + caught:,} wrong documents for right ones: its check does not work"
        )
        trial = replace(trial, validity=Validity.INCORRECT, validity_reason=reason, broken_rules=())
    return replace(judged, trial=trial)


def _summary(
    report: Mapping[str, Any],
    counters: Counters,
    *,
    answered: int,
    paid: int,
    content_bytes: int,
    arrivals: pl.DataFrame | None,
    bound_ns: int,
    claimed_ns: pl.Series | None = None,
) -> CostSummary:
    """Compute the figures of a subject.

    The CPU time is divided by the number of documents ``paid``; ``content_bytes`` counts after decoding. Start-up and
    steady state are computed from ``arrivals`` at our origin, whose time stamps have an error of at most ``bound_ns``.
    Without sufficiently exact arrivals, they are computed from the start times that a client prints, since the Unix
    epoch in any order; else they are unknown.
    """
    cpu_ns, real_ns = counters.cpu_ns, counters.wall_ns
    clock, requests_ns = RequestClock.CLIENT, claimed_ns
    if arrivals is not None and len(arrivals) and bound_ns <= BOUND_AT_MOST_NS:
        clock, requests_ns = RequestClock.ORIGIN, arrivals["at_ns"].drop_nulls()
    split: dict[str, Any] = {}
    cpu = CpuSeries.of(report)
    if cpu and requests_ns is not None and (spending := spending_of(cpu, requests_ns.to_numpy() - cpu.started_at_ns)):
        split = {
            "requests_timed_by": clock,
            "start_ns": spending.start_ns,
            "start_cpu_ns": spending.start_cpu_ns,
            "warm_up_documents": spending.warm_up_answers,
            "warm_up_cpu_ns": spending.warm_up_cpu_ns,
            "cold_cpu_per_document_ns": spending.cold_cpu_per_answer_ns,
            "steady_cpu_per_document_ns": spending.steady_cpu_per_answer_ns,
            "drift": spending.drift,
            "steps": tuple(CostStep(step.answers, step.cpu_ns) for step in spending.steps),
        }
    steering = report.get("receive_steering") or {}
    return CostSummary(
        answered=answered,
        real_ns=real_ns,
        cpu_ns=cpu_ns,
        per_s=answered * 1e9 / real_ns if real_ns else None,
        bytes_per_s=content_bytes * 1e9 / real_ns if real_ns else None,
        cpu_per_document_ns=cpu_ns / paid if cpu_ns is not None and paid else None,
        receive_steering=steering.get("done"),
        receive_steering_reason=steering.get("reason"),
        **split,
    )


def judge_cost_tool(
    plan: TrialPlan,
    artifacts: ToolArtifacts,
    rules: Sequence[Rule],  # noqa: ARG001  # nothing of a tool is verified: no rule can make it valid
    circumstances: Circumstances = NO_CIRCUMSTANCES,
) -> Trial:
    """Compute the figures of a tool's trial, which are shown but not ranked.

    Only documents that the tool reports and the origin served count. None is verified: a tool does not parse documents,
    and so does less work than a client.
    """
    report, counters = artifacts.report, counters_from_report(artifacts.report)
    ending = ending_from_report(report, artifacts.stderr)
    if ending.refused:
        return trial_refused(plan, report, circumstances)
    outcome, reason, claimed = tool_ending(plan, ending, artifacts.text)
    documents = plan.condition[CostPoint].documents
    trial = replace(trial_not_run(plan, outcome, reason, circumstances, urls_given=documents), counters=counters)
    if claimed is None:
        return trial
    answered = good = claimed.requests - (claimed.non_2xx or 0)
    if counters.statuses is not None:
        answered = min(good, sum(one.count for one in counters.statuses if one.name == "200"))
    if answered < documents:
        errors = ", ".join(f"{one.count:,} {one.name}" for one in claimed.errors if one.count)
        why = f"errors: {errors}" if errors else "it reports no error: the server may have closed its connection"
        return replace(trial, outcome=Outcome.MISSING, reason=f"{answered:,} of {documents:,} documents arrived; {why}")
    summary = replace(
        _summary(
            report,
            counters,
            answered=answered,
            paid=answered,
            content_bytes=answered * DOCUMENT_BYTES,
            arrivals=artifacts.arrivals,
            bound_ns=clock_bound_ns(report),
        ),
        claimed_answers=claimed.requests,
        claimed_per_s=claimed.stated_per_s or claimed.requests_per_s,
    )
    return replace(
        trial.having(summary),
        tally=Tally(right=0, unverified=answered, missed_error=good - answered),
        validity=Validity.UNVERIFIED,
        validity_reason=UNCHECKED,
        broken_rules=(),
    )
