"""Trials without a measurement: a subject, a block, a value, and an outcome."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.cost.judge import CostPoint, CostSummary
from httpdyno.experiments.latency.judge import LatencyPoint, LatencySummary
from httpdyno.experiments.load.judge import LoadSummary
from httpdyno.experiments.service.figures import ServicePoint, ServiceSummary
from httpdyno.model import FigureRecord, LinesSummary, Outcome, Tally, Trial, Validity, figures_of
from httpdyno.model.record import without_figures

KINDS: dict[str, type[FigureRecord]] = {
    "summary": LinesSummary,
    "load": LoadSummary,
    "capacity_point": CapacityPoint,
    "capacity": CapacitySummary,
    "service_point": ServicePoint,
    "service": ServiceSummary,
    "cost_point": CostPoint,
    "cost": CostSummary,
    "latency_point": LatencyPoint,
    "latency": LatencySummary,
}
"""The records of figures, as tests name them."""


def summary_of(right_per_s: float | None, **changes: Any) -> LinesSummary:
    """Make the figures of a client that keeps one core busy."""
    cpu_ns = 1e9 / right_per_s if right_per_s else None
    return LinesSummary(**{"urls": 10, "right_per_s": right_per_s, "cpu_per_right_ns": cpu_ns} | changes)


def trial(subject: str, block: int, right_per_s: float | None = None, **changes: Any) -> Trial:
    """Make a successful trial of a crawl, unless ``changes`` says otherwise; records of figures by ``KINDS``.

    Its client keeps one core busy: it gives as many right answers a second as that core has CPU time for.
    """
    fields: dict[str, Any] = {
        "trial": block,
        "block": block,
        "position": 0,
        "experiment": "bench",
        "condition": "",
        "subject": subject,
        "language": "C",
        "method": subject,
        "version": "1",
        "concurrency": 10,
        "web": "plain",
        "seed": 1,
        "link": "direct",
        "timeout_ns": 10**9,
        "keepalive": True,
        "check": "",
        "http_version": "",
        "urls_given": 10,
        "outcome": Outcome.OK,
        "validity": Validity.VALID,
        "summary": summary_of(right_per_s),
        "tally": Tally(right=10),
    }
    fields |= changes
    records = [fields.pop(name) for name in KINDS if name in fields]
    return Trial(**fields, figures=figures_of(*(record for record in records if record is not None)))


def changed(of: Trial, **changes: Any) -> Trial:
    """Replace fields of a trial, and figures: those of the record that is named, as for ``trial``."""
    records = {name: changes.pop(name) for name in KINDS if name in changes}
    gone = replace(of, figures=without_figures(of.figures, [KINDS[name] for name in records]), **changes)
    return gone.having(*(record for record in records.values() if record is not None))


def trials_of(subject: str, values: Iterable[float | None], **changes: Any) -> list[Trial]:
    """Make one trial for each value, in blocks from 0; None leaves its block out."""
    return [trial(subject, block, value, **changes) for block, value in enumerate(values) if value is not None]
