"""The latency question (``latency``)."""

from typing import Final

from httpdyno.experiments.definition import Definition, Judging, Planning
from httpdyno.experiments.latency.judge import LATENCY_RULES, LatencyPoint, LatencySummary, judge_latency
from httpdyno.experiments.latency.options import NAME
from httpdyno.experiments.latency.plan import Latency, begin_latency
from httpdyno.experiments.latency.present import PRESENTATION
from httpdyno.lab.client_trial import client_trials
from httpdyno.model import LinesSummary, SubjectKind

DEFINITION: Final = Definition(
    NAME,
    "What does one call of a client cost in a warm process, alone and with others at once?",
    PRESENTATION,
    Planning(begin_latency, Latency.restore),
    Judging(
        LATENCY_RULES,
        figures=(LinesSummary, LatencyPoint, LatencySummary),
        trials={SubjectKind.CLIENT: client_trials(judge_latency)},
    ),
)
