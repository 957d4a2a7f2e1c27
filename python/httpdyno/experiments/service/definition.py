"""The service experiment (``service``)."""

from typing import Final

from httpdyno.experiments.definition import Definition, Judging, Planning, has_lines
from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.experiments.service.judge import SERVICE_RULES
from httpdyno.experiments.service.options import NAME
from httpdyno.experiments.service.plan import Service, begin_service
from httpdyno.experiments.service.present import PRESENTATION
from httpdyno.experiments.service.server_trial import SERVER_TRIALS
from httpdyno.model import SubjectKind

DEFINITION: Final = Definition(
    NAME,
    "Which load does a server sustain if every request waits for parallel work?",
    PRESENTATION,
    Planning(begin_service, Service.restore),
    Judging(
        SERVICE_RULES,
        figures=(ServicePoint, ServiceSummary),
        trials={SubjectKind.SERVER: SERVER_TRIALS},
        found=lambda trial: has_lines(trial) or trial.get(ServiceSummary) is not None,
    ),
)
