"""A trial of a load tool that fetches documents one after another: what it spent on what nobody verified."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.cost.figures import DOCUMENT_BYTES, CostPoint
from httpdyno.experiments.cost.judge.trial import cost_summary, stamped_arrivals
from httpdyno.judge.outcome import ToolArtifacts, ending_from_report, tool_ending
from httpdyno.judge.reference import clock_bound_ns
from httpdyno.judge.trial import NO_CIRCUMSTANCES, Circumstances, trial_not_run, trial_refused
from httpdyno.judge.validity import Rule
from httpdyno.model import Counters, Outcome, Tally, ToolReport, Trial, TrialPlan, Validity, counters_from_report

__all__ = ["UNCHECKED", "judge_cost_tool"]

UNCHECKED: Final = "it reads the documents and checks none of them"
_OK: Final = "200"


def judge_cost_tool(
    plan: TrialPlan,
    artifacts: ToolArtifacts,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
    *,
    rules: Sequence[Rule],  # noqa: ARG001  # nothing of a tool is verified: no rule can make it valid
) -> Trial:
    """Put a trial of a tool into figures, which stand beside those of clients and are not ranked.

    Documents that came are those that the tool says it got and that the origin served. Nothing of them is verified: a
    tool that parses nothing does less than a client.
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
            # It tells nothing of single requests itself.
            requests=stamped_arrivals(artifacts.arrivals, bound_ns=clock_bound_ns(artifacts.report)),
        ),
        claimed_answers=claimed.requests,
        claimed_per_s=claimed.stated_per_s or claimed.requests_per_s,
    )
    judged = replace(trial.having(summary), tally=Tally(right=0, unverified=answered, missed_error=unserved))
    return replace(judged, validity=Validity.UNVERIFIED, validity_reason=UNCHECKED)


def _errors(claimed: ToolReport) -> str:
    told = ", ".join(f"{one.count:,} {one.name}" for one in claimed.errors if one.count)
    return (
        f"; errors: {told}"
        if told
        else "; it says nothing of an error, so that the server may have ended its connection"
    )


def _answered(claimed: ToolReport, counters: Counters) -> tuple[int, int]:
    """Return how many documents came, and how many more the tool claims than were served."""
    good = claimed.requests - (claimed.non_2xx or 0)
    if counters.statuses is None:
        return good, 0
    served = sum(one.count for one in counters.statuses if one.name == _OK)
    return min(good, served), max(0, good - served)
