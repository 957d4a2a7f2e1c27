"""Judge capacity trials: whether a point was held, its margin, and the rules of validity."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from httpdyno.errors import EngineFailed
from httpdyno.experiments.capacity.figures import (
    ERRORS,
    RECORDED_FIGURES,
    CapacityPoint,
    CapacitySummary,
    parse_objective,
)
from httpdyno.experiments.capacity.limits import (
    KEPT_SHARE,
    add_limit,
    cap_to_link,
)
from httpdyno.installation import RENEW_ENGINE
from httpdyno.judge.outcome import ToolArtifacts, ending_from_report, tool_ending
from httpdyno.judge.rankable import rankable_trials
from httpdyno.judge.reference import Reference
from httpdyno.judge.trial import (
    NO_CIRCUMSTANCES,
    Circumstances,
    JudgedTrial,
    TrialArtifacts,
    judge_crawl,
    trial_not_run,
    trial_refused,
)
from httpdyno.judge.validity import RULES, Evidence, Reading, Rule, rules_for, with_validity
from httpdyno.judge.validity.readings import ON_SCHEDULE, drift
from httpdyno.model import (
    Counters,
    Loop,
    Outcome,
    Tally,
    ToolReport,
    Trial,
    TrialPlan,
    Validity,
    Verdict,
    counters_from_report,
)
from httpdyno.stats import Int64Array, percentile
from httpdyno.stats.steadiness import warm_up_length

Figures = Mapping[str, float | None]
"""Inputs of ``Objective.judge``: times in nanoseconds and the share of errors; None if unknown."""


def _figures(times_ns: Int64Array, errors_share: float | None) -> Figures:
    """Return percentiles, mean and maximum of times in any order, and the share of errors."""
    names = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9}
    if not len(times_ns):
        return {**dict.fromkeys([*names, "mean", "max"]), ERRORS: errors_share}
    ordered = np.sort(times_ns)
    ranks = {name: float(percentile(ordered, rank)) for name, rank in names.items()}
    return ranks | {"mean": float(ordered.mean(dtype=np.float64)), "max": float(ordered[-1]), ERRORS: errors_share}


def _recorded(figures: Figures) -> dict[str, Any]:
    """Return figures under their names in the record, without the mean, which is measured from the actual send."""
    return {field: figures[name] for name, field in RECORDED_FIGURES.items() if name != "mean"}


# At the start of a closed loop, connections open and all requests of the first round are sent at once; at the end,
# fewer and fewer are in flight. In between, each answer triggers the next request, so the send times of requests show
# when answers arrived.
_FEWEST_COMPLETIONS: Final = 3
"""Fewest completions of a steady stretch."""
_ROUNDS_LEFT: Final = 4
"""Rounds that must remain after dropping the first one; with fewer, the first round is kept despite its disturbance."""
_ROUNDS_COMPARED: Final = 2
"""Fewest rounds with a time between rounds."""


@dataclass(frozen=True, slots=True)
class ClosedStretch:
    """From the first completion that counts to the last, since the Unix epoch."""

    begin_ns: int
    end_ns: int
    per_s: float
    """Completions for each second of it, right ones or not."""
    is_silent: bool = False
    """Whether answers stopped before its end, although requests were in flight."""


def sampled_stretch(samples: pl.DataFrame, *, concurrency: int, ended_at_ns: int | None = None) -> ClosedStretch | None:
    """Find the steady stretch in a client's samples; it ends when the list was exhausted, or at the deadline.

    ``samples`` have ``start_ns`` and ``duration_ns``, null where a URL has no line. ``ended_at_ns`` is when the client
    ended; None: with its last line. Return None for fewer than three lines.

    References
    ----------
    Little, A proof for the queuing formula L = lambda W (1961), Operations Research 9(3): the rate is at most the
    number in flight over the mean time of an answer.
    """
    printed = samples.select("start_ns", "duration_ns").drop_nulls()
    if len(printed) < _FEWEST_COMPLETIONS:
        return None
    is_exhausted = len(printed) == len(samples)
    starts, durations = (printed[name].to_numpy() for name in ("start_ns", "duration_ns"))
    begun_ns, all_ends = int(starts.min()), starts + durations
    ends = np.sort(all_ends)
    if is_exhausted and len(ends) >= (1 + _ROUNDS_COMPARED) * concurrency:
        # Another request followed each of these; after the last of them the list was exhausted.
        ends = ends[: len(ends) - concurrency]
    stretch = _stretch(ends, concurrency, begun_ns=begun_ns)
    if stretch is None:
        return None
    within = durations[(all_ends >= stretch.begin_ns) & (all_ends <= stretch.end_ns)]
    if (mean_ns := float(within.mean())) > 0:
        stretch = replace(stretch, per_s=min(stretch.per_s, concurrency * 1e9 / mean_ns))
    silent_ns = 0 if ended_at_ns is None else ended_at_ns - int(all_ends.max())
    if not is_exhausted and ended_at_ns is not None and stretch.per_s * silent_ns / 1e9 > concurrency:
        # A request of a closed loop waits longer than a round only if answers have stopped.
        per_s = len(printed) * 1e9 / (ended_at_ns - begun_ns)
        return ClosedStretch(begun_ns, ended_at_ns, min(stretch.per_s, per_s), is_silent=True)
    return stretch


def sent_stretch(arrivals_ns: Int64Array, *, concurrency: int) -> ClosedStretch | None:
    """Find the steady stretch of a closed-loop tool in the arrivals at the origin.

    Arrivals come in any order; each after the first round means that an answer arrived half a round trip before.
    Return None for fewer than three requests beyond the first round.
    """
    arrivals = np.sort(arrivals_ns)
    answers = arrivals[concurrency:]
    return _stretch(answers, concurrency, begun_ns=int(arrivals[0])) if len(answers) >= _FEWEST_COMPLETIONS else None


def _stretch(ends: Int64Array, concurrency: int, *, begun_ns: int) -> ClosedStretch | None:
    """Count whole rounds of completions, and fit a line through their count over time.

    If answers are few and long, a plain count between two moments depends on which answers happened to end in time. If
    all answers of a round arrive at once, as with a constant delay, the count is wrong by a part of a round; behind a
    full queue that is shared unfairly, by a tenth. The slope of a line through all answers is exact in the first case,
    and three times as precise as the count in the second.
    """
    first = concurrency if len(ends) >= (1 + _ROUNDS_LEFT) * concurrency else 0
    rounds = (len(ends) - first) // concurrency
    if rounds >= _ROUNDS_COMPARED:
        used = ends[first : first + rounds * concurrency]
        if (per_s := _slope_per_s(used)) is not None:
            return ClosedStretch(int(used[0]), int(used[-1]), per_s)
    length_ns = int(ends[-1]) - begun_ns
    return ClosedStretch(begun_ns, int(ends[-1]), len(ends) * 1e9 / length_ns) if length_ns > 0 else None


def _slope_per_s(times_ns: Int64Array) -> float | None:
    """Return the least-squares slope of a count over the times, ascending, at which it grew; None without two times."""
    if not len(times_ns):
        return None
    times = (times_ns - times_ns[0]) / 1e9
    spread = times - times.mean()
    square = float(spread @ spread)
    return float(spread @ np.arange(len(times), dtype=np.float64)) / square if square > 0 else None


_FEWEST_A_BIN: Final = 5
_MOST_BINS: Final = 200
_FEW_ROUNDS: Final = 3
_NEARLY_ALL: Final = 95.0
"""Percentile used for the end of the warm-up, so that one stalled request cannot consume the stretch."""
_NUMBER: Final = r"(\d+)$"
"""A URL of a series ends with its number."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Schedule of requests: request ``n`` is due ``n / rate`` seconds after the start."""

    started_at_ns: int
    """Since the Unix epoch."""
    rate_per_s: float
    count: int

    @property
    def end_ns(self) -> int:
        """Due time after the last request."""
        return int(self.due_ns(np.array([self.count]))[0])

    def due_ns(self, numbers: Int64Array) -> Int64Array:
        """Return the due times of requests."""
        return self.started_at_ns + np.round(numbers * (1e9 / self.rate_per_s)).astype(np.int64)


