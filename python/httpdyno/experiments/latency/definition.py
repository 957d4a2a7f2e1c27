"""The latency experiment (``latency``)."""

from typing import Final

from httpdyno.experiments.definition import WITHOUT_PACE, Definition, Judging, Planning
from httpdyno.experiments.latency.judge import LatencyPoint, LatencySummary, judge_latency
from httpdyno.experiments.latency.options import NAME
from httpdyno.experiments.latency.plan import Latency, begin_latency
from httpdyno.experiments.latency.present import PRESENTATION
from httpdyno.lab.client_trial import client_trials
from httpdyno.model import LinesSummary, SubjectKind

DEFINITION: Final = Definition(
    NAME,
    "How long does one call of a client take in a warm process, alone and with concurrent calls?",
    PRESENTATION,
    Planning(begin_latency, Latency.restore),
    Judging(
        WITHOUT_PACE,
        figures=(LinesSummary, LatencyPoint, LatencySummary),
        trials={SubjectKind.CLIENT: client_trials(judge_latency)},
    ),
)
