"""Judge one trial, from its artifacts to its record: lines, verdicts, outcome, figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from typing import Any, BinaryIO, Final

import numpy as np
import polars as pl

from httpdyno.judge.cpu_time import COARSE_NS, CpuSeries, with_cpu_time
from httpdyno.judge.limit import Ceiling, is_saturated
from httpdyno.judge.lines import Lines
from httpdyno.judge.outcome import Ending, ending_from_report, outcome_of
from httpdyno.judge.reference import Reference
from httpdyno.judge.validity import Rule, with_validity
from httpdyno.judge.validity.stretch import LEAST_TURNS
from httpdyno.judge.verdict import TIMED_OUT_OVER_LINK, VERDICTS, judge_samples, outlasts_plan
from httpdyno.model import (
    Counters,
    ExplainedCase,
    KnownFailure,
    LinesSummary,
    Outcome,
    ProgramUse,
    Sample,
    Tally,
    Trial,
    TrialPlan,
    Validity,
    Verdict,
    counters_from_report,
    figures_of,
    schema,
)
from httpdyno.stats import percentile

_FIGURES: Final = ("status", "start_ns", "duration_ns", "body_length", "precision_ns")


def summarise_crawl(
    samples: pl.DataFrame, ending: Ending, *, urls_given: int, concurrency: int, deadline_s: float | None = None
) -> LinesSummary:
    """Summarise the samples of a crawl; ``deadline_s`` counts from exec.

    ``time_ns`` is from exec to the end of the last line (start plus duration, at most the end of the process), or to
    the end of the process if start times are coarser than 10 ms. The share and the rate of 2xx, and the mean length of
    their content, are defined as in the original benchmark: over all lines, per second of ``time_ns``, over 2xx.

    ``right_per_s`` counts the right answers that had ended when the last URL was started or at the deadline, per second
    from exec to that moment. So one 5 s stall at the end does not decide a 9 s trial. It is None if the list is shorter
    than four times the concurrency, because its end would be most of the trial, and if the right answers are unknown.
    """
    printed = samples.select(_FIGURES).filter(samples["line"].is_not_null())
    if printed.is_empty():
        return LinesSummary()
    durations_ns = np.sort(printed["duration_ns"].to_numpy())
    status_class = printed["status"] // 100
    classes = dict(status_class.value_counts().iter_rows())
    ok = classes.get(2, 0)
    time_ns = _time_ns(printed, ending)
    long = urls_given >= LEAST_TURNS * concurrency
    exhausted_ns, right_per_s = _right_rate(samples, ending, time_ns, long=long, deadline_s=deadline_s)
    lengths = printed["body_length"].filter(status_class == 2).drop_nulls()  # 2xx
    return LinesSummary(
        urls=len(printed),
        time_ns=time_ns,
        exhausted_ns=exhausted_ns,
        mean_ns=float(durations_ns.mean(dtype=np.float64)),
        max_ns=int(durations_ns[-1]),
        p50_ns=percentile(durations_ns, 50),
        p99_ns=percentile(durations_ns, 99),
        ok_per_s=ok * 1e9 / time_ns if time_ns else None,
        ok_share=ok / len(printed),
        mean_body_length=float(np.mean(lengths.to_numpy())) if len(lengths) else None,
        right_per_s=right_per_s,
        status_2xx=ok,
        status_3xx=classes.get(3, 0),
        status_4xx=classes.get(4, 0),
        status_5xx=classes.get(5, 0),
        exceptions=classes.get(None, 0) + classes.get(1, 0),
    )


def _time_ns(printed: pl.DataFrame, ending: Ending) -> int | None:
    """Return the time from exec to the client's last line."""
    if ending.started_at_ns is None or ending.ended_at_ns is None:
        return None
    wall_ns = ending.ended_at_ns - ending.started_at_ns
    if int(printed["precision_ns"].to_numpy().min()) > COARSE_NS:
        return wall_ns
    last_ns = int((printed["start_ns"] + printed["duration_ns"]).to_numpy().max())
    return min(max(last_ns - ending.started_at_ns, 0), wall_ns)