def summarise_open(
    samples: pl.DataFrame, schedule: Schedule, *, concurrency: int, ended_at_ns: int
) -> tuple[CapacitySummary, Figures]:
    """Compute the figures of an open loop from its samples.

    The steady stretch ends with the schedule. Requests that were due in it give response times and errors; right
    answers that came in it give the rate. A request without an answer counts as one that waited until the end of the
    trial, so that a long stall is not left out.

    ``samples`` have a row for each URL of the series: ``url``, ``start_ns``, ``duration_ns`` (null where it was not
    reached) and ``verdict``; rows beyond the schedule are left out. The summary has no judgement yet.

    References
    ----------
    Tene, How not to measure latency (2013): coordinated omission.
    """
    is_reached = pl.col("start_ns").is_not_null()
    end = pl.col("start_ns") + pl.col("duration_ns").fill_null(0)
    requests = (
        samples.with_columns(
            number=pl.col("url").str.extract(_NUMBER).cast(pl.Int64),
            start=pl.col("start_ns").fill_null(ended_at_ns),
            end=pl.when(is_reached).then(end).otherwise(ended_at_ns),
            right=pl.col("verdict") == Verdict.RIGHT.value,
            reached=is_reached,
        )
        .filter(pl.col("number") < schedule.count)
        .sort("number", maintain_order=True)
    )
    number, starts, ends, right, reached = (
        requests[name].to_numpy() for name in ("number", "start", "end", "right", "reached")
    )
    due = schedule.due_ns(number)
    response = np.maximum(ends - due, 0)
    begin_ns, end_ns = _begin_ns(due, ends, response, schedule), schedule.end_ns
    is_due = due >= begin_ns
    errors = int((is_due & reached & ~right).sum())
    figures = _figures(response[is_due & (right | ~reached)], errors / int(is_due.sum()) if is_due.any() else None)
    answered = right & (ends > begin_ns) & (ends <= end_ns)
    answers = int(answered.sum())
    per_s = service_mean_ns = None
    if answers:
        # Answers beyond the due ones belong to earlier requests: catching up is not a higher rate.
        per_s = min(_per_s(ends[answered], end_ns - begin_ns, concurrency), schedule.rate_per_s)
        service_mean_ns = float((ends - starts)[answered].mean())
    length_ns = end_ns - begin_ns
    return CapacitySummary(answers, errors, length_ns, per_s, service_mean_ns, **_recorded(figures)), figures


