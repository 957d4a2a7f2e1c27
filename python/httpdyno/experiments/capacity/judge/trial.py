"""One trial of a client at a point of the capacity question: judged like a crawl, then by what it held."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from httpdyno.errors import EngineFailed
from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge.closed import sampled_stretch
from httpdyno.experiments.capacity.judge.conclusion import concluded
from httpdyno.experiments.capacity.judge.figures import time_figures
from httpdyno.experiments.capacity.judge.open import Schedule, summarise_open
from httpdyno.installation import RENEW_ENGINE
from httpdyno.judge.reference import Reference
from httpdyno.judge.trial import NO_CIRCUMSTANCES, Circumstances, JudgedTrial, TrialArtifacts, judge_crawl
from httpdyno.judge.validity import Rule
from httpdyno.model import Loop, Outcome, Trial, TrialPlan, Verdict

__all__ = ["judge_capacity"]

_NOTHING = CapacitySummary(answers=0, errors=0, measured_ns=0)


def judge_capacity(
    plan: TrialPlan,
    artifacts: TrialArtifacts,
    reference: Reference,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
    *,
    rules: Sequence[Rule],
) -> JudgedTrial:
    """Judge one trial of one client at the point of its condition.

    The list is a series: each URL ends with its number.
    """
    judged = judge_crawl(plan, artifacts, reference, circumstances, rules=rules)
    point = plan.condition.get(CapacityPoint)
    assert point is not None, "who asks for a capacity has a point"
    if judged.trial.outcome is Outcome.REFUSED:
        return judged
    trial = _waited_for(judged.trial, artifacts)
    if point.loop is Loop.CLOSED:
        summary, figures = _closed(judged.samples, point, trial.counters.ended_at_ns)
    else:
        summary, figures = _open(judged.samples, trial, artifacts)
    return replace(judged, trial=concluded(trial.having(summary), plan, figures, rules))


def _waited_for(trial: Trial, artifacts: TrialArtifacts) -> Trial:
    """Forgive that a subject was silent when its time was over: it had more to do than it could."""
    if trial.outcome is Outcome.HUNG and artifacts.report.get("outcome") == "deadline":
        return replace(trial, outcome=Outcome.OK, reason=None)
    return trial


def _open(
    samples: pl.DataFrame, trial: Trial, artifacts: TrialArtifacts
) -> tuple[CapacitySummary, dict[str, float | None]]:
    fed, ended_at_ns = artifacts.report.get("fed"), (artifacts.report.get("subject") or {}).get("ended_at_ns")
    if not isinstance(fed, dict) or ended_at_ns is None:
        if trial.outcome is not Outcome.OK:
            return _NOTHING, {}
        raise EngineFailed(f"the engine's report does not say when it fed the subject; {RENEW_ENGINE}")
    started_at_ns, rate_per_s = int(fed["started_at_ns"]), float(fed["rate_per_s"])
    # A subject that was slow to start may have been ended before all was due: what was not due nobody waited for.
    due = int((int(ended_at_ns) - started_at_ns) / 1e9 * rate_per_s)
    if not fed["lines"] or due < 1:
        return _NOTHING, {}
    schedule = Schedule(started_at_ns, rate_per_s, min(due, trial.urls_given))
    return summarise_open(samples, schedule, concurrency=trial.concurrency, ended_at_ns=int(ended_at_ns))


def _closed(
    samples: pl.DataFrame, point: CapacityPoint, ended_at_ns: int | None
) -> tuple[CapacitySummary, dict[str, float | None]]:
    stretch = sampled_stretch(samples, concurrency=point.concurrency, ended_at_ns=ended_at_ns)
    if stretch is None:
        return _NOTHING, {}
    ends = pl.col("start_ns") + pl.col("duration_ns")
    within = samples.filter((ends >= stretch.begin_ns) & (ends <= stretch.end_ns))
    right = within["verdict"] == Verdict.RIGHT.value
    times = within["duration_ns"].filter(right).to_numpy()
    # All that were in flight when nothing came any more were never answered.
    ended = len(within) + (point.concurrency if stretch.is_silent else 0)
    answers, errors = len(times), ended - len(times)
    share = errors / ended if ended else None
    figures = time_figures(times)
    summary = CapacitySummary(
        answers=answers,
        errors=errors,
        measured_ns=stretch.length_ns,
        per_s=stretch.per_s * (1 - share) if answers and share is not None else None,
        service_mean_ns=figures["mean"],
        response_p50_ns=figures["p50"],
        response_p99_ns=figures["p99"],
        response_max_ns=figures["max"],
        errors_share=share,
    )
    return summary, figures | {"errors": share}
