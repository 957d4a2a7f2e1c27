"""A trial of a load tool, from its report and from what the origin counted beside it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge.closed import ClosedStretch, sent_stretch, slope_per_s
from httpdyno.experiments.capacity.judge.conclusion import concluded
from httpdyno.judge.outcome import ToolArtifacts, ending_from_report, tool_ending
from httpdyno.judge.trial import NO_CIRCUMSTANCES, Circumstances, trial_not_run, trial_refused
from httpdyno.judge.validity import Rule
from httpdyno.model import Counters, Loop, Tally, ToolReport, Trial, TrialPlan, counters_from_report

__all__ = ["judge_capacity_tool", "measured_tool", "tool_figures"]

_OK: Final = "200"
_ROUNDED: Final = 0.01
"""Some tools write bytes with three digits: so much of them may be rounding."""


def judge_capacity_tool(
    plan: TrialPlan,
    artifacts: ToolArtifacts,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
    *,
    rules: Sequence[Rule],
) -> Trial:
    """Put a trial of a tool into figures, as ``measured_tool`` does, and say whether it held its point."""
    point = plan.condition.get(CapacityPoint)
    assert point is not None, "a tool is measured at a point"
    trial, claimed = measured_tool(plan, point, artifacts, circumstances)
    return trial if claimed is None else concluded(trial, plan, tool_figures(claimed), rules)


def measured_tool(
    plan: TrialPlan,
    point: CapacityPoint,
    artifacts: ToolArtifacts,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
) -> tuple[Trial, ToolReport | None]:
    """Put a trial of a tool into figures.

    How many answers came is taken from the origin, since tools differ in what they count and for how long; how long
    they took is taken from the tool, as nobody else saw it. What the tool claims beside that stands in the record, and
    where it claims more than was served, the answers that nobody gave count as wrong.

    The trial says nothing of whether the point was held; there is no report of the tool when the trial failed. Without
    a version, that of the tool's user agent is taken.
    """
    counters = counters_from_report(artifacts.report)
    ending = ending_from_report(artifacts.report, artifacts.stderr)
    if ending.refused:
        return trial_refused(plan, artifacts.report, circumstances), None
    outcome, reason, claimed = tool_ending(plan, ending, artifacts.text)
    trial = replace(
        trial_not_run(
            plan,
            outcome,
            reason,
            replace(circumstances, version=circumstances.version or _version(counters)),
            urls_given=counters.requests or 0,
        ),
        counters=counters,
    )
    if claimed is None:
        return trial, None
    arrivals = np.sort(artifacts.arrivals["at_ns"].to_numpy())
    stretch = _stretch(arrivals, point)
    within = int(((arrivals >= stretch.begin_ns) & (arrivals <= stretch.end_ns)).sum()) if stretch else 0
    return replace(trial.having(_summary(within, stretch, claimed)), tally=_tally(claimed, counters, point)), claimed


def tool_figures(claimed: ToolReport) -> dict[str, float | None]:
    """Return the times that an objective may ask for, in nanoseconds, and the share of errors; None: not said."""
    latency = claimed.latency
    percentiles = latency.percentiles_ns if latency else {}
    named: dict[str, float | None] = {f"p{rank:g}": percentiles.get(rank) for rank in (50.0, 90.0, 99.0, 99.9)}
    named["mean"] = latency.mean_ns if latency else None
    named["max"] = latency.max_ns if latency else None
    named["errors"] = _errors_share(claimed)
    return named


def _stretch(arrivals: "np.ndarray[tuple[int], np.dtype[np.int64]]", point: CapacityPoint) -> ClosedStretch | None:
    if point.loop is Loop.CLOSED:
        return sent_stretch(arrivals, concurrency=point.concurrency)
    # On a schedule all of it counts, from the first request to the last.
    per_s = slope_per_s(arrivals)
    return None if per_s is None else ClosedStretch(int(arrivals[0]), int(arrivals[-1]), per_s)


def _summary(within: int, stretch: ClosedStretch | None, claimed: ToolReport) -> CapacitySummary:
    share, latency = _errors_share(claimed), claimed.latency
    right = round(within * (1 - (share or 0.0)))
    percentiles = latency.percentiles_ns if latency else {}
    return CapacitySummary(
        answers=right,
        errors=within - right,
        measured_ns=stretch.length_ns if stretch else 0,
        per_s=stretch.per_s * (1 - (share or 0.0)) if stretch else None,
        service_mean_ns=latency.mean_ns if latency else None,
        response_p50_ns=percentiles.get(50.0),
        response_p99_ns=percentiles.get(99.0),
        response_max_ns=latency.max_ns if latency else None,
        errors_share=share,
        claimed_answers=claimed.requests,
        claimed_per_s=claimed.stated_per_s or claimed.requests_per_s,
    )


def _errors_share(claimed: ToolReport) -> float | None:
    """Errors, and answers with another status than 2xx, among all requests that ended; None of none."""
    ended = claimed.requests + claimed.error_count
    return (claimed.error_count + (claimed.non_2xx or 0)) / ended if ended else None


def _tally(claimed: ToolReport, counters: Counters, point: CapacityPoint) -> Tally:
    """Hold what a tool claims against what was served: statuses, and bytes of content.

    A tool may have read less than the origin has sent, as it ends in the midst of answers; never more, and never less
    than the content of the answers that it counts.
    """
    good = claimed.requests - (claimed.non_2xx or 0)
    served = sum(one.count for one in counters.statuses or () if one.name == _OK)
    unserved = max(0, good - served)
    content = good * point.size_bytes
    lacking = content - claimed.received_bytes if claimed.received_bytes is not None else 0
    short = min(good - unserved, -(-lacking // point.size_bytes)) if lacking > _ROUNDED * content else 0
    return Tally(right=good - unserved - short, missed_error=unserved, wrong_length=short)


def _version(counters: Counters) -> str | None:
    """Read the version from the user agent that came most often: ``hey/0.0.1``."""
    agents = sorted(counters.user_agents or (), key=lambda agent: -agent.count)
    product = agents[0].name.split(" ", 1)[0] if agents else ""
    return product.partition("/")[2] or None