def _right_rate(
    samples: pl.DataFrame, ending: Ending, time_ns: int | None, *, long: bool, deadline_s: float | None
) -> tuple[int | None, float | None]:
    """Return when the list was exhausted, and the right answers a second until then or until the deadline."""
    right = samples["verdict"] == Verdict.RIGHT.value
    started_at_ns = ending.started_at_ns
    if started_at_ns is None or not time_ns:
        return None, None
    rated = long and not (samples["verdict"] == Verdict.UNVERIFIED.value).any()
    if ending.cut_short and samples["line"].null_count():
        # If there was no further answer until the deadline, the client is that slow.
        wall_ns = (ending.ended_at_ns or started_at_ns) - started_at_ns
        lasted_ns = max(time_ns, min(wall_ns, round((deadline_s or 0) * 1e9)))
        return None, int(right.sum()) * 1e9 / lasted_ns if rated else None
    starts_ns = samples["start_ns"]
    last_start = int(starts_ns.drop_nulls().to_numpy().max())
    exhausted_ns = min(max(last_start - started_at_ns, 0), time_ns)
    if not rated or exhausted_ns == 0:
        return exhausted_ns, None
    ended = int((right & (starts_ns + samples["duration_ns"] <= last_start)).sum())
    return exhausted_ns, ended * 1e9 / exhausted_ns


_SAID_WRONG: Final = pl.Series([Verdict.WRONG_STATUS.value, Verdict.WRONG_LENGTH.value], dtype=VERDICTS)


@dataclass(frozen=True, slots=True)
class JudgedTrial:
    """A trial's record, and its samples with the columns of ``model.Sample``."""

    trial: Trial
    samples: pl.DataFrame


@dataclass(frozen=True, slots=True)
class TrialArtifacts:
    """Files and reports that a trial left."""

    report: Mapping[str, Any]
    """The engine's report, version 1, parsed from JSON."""
    lines: Lines
    """The client's lines."""
    stderr: str = ""
    """The end of the client's standard error."""
    round_trip_ns: int | None = None
    """Round trip of a packet between client and peer, measured in such a room; None: not measured."""
    output: BinaryIO = field(default_factory=BytesIO)
    """The output behind ``lines``, for a client that times itself, which prints something else."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Facts about a trial that its artifacts do not contain; they are recorded, and the rules of validity read them."""

    version: str | None = None
    """Version of the subject."""
    cool_down_ns: int | None = None
    """Duration of the cool-down before the trial."""
    cool_down_reason: str | None = None
    """Reason for the cool-down."""
    other_programs: tuple[ProgramUse, ...] | None = None
    """Other programs that used the CPU during the trial; None: not recorded."""
    ceiling: Ceiling | None = None
    """Highest rate of the fetcher on the same web; None: not measured."""


NO_CIRCUMSTANCES: Final = Circumstances()


Judge = Callable[[TrialPlan, TrialArtifacts, Reference, Sequence[Rule], Circumstances], JudgedTrial]
"""Judge of a client's trial, with the given rules of validity: from its artifacts to its record."""


def judge_crawl(
    plan: TrialPlan,
    artifacts: TrialArtifacts,
    reference: Reference,
    rules: Sequence[Rule],
    circumstances: Circumstances = NO_CIRCUMSTANCES,
) -> JudgedTrial:
    """Judge one crawl of one client."""
    counters = counters_from_report(artifacts.report)
    ending = ending_from_report(artifacts.report, artifacts.stderr)
    if ending.refused:
        return JudgedTrial(trial_refused(plan, artifacts.report, circumstances), pl.DataFrame())
    timeout_ns = round(plan.condition.workload.timeout_s * 1e9)
    lines = artifacts.lines
    over_link = outlasts_plan(plan.condition.link, timeout_ns=timeout_ns)
    known_failures = (*plan.subject.known_failures, *([TIMED_OUT_OVER_LINK] if over_link else ()))
    judged = judge_samples(
        lines.frame,
        reference,
        timeout_ns=timeout_ns,
        cut_short=ending.cut_short,
        saturated=is_saturated(lines.frame["start_ns"], counters, concurrency=plan.concurrency),
        over_link=over_link,
        known_cases=[failure.case for failure in known_failures],
    )
    outcome, reason = outcome_of(ending, lines, judged, timeout_ns=timeout_ns)
    tally = _tally(judged.samples, known_failures, ours=plan.condition.peer is None)
    urls_given = len(reference.expectations)
    summary = summarise_crawl(
        judged.samples,
        ending,
        urls_given=urls_given,
        concurrency=plan.concurrency,
        deadline_s=plan.condition.deadline_s,
    )
    summary = with_cpu_time(summary, judged.samples, CpuSeries.of(artifacts.report), counters)
    summary = replace(summary, planned_mean_ns=reference.planned_mean_ns)
    unjudged = replace(
        trial_not_run(plan, outcome, reason, circumstances, urls_given=urls_given).having(summary),
        garbage_lines=lines.garbage,
        tally=tally,
        counters=counters,
    )
    columns = [field.name for field in schema(Sample)]
    number = pl.lit(plan.number, dtype=pl.Int32).alias("trial")
    return JudgedTrial(with_validity(unjudged, rules), judged.samples.with_columns(number).select(columns))