def _begin_ns(due: Int64Array, ends: Int64Array, response: Int64Array, schedule: Schedule) -> int:
    """Find the start of the steady stretch, which covers at least half of the schedule.

    MSER-5 on the response times, in the order in which requests were due, gives the end of the warm-up; it is not
    before the first answer can have come.
    """
    bins = min(_MOST_BINS, len(response) // _FEWEST_A_BIN)
    warm_up = 0
    if bins:
        size = len(response) // bins
        means = response[: bins * size].reshape(bins, size).mean(axis=1)
        warm_up = warm_up_length(means) * size
    settled = schedule.started_at_ns + int(np.median(response[warm_up:]))
    if warm_up:
        # Late answers of the warm-up do not count either: they would raise the rate at the beginning.
        settled = max(settled, int(due[warm_up]), percentile(np.sort(ends[:warm_up]), _NEARLY_ALL))
    return min(settled, (schedule.started_at_ns + schedule.end_ns) // 2)


def _per_s(ends: Int64Array, length_ns: int, concurrency: int) -> float:
    """Return the answers a second of a stretch.

    Where all slots are busy, answers of a round come together, and chance decides whether one round more lies within
    the stretch: whole rounds are counted over the time that they took. The rate of the whole stretch is an upper bound,
    as there may have been a silence at its end.
    """
    overall = len(ends) * 1e9 / length_ns
    if len(ends) < _FEW_ROUNDS * concurrency:
        return overall
    ordered = np.sort(ends)
    took_ns = int(ordered[-1] - ordered[concurrency - 1])
    return min(overall, (len(ends) - concurrency) * 1e9 / took_ns) if took_ns else overall


_JITTER_NS: Final = 30_000_000
_FEW_ANSWERS: Final = 2
"""Tolerance of a short stretch, which cannot resolve 1 %: 30 ms, or two answers, at its ends are chance."""
_BY_MACHINE: Final = frozenset({Validity.ORIGIN_LIMITED, Validity.LINK_LIMITED, Validity.DISTURBED, Validity.UNSTEADY})


def conclude_trial(trial: Trial, plan: TrialPlan, figures: Figures, rules: Sequence[Rule]) -> Trial:
    """Decide whether the point of a trial with figures was held, and find its limit."""
    trial = cap_to_link(with_validity(trial, rules))
    point, summary = plan.condition.get(CapacityPoint), trial.get(CapacitySummary)
    if point is None or summary is None:
        return trial
    held, why_not = _judge_point(trial, summary, point, figures)
    return add_limit(trial.having(replace(summary, held=held, why_not=why_not)))


def is_reliable(trial: Trial) -> bool:
    """Return whether a trial's result is reliable.

    A busy origin or a disturbed machine makes a subject look worse, never better. A held point therefore always counts;
    a failure counts only if the subject alone caused it.
    """
    summary = trial.get(CapacitySummary)
    held = summary is not None and summary.held
    return bool(rankable_trials([trial]) or (held and trial.outcome is Outcome.OK and trial.validity in _BY_MACHINE))


def at_measured_distance(point: CapacityPoint, trial: Trial) -> CapacityPoint:
    """Return the point with the round-trip time for the objective: on a real network, the measured one."""
    against = trial.counters.against
    if against is None or against.rtt_min_ns is None:
        return point
    return replace(point, round_trip_ns=against.rtt_min_ns)


def _judge_point(
    trial: Trial, summary: CapacitySummary, point: CapacityPoint, figures: Figures
) -> tuple[bool | None, str | None]:
    if trial.outcome is Outcome.INTERRUPTED:
        return None, None
    if trial.outcome is not Outcome.OK:
        return False, trial.reason
    if summary.per_s is None:
        return False, "nothing was answered"
    target = point.target_per_s
    if target is not None:
        share = min(KEPT_SHARE, 1 - _JITTER_NS / summary.measured_ns)
        if point.loop is Loop.OPEN:
            # The rate of a closed loop does not count answers that came in time.
            share = min(share, 1 - _FEW_ANSWERS / (target * summary.measured_ns / 1e9))
        if summary.per_s < share * target:
            return False, f"{summary.per_s:,.0f} right answers a second, not {target:,.0f}"
    return parse_objective(point.objective or "").judge(at_measured_distance(point, trial), figures)


_NOTHING = CapacitySummary(answers=0, errors=0, measured_ns=0)


def judge_capacity(
    plan: TrialPlan,
    artifacts: TrialArtifacts,
    reference: Reference,
    rules: Sequence[Rule],
    circumstances: Circumstances = NO_CIRCUMSTANCES,
) -> JudgedTrial:
    """Judge one trial of one client at the point of its condition.

    The list is a series: each URL ends with its number.
    """
    judged = judge_crawl(plan, artifacts, reference, rules, circumstances)
    point = plan.condition.get(CapacityPoint)
    assert point is not None, "capacity conditions have a point"
    if judged.trial.outcome is Outcome.REFUSED:
        return judged
    trial = judged.trial
    if trial.outcome is Outcome.HUNG and artifacts.report.get("outcome") == "deadline":
        # A subject that was silent at its deadline was overloaded.
        trial = replace(trial, outcome=Outcome.OK, reason=None)
    if point.loop is Loop.CLOSED:
        summary, figures = _closed(judged.samples, point, trial.counters.ended_at_ns)
    else:
        summary, figures = _open(judged.samples, trial, artifacts)
    return replace(judged, trial=conclude_trial(trial.having(summary), plan, figures, rules))


def _open(samples: pl.DataFrame, trial: Trial, artifacts: TrialArtifacts) -> tuple[CapacitySummary, Figures]:
    fed, ended_at_ns = artifacts.report.get("fed"), (artifacts.report.get("subject") or {}).get("ended_at_ns")
    if not isinstance(fed, dict) or ended_at_ns is None:
        if trial.outcome is not Outcome.OK:
            return _NOTHING, {}
        raise EngineFailed(f"the engine's report does not say when it fed the subject; {RENEW_ENGINE}")
    started_at_ns, rate_per_s = int(fed["started_at_ns"]), float(fed["rate_per_s"])
    # A subject that started late may have ended before its whole schedule was due; the rest does not count.
    due = int((int(ended_at_ns) - started_at_ns) / 1e9 * rate_per_s)
    if not fed["lines"] or due < 1:
        return _NOTHING, {}
    schedule = Schedule(started_at_ns, rate_per_s, min(due, trial.urls_given))
    return summarise_open(samples, schedule, concurrency=trial.concurrency, ended_at_ns=int(ended_at_ns))


def _closed(samples: pl.DataFrame, point: CapacityPoint, ended_at_ns: int | None) -> tuple[CapacitySummary, Figures]:
    stretch = sampled_stretch(samples, concurrency=point.concurrency, ended_at_ns=ended_at_ns)
    if stretch is None:
        return _NOTHING, {}
    ends = pl.col("start_ns") + pl.col("duration_ns")
    within = samples.filter((ends >= stretch.begin_ns) & (ends <= stretch.end_ns))
    times = within.filter(pl.col("verdict") == Verdict.RIGHT.value)["duration_ns"].to_numpy()
    # Requests in flight when answers stopped were never answered.
    ended = len(within) + (point.concurrency if stretch.is_silent else 0)
    answers, errors = len(times), ended - len(times)
    figures = _figures(times, errors / ended if ended else None)
    per_s = stretch.per_s * answers / ended if answers else None
    length_ns = stretch.end_ns - stretch.begin_ns
    return CapacitySummary(answers, errors, length_ns, per_s, figures["mean"], **_recorded(figures)), figures


_ROUNDED: Final = 0.01
"""Rounding error of tools that print bytes with three digits."""


def judge_capacity_tool(
    plan: TrialPlan,
    artifacts: ToolArtifacts,
    rules: Sequence[Rule],
    circumstances: Circumstances = NO_CIRCUMSTANCES,
) -> Trial:
    """Compute the figures of a tool's trial, and decide whether it held its point.

    The origin gives the number of answers, since tools differ in what they count and for how long. Only the tool can
    give response times. The record keeps the tool's other claims; answers claimed beyond those served count as wrong.
    A failed trial has no figures. Without a version, the tool's user agent gives it.
    """
    point = plan.condition.get(CapacityPoint)
    assert point is not None, "a tool is measured at a point"
    ending = ending_from_report(artifacts.report, artifacts.stderr)
    if ending.refused:
        return trial_refused(plan, artifacts.report, circumstances)
    counters = counters_from_report(artifacts.report)
    outcome, reason, claimed = tool_ending(plan, ending, artifacts.text)
    # The most frequent user agent has the version: ``hey/0.0.1``.
    agent = max(counters.user_agents or (), key=lambda agent: agent.count, default=None)
    version = agent.name.split(" ", 1)[0].partition("/")[2] if agent else ""
    circumstances = replace(circumstances, version=circumstances.version or version or None)
    trial = trial_not_run(plan, outcome, reason, circumstances, urls_given=counters.requests or 0)
    trial = replace(trial, counters=counters)
    if claimed is None:
        return trial
    arrivals = np.sort(artifacts.arrivals["at_ns"].to_numpy())
    if point.loop is Loop.CLOSED:
        stretch = sent_stretch(arrivals, concurrency=point.concurrency)
    else:
        # On a schedule all of it counts, from the first request to the last.
        per_s = _slope_per_s(arrivals)
        stretch = None if per_s is None else ClosedStretch(int(arrivals[0]), int(arrivals[-1]), per_s)
    figures = tool_figures(claimed)
    share = 1 - (figures[ERRORS] or 0.0)
    within = right = length_ns = 0
    if stretch is not None:
        within = int(((arrivals >= stretch.begin_ns) & (arrivals <= stretch.end_ns)).sum())
        right, length_ns = round(within * share), stretch.end_ns - stretch.begin_ns
    summary = CapacitySummary(
        *(right, within - right, length_ns, None if stretch is None else stretch.per_s * share, figures["mean"]),
        claimed_answers=claimed.requests,
        claimed_per_s=claimed.stated_per_s or claimed.requests_per_s,
        **_recorded(figures),
    )
    trial = replace(trial.having(summary), tally=_tally(claimed, counters, point))
    return conclude_trial(trial, plan, figures, rules)


def tool_figures(claimed: ToolReport) -> Figures:
    """Return the figures of objectives that a tool reports.

    Errors, and answers with another status than 2xx, are a share of all requests that ended.
    """
    latency = claimed.latency
    percentiles = latency.percentiles_ns if latency else {}
    ended = claimed.requests + claimed.error_count
    return {f"p{rank:g}": percentiles.get(rank) for rank in (50.0, 90.0, 99.0, 99.9)} | {
        "mean": latency.mean_ns if latency else None,
        "max": latency.max_ns if latency else None,
        ERRORS: (claimed.error_count + (claimed.non_2xx or 0)) / ended if ended else None,
    }


def _tally(claimed: ToolReport, counters: Counters, point: CapacityPoint) -> Tally:
    """Compare a tool's claims with the served statuses and bytes of content.

    A tool that stops in the middle of answers reads less than the origin sent. It never reads more, and never less than
    the content of the answers that it counts.
    """
    good = claimed.requests - (claimed.non_2xx or 0)
    served = sum(one.count for one in counters.statuses or () if one.name == "200")
    unserved = max(0, good - served)
    content = good * point.size_bytes
    lacking = content - claimed.received_bytes if claimed.received_bytes is not None else 0
    short = min(good - unserved, -(-lacking // point.size_bytes)) if lacking > _ROUNDED * content else 0
    return Tally(right=good - unserved - short, missed_error=unserved, wrong_length=short)


def _drift(trial: Trial) -> Reading:
    point = trial.get(CapacityPoint)
    return ON_SCHEDULE if point is not None and point.loop is Loop.OPEN else drift(trial)


CAPACITY_RULES: Final = rules_for(
    *(Evidence.ANSWERS, Evidence.ORIGIN, Evidence.LINK, Evidence.MACHINE, Evidence.PACE),
    own=[replace(rule, read=_drift) for rule in RULES if rule.read is drift],
)
