"""How the results of the latency question are judged and shown."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from httpdyno.experiments.definition import Definition
from httpdyno.experiments.latency.beginning import begin_latency
from httpdyno.experiments.latency.figures import LatencyPoint, LatencySummary
from httpdyno.experiments.latency.judge.trial import judge_latency
from httpdyno.experiments.latency.latency import Latency
from httpdyno.experiments.latency.metrics import LATENCY_METRICS
from httpdyno.experiments.latency.options import NAME
from httpdyno.experiments.latency.published_blocks import published_blocks
from httpdyno.experiments.latency.report import latency_report
from httpdyno.experiments.latency.rules import LATENCY_RULES
from httpdyno.experiments.latency.table import IDENTITY, RANKED_BY, latency_table, latency_views
from httpdyno.experiments.restoring import restored
from httpdyno.experiments.usual_report import usual_headline
from httpdyno.lab.client_trial import client_trials
from httpdyno.model import LinesSummary, SubjectKind, Trial, format_time

__all__ = ["DEFINITION"]


def _told(trial: Trial) -> str | None:
    mean_ns = trial[LatencySummary].mean_ns if trial.get(LatencySummary) else None
    return None if mean_ns is None else f"{format_time(mean_ns)} a loop"


def _answer(trials: Sequence[Trial]) -> str:
    """Say what the trials of one point show; its name stands in the title of its table."""
    trials = [replace(trial, condition="") for trial in trials]
    return usual_headline(DEFINITION, trials, latency_table(trials))


DEFINITION: Final = Definition(
    name=NAME,
    question="What does one call of a client cost in a warm process, alone and with others at once?",
    metrics=LATENCY_METRICS,
    ranked_by=RANKED_BY,
    identity=IDENTITY,
    tabulate=latency_table,
    compared_by=(RANKED_BY, "p99", "cpu_per_call_ms"),
    views=partial(latency_views, answer=_answer),
    trials={SubjectKind.CLIENT: client_trials(judge_latency)},
    told=_told,
    begin=begin_latency,
    restore=partial(restored, Latency),
    report=latency_report,
    preset_views=lambda run: (*run.views, *published_blocks(run.trials, run.published)),
    rules=LATENCY_RULES,
    figures=(LinesSummary, LatencyPoint, LatencySummary),
)