def trial_refused(plan: TrialPlan, report: Mapping[str, Any], circumstances: Circumstances = NO_CIRCUMSTANCES) -> Trial:
    """Return the record of a trial whose instrument failed: its link missed the settings, or its peer was lost."""
    link = report.get("link") or {}
    reason = str(link.get("reason") or report.get("reason") or "the link missed its settings")
    trial = trial_not_run(plan, Outcome.REFUSED, reason, circumstances)
    # If the subject was not started, nothing was counted: a 0 would be a count.
    counters = counters_from_report({**report, "subject": None})
    lost = report.get("outcome") in {"origin_lost", "peer_failed"}
    validity = Validity.ORIGIN_LIMITED if lost else Validity.LINK_LIMITED
    return replace(trial, validity=validity, validity_reason=reason, counters=counters)


def trial_not_run(
    plan: TrialPlan,
    outcome: Outcome,
    reason: str | None,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
    *,
    urls_given: int = 0,
) -> Trial:
    """Return the record of a trial without results, because the subject is not available."""
    condition, ceiling = plan.condition, circumstances.ceiling
    return Trial(
        trial=plan.number,
        block=plan.block,
        position=plan.position,
        experiment=condition.experiment,
        condition=condition.name,
        subject=plan.subject.id,
        language=plan.subject.language,
        method=plan.subject.method,
        version=circumstances.version,
        concurrency=plan.concurrency,
        web=condition.web,
        seed=condition.seed,
        link=condition.link_name,
        timeout_ns=round(condition.workload.timeout_s * 1e9),
        keepalive=condition.workload.keepalive,
        check=condition.workload.check,
        http_version=condition.workload.http_version,
        urls_given=urls_given,
        outcome=outcome,
        reason=reason,
        counters=Counters(),
        cool_down_ns=circumstances.cool_down_ns,
        cool_down_reason=circumstances.cool_down_reason,
        other_programs=circumstances.other_programs,
        purpose=plan.purpose,
        ceiling_per_s=ceiling.right_per_s if ceiling else None,
        ceiling_limit=ceiling.limit if ceiling else None,
        peer=condition.peer or "origin",
        batch=condition.batch,
        harness=condition.workload.harness,
        receive_steering=condition.receive_steering,
        figures={} if condition.point is None else figures_of(condition.point),
    )


def _tally(samples: pl.DataFrame, known_failures: Sequence[KnownFailure], *, ours: bool) -> Tally:
    """Count verdicts; ``ours``: the origin is our own, which answers the same however busy it is."""
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
        surely_wrong=_surely_wrong(samples) if ours else None,
    )


def _surely_wrong(samples: pl.DataFrame) -> int:
    """Count wrong answers that load on the machine cannot cause: it changes no status and no length.

    A status instead of an expected error is one of them, unless the answer arrives too late: a busy client may see the
    answer before it sees its clock.
    """
    verdict = samples["verdict"]
    served = verdict.is_in(_SAID_WRONG.implode())
    broken = (verdict == Verdict.MISSED_ERROR.value) & samples["cause"].ne_missing("timeout")
    return int(((served | broken) & ~samples["explained"]).sum())
