"""One trial from its files to its record: the lines, their verdicts, the outcome, the figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

import polars as pl

from httpdyno.judge.crawl import summarise_crawl
from httpdyno.judge.lines import read_lines
from httpdyno.judge.outcome import ending_from_report, outcome_of
from httpdyno.judge.reference import Reference
from httpdyno.judge.saturation import is_saturated
from httpdyno.judge.validity import judge_validity
from httpdyno.judge.verdict import judge_samples
from httpdyno.model import (
    Counters,
    ExplainedCase,
    KnownFailure,
    Outcome,
    Sample,
    Tally,
    Trial,
    TrialPlan,
    Verdict,
    counters_from_report,
    schema,
)

__all__ = ["JudgedTrial", "Remains", "judge_crawl", "trial_not_run"]


@dataclass(frozen=True, slots=True)
class JudgedTrial:
    """A trial's record, and its samples with the columns of ``model.Sample``."""

    trial: Trial
    samples: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Remains:
    """What a trial left.

    Attributes
    ----------
    report : Mapping[str, Any]
        The engine's report, version 1, parsed from JSON.
    output : BinaryIO
        What the client wrote to its standard output.
    stderr : str
        The end of what the client wrote to its standard error.
    """

    report: Mapping[str, Any]
    output: BinaryIO
    stderr: str = ""


def judge_crawl(plan: TrialPlan, remains: Remains, reference: Reference, *, version: str | None = None) -> JudgedTrial:
    """Judge one crawl of one client.

    Parameters
    ----------
    plan : TrialPlan
        What was asked for.
    remains : Remains
        What the trial left.
    reference : Reference
        What the web serves for each URL given, and what arrived at the origin.
    version : str | None
        The version of the client's library.

    Raises
    ------
    EngineFailed
        If the report cannot be read.
    """
    counters = counters_from_report(remains.report)
    ending = ending_from_report(remains.report, remains.stderr)
    timeout_ns = round(plan.condition.workload.timeout_s * 1e9)
    lines = read_lines(remains.output, cut_short=ending.killed)
    judged = judge_samples(
        lines.frame,
        reference,
        timeout_ns=timeout_ns,
        cut_short=ending.cut_short,
        saturated=is_saturated(lines.frame["start_ns"], counters, concurrency=plan.concurrency),
        known_cases=[failure.case for failure in plan.subject.known_failures],
    )
    outcome, reason = outcome_of(ending, lines, judged, timeout_ns=timeout_ns)
    tally = _tally(judged.samples, plan.subject.known_failures)
    urls_given = len(reference.expectations)
    trial = replace(
        trial_not_run(plan, outcome, reason, version=version, urls_given=urls_given),
        garbage_lines=lines.garbage,
        summary=summarise_crawl(judged.samples, ending, urls_given=urls_given, concurrency=plan.concurrency),
        tally=tally,
        counters=counters,
    )
    validity, validity_reason = judge_validity(trial)
    trial = replace(trial, validity=validity, validity_reason=validity_reason)
    columns = [field.name for field in schema(Sample)]
    number = pl.lit(plan.number, dtype=pl.Int32).alias("trial")
    return JudgedTrial(trial, judged.samples.with_columns(number).select(columns))


def trial_not_run(
    plan: TrialPlan, outcome: Outcome, reason: str | None, *, version: str | None = None, urls_given: int = 0
) -> Trial:
    """Make the record of a trial from its plan alone: all there is when the subject is not available."""
    condition = plan.condition
    return Trial(
        trial=plan.number,
        block=plan.block,
        position=plan.position,
        experiment=condition.experiment,
        condition=condition.name,
        subject=plan.subject.id,
        language=plan.subject.language,
        method=plan.subject.method,
        version=version,
        concurrency=plan.concurrency,
        web=condition.web,
        seed=condition.seed,
        link=str(condition.link),
        timeout_ns=round(condition.workload.timeout_s * 1e9),
        keepalive=condition.workload.keepalive,
        check=condition.workload.check,
        http_version=condition.workload.http_version,
        urls_given=urls_given,
        outcome=outcome,
        reason=reason,
        counters=Counters(),
    )


def _tally(samples: pl.DataFrame, known_failures: Sequence[KnownFailure]) -> Tally:
    counts = dict(samples["verdict"].value_counts().iter_rows())
    explained = dict(samples["cause"].filter(samples["explained"]).value_counts().iter_rows())
    cases = {
        failure.case: ExplainedCase(failure.case, failure.reason, failure.issue, explained[failure.case])
        for failure in known_failures
        if failure.case in explained
    }
    return Tally(
        **{verdict.value: counts.get(verdict.value, 0) for verdict in Verdict},
        explained=sum(explained.values()),
        explained_cases=tuple(cases.values()),
    )
