"""One trial of a server from what it left to its record: the outcome, the figures, the validity."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import polars as pl

from httpdyno.errors import UnreadableReport
from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.experiments.service.judge.artifacts import ServerArtifacts
from httpdyno.experiments.service.judge.outcome import service_outcome
from httpdyno.experiments.service.judge.summary import (
    claimed_summary,
    connections_of,
    leak_of,
    measured_summary,
    silence_ns,
)
from httpdyno.judge.outcome import ending_from_report
from httpdyno.judge.tool_reports import read_tool_report
from httpdyno.judge.trial import NO_CIRCUMSTANCES, Circumstances, JudgedTrial, trial_not_run, trial_refused
from httpdyno.judge.validity import Rule, with_validity
from httpdyno.model import Counters, Outcome, Tally, Trial, TrialPlan, Validity, counters_from_report

__all__ = ["judge_service"]

_WORST: Final = frozenset({Outcome.INTERRUPTED, Outcome.CRASHED, Outcome.NEVER_LISTENED, Outcome.UNAVAILABLE})


def judge_service(
    plan: TrialPlan,
    artifacts: ServerArtifacts,
    circumstances: Circumstances = NO_CIRCUMSTANCES,
    *,
    parser: str | None,
    rules: Sequence[Rule],
) -> JudgedTrial:
    """Judge one trial of one server at the point of its condition.

    Without a ``parser``, which reads what another generator printed, ours sent.
    """
    point, send_s = plan.condition.get(ServicePoint), plan.condition.send_s
    assert point is not None, "who asks a server has a point"
    assert send_s is not None, "who asks a server sends for a time"
    if ending_from_report(artifacts.report).refused:
        return JudgedTrial(trial_refused(plan, artifacts.report, circumstances), pl.DataFrame())
    sent_ns = round(send_s * 1e9)
    counters = counters_from_report(artifacts.report)
    outcome, reason = service_outcome(
        artifacts,
        connections=connections_of(point),
        leak=leak_of(artifacts, point, sent_ns=sent_ns),
        silent_ns=silence_ns(artifacts.samples, point, sent_ns=sent_ns),
    )
    service = None
    if outcome not in _WORST:
        try:
            service = _summary(artifacts, counters, point, parser=parser, sent_ns=sent_ns)
        except UnreadableReport as error:
            if outcome is Outcome.OK:
                outcome, reason = Outcome.REFUSED, f"the generator: {error.line}"
    trial = replace(
        trial_not_run(plan, outcome, reason, circumstances, urls_given=_asked(artifacts)),
        counters=counters,
        tally=_tally(artifacts, service),
    )
    judged = trial if service is None else trial.having(service)
    return JudgedTrial(_with_its_validity(judged, rules), pl.DataFrame())


def _summary(
    artifacts: ServerArtifacts, counters: Counters, point: ServicePoint, *, parser: str | None, sent_ns: int
) -> ServiceSummary | None:
    if parser is None:
        if artifacts.samples is None or artifacts.load is None:
            return None
        return measured_summary(artifacts, counters, point, sent_ns=sent_ns)
    if not artifacts.text.strip():
        return None
    return claimed_summary(artifacts, counters, read_tool_report(parser, artifacts.text), point)


def _asked(artifacts: ServerArtifacts) -> int:
    return 0 if artifacts.samples is None else len(artifacts.samples)


def _tally(artifacts: ServerArtifacts, service: ServiceSummary | None) -> Tally | None:
    """Count the answers whose content was checked; of a generator that checks none there is no tally."""
    checks = (artifacts.load or {}).get("checks")
    if service is None or checks is None:
        return None
    contents = int(checks.get("wrong_content") or 0) + int(checks.get("wrong_json") or 0)
    return Tally(
        right=int(checks.get("right") or 0),
        wrong_status=0,
        wrong_length=int(checks.get("wrong_length") or 0) + contents,
    )


def _with_its_validity(trial: Trial, rules: Sequence[Rule]) -> Trial:
    if trial.outcome is Outcome.REFUSED:
        return replace(trial, validity=Validity.GENERATOR_LIMITED, validity_reason=trial.reason)
    return with_validity(trial, rules)
