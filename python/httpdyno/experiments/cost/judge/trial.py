"""One trial of a client that fetches documents one after another: judged like a crawl, then by what it spent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from httpdyno.experiments.cost.figures import CostStep, CostSummary, RequestClock
from httpdyno.judge.cpu_time import CpuSeries, Spending, spending_of
from httpdyno.judge.reference import Reference
from httpdyno.judge.trial import NO_CIRCUMSTANCES, Circumstances, JudgedTrial, TrialArtifacts, judge_crawl
from httpdyno.judge.validity import Rule
from httpdyno.model import Counters, Outcome, Trial, TrialPlan, Validity, Verdict

__all__ = ["BOUND_AT_MOST_NS", "RequestTimes", "cost_summary", "judge_cost", "stamped_arrivals"]

BOUND_AT_MOST_NS: Final = 10_000_000
"""Another machine's stamps that are known to this bound serve: the CPU clock is read every 10 ms, not more often."""

_RIGHT: Final = Verdict.RIGHT.value
_MISSED: Final = Verdict.MISSED_ERROR.value
_WRONG_DOCUMENT: Final = "check_failed"
"""What the engine calls the cause of the error that a wrong document is to be."""


@dataclass(frozen=True, slots=True)
class RequestTimes:
    """When the requests of a trial began."""

    begun_ns: pl.Series
    """Since the Unix epoch, in any order; empty where nobody can say."""
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

    A document is verified when its line is right beside what the web serves, and the client, which compared the value
    in it, reports a status. A wrong document is caught when the client reports that it is one.
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
        # Where nobody logged arrivals, when the client says that it began them.
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
    """Believe nothing of a client that took a wrong document for a right one: it verifies none of them.

    That is one document in a thousand, which as a wrong answer among others would be borne.
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
    """Put what any subject spent into figures.

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
