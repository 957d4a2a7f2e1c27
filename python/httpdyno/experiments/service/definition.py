"""How the results of the service question are judged and shown."""

from collections.abc import Mapping, Sequence
from typing import Final

from httpdyno.experiments.definition import Definition, has_lines
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.service.beginning import begin_service
from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.experiments.service.metrics import RANKED_BY, SERVICE_METRICS
from httpdyno.experiments.service.options import NAME
from httpdyno.experiments.service.published_form import published_form
from httpdyno.experiments.service.report import service_answer, service_report
from httpdyno.experiments.service.rules import SERVICE_RULES
from httpdyno.experiments.service.server_trial import SERVER_TRIALS
from httpdyno.experiments.service.service import restore_service
from httpdyno.experiments.service.table import IDENTITY, service_table
from httpdyno.experiments.service.views import service_views
from httpdyno.model import SubjectKind, Table, Trial, format_time

__all__ = ["DEFINITION"]


def _told(trial: Trial) -> str | None:
    summary = trial.get(ServiceSummary)
    if summary is None or summary.held is None:
        return None
    p99 = "" if summary.p99_ns is None else f": p99 {format_time(summary.p99_ns)}"
    return f"held{p99}" if summary.held else f"not held: {summary.why_not}"


def _views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    first, *others = service_views(trials, settings)
    return first.answering(service_answer(trials, settings, DEFINITION.ranking_metric, service_table(trials))), *others


DEFINITION: Final = Definition(
    name=NAME,
    question="How does a server hold up when every request waits for parallel work?",
    metrics=SERVICE_METRICS,
    ranked_by=RANKED_BY,
    identity=IDENTITY,
    tabulate=service_table,
    views=_views,
    told=_told,
    trials={SubjectKind.SERVER: SERVER_TRIALS},
    begin=begin_service,
    restore=restore_service,
    asks_web=False,
    report=service_report,
    preset_views=lambda of: (*of.views, published_form(of.run.manifest, of.trials, of.published)),
    rules=SERVICE_RULES,
    figures=(ServicePoint, ServiceSummary),
    found=lambda trial: has_lines(trial) or trial.get(ServiceSummary) is not None,
)
