"""One trial of the latency question: of a client's lines judged like a crawl, then by what a call cost."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from httpdyno.errors import UnreadableReport
from httpdyno.experiments.latency.figures import LatencyPoint
from httpdyno.experiments.latency.judge.harness import summarise_harness, tally_harness
from httpdyno.experiments.latency.judge.lines import Seen, summarise_lines
from httpdyno.judge.cpu_time import CpuSeries
from httpdyno.judge.lines import LINE_COLUMNS, Lines, read_harness_line
from httpdyno.judge.outcome import Ending, ending_from_report, outcome_of
from httpdyno.judge.reference import Expectations, Reference
from httpdyno.judge.trial import (
    NO_CIRCUMSTANCES,
    Circumstances,
    JudgedTrial,
    TrialArtifacts,
    judge_crawl,
    trial_not_run,
    trial_refused,
)
from httpdyno.judge.validity import Rule, with_validity
from httpdyno.judge.verdict import Judged
from httpdyno.model import Counters, LinesSummary, Outcome, Trial, TrialPlan, Verdict, counters_from_report

__all__ = ["judge_latency"]

_LONGEST_LINE: Final = 1 << 20
_NO_LINES: Final = pl.DataFrame(schema=LINE_COLUMNS)


def judge_latency(
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
    point = plan.condition.get(LatencyPoint)
    assert point is not None, "who asks what a call costs has a point"
    if plan.condition.workload.harness:
        return _timed_itself(plan, artifacts, reference, circumstances, rules)
    judged = judge_crawl(plan, artifacts, reference, circumstances, rules=rules)
    if judged.trial.outcome is Outcome.REFUSED:
        return judged
    counters = judged.trial.counters
    seen = Seen(
        arrivals=reference.arrivals,
        round_trip_ns=artifacts.round_trip_ns,
        connections_per_call=_connections_per_call(counters),
        cpu=CpuSeries.of(artifacts.report),
        clock_bound_ns=reference.clock_bound_ns,
    )
    trial = _advised(judged.trial).having(summarise_lines(judged.samples, point, seen))
    return JudgedTrial(_without_rest(trial), _reached(judged.samples))


def _advised(trial: Trial) -> Trial:
    """Return what to do about a client that printed nothing: on a busy machine some take seconds to start."""
    if trial.outcome is not Outcome.HUNG or (trial.summary and trial.summary.urls):
        return trial
    return replace(trial, reason=f"{trial.reason}; if it only starts slowly, give it more time (--duration)")


def _without_rest(trial: Trial) -> Trial:
    """Forget what was not reached: the list is longer than the time on purpose."""
    return trial if trial.tally is None else replace(trial, tally=replace(trial.tally, not_reached=0))


def _reached(samples: pl.DataFrame) -> pl.DataFrame:
    return samples.filter(pl.col("verdict") != Verdict.NOT_REACHED.value) if samples.width else samples


def _timed_itself(
    plan: TrialPlan,
    artifacts: TrialArtifacts,
    reference: Reference,
    circumstances: Circumstances,
    rules: Sequence[Rule],
) -> JudgedTrial:
    ending = ending_from_report(artifacts.report, artifacts.stderr)
    if ending.refused:
        return JudgedTrial(trial_refused(plan, artifacts.report, circumstances), pl.DataFrame())
    counters = counters_from_report(artifacts.report)
    timeout_ns = round(plan.condition.workload.timeout_s * 1e9)
    outcome, reason = _ended(ending, reference.expectations, timeout_ns=timeout_ns)
    trial = replace(trial_not_run(plan, outcome, reason, circumstances, urls_given=1), counters=counters)
    if outcome is not Outcome.OK:
        return JudgedTrial(trial, pl.DataFrame())
    try:
        timed = read_harness_line(artifacts.output.read(_LONGEST_LINE).decode(errors="replace"))
    except UnreadableReport as error:
        return JudgedTrial(replace(trial, outcome=Outcome.GARBAGE, reason=error.line), pl.DataFrame())
    trial = replace(
        trial.having(LinesSummary(urls=timed.calls, time_ns=counters.wall_ns), summarise_harness(timed)),
        tally=tally_harness(timed, reference.expectations, requests=counters.requests),
    )
    if not timed.is_ok:
        return JudgedTrial(
            replace(trial, outcome=Outcome.GARBAGE, reason=f"a call ended with {timed.outcome}"), pl.DataFrame()
        )
    return JudgedTrial(with_validity(trial, rules), pl.DataFrame())


def _ended(ending: Ending, expectations: Expectations, *, timeout_ns: int) -> tuple[Outcome, str | None]:
    """Name how the process ended; until its end it prints nothing, so that a deadline finds it hanging."""
    unprinted = expectations.distinct.select(
        "url", "cause", *(pl.lit(None, pl.Int64()).alias(name) for name in ("line", "start_ns", "duration_ns"))
    )
    judged = Judged(unprinted, missing=len(unprinted)) if ending.cut_short else Judged(unprinted.clear())
    return outcome_of(ending, Lines(_NO_LINES, 0, ()), judged, timeout_ns=timeout_ns)


def _connections_per_call(counters: Counters) -> float | None:
    """Return how many connections a call opens; None where nobody counted: some clients do not keep what they may."""
    if not counters.requests or counters.connections is None:
        return None
    return min(counters.connections / counters.requests, 1.0)
