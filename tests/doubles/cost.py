"""Trials of the cost question without a measurement: a subject, and its CPU time for its start and for documents."""

from dataclasses import replace
from typing import Any

from doubles.trials import trial
from httpdyno.experiments.cost.judge import DOCUMENT_BYTES, UNCHECKED, CostPoint, CostStep, CostSummary
from httpdyno.model import Counters, Tally, Trial, Validity

__all__ = ["MS", "SECOND", "US", "cost_trial", "tool_trial"]

US, MS, SECOND = 1_000, 1_000_000, 1_000_000_000
_STEPS = 20


def cost_trial(
    subject: str = "ruby-curb",
    block: int = 0,
    *,
    document_us: float = 200,
    start_ms: int = 50,
    documents: int = 10_000,
    cost: dict[str, Any] | None = None,
    **changes: Any,
) -> Trial:
    """Make a successful trial: half of its CPU time is the kernel's, and it waits as long as it works."""
    each_ns = round(document_us * US)
    cpu_ns = start_ms * MS + documents * each_ns
    real_ns = 2 * cpu_ns
    size = documents // _STEPS
    summary = CostSummary(
        answered=documents,
        verified=documents,
        caught=0,
        real_ns=real_ns,
        cpu_ns=cpu_ns,
        per_s=documents * 1e9 / real_ns,
        bytes_per_s=documents * DOCUMENT_BYTES * 1e9 / real_ns,
        cpu_per_document_ns=cpu_ns / documents,
        start_ns=2 * start_ms * MS,
        start_cpu_ns=start_ms * MS,
        warm_up_documents=0,
        warm_up_cpu_ns=0.0,
        cold_cpu_per_document_ns=float(each_ns),
        steady_cpu_per_document_ns=float(each_ns),
        drift=0.0,
        json_parser="a parser",
        receive_steering=True,
        steps=tuple(CostStep((place + 1) * size, float(each_ns)) for place in range(_STEPS)),
    )
    fields: dict[str, Any] = {
        "experiment": "cost",
        "language": subject.partition("-")[0].title(),
        "method": subject.partition("-")[2] or subject,
        "concurrency": 1,
        "check": "json",
        "urls_given": documents,
        "tally": Tally(right=documents),
        "counters": Counters(
            cpu_user_ns=cpu_ns // 2,
            cpu_system_ns=cpu_ns - cpu_ns // 2,
            wall_ns=real_ns,
            peak_memory_bytes=2**24,
            connections=1,
        ),
        "summary": None,
        "cost_point": CostPoint(documents),
        "cost": replace(summary, **(cost or {})),
    }
    return trial(subject, block, **(fields | changes))


def tool_trial(subject: str = "ab", block: int = 0, **changes: Any) -> Trial:
    """Make a trial of a load tool, which verifies nothing."""
    made = cost_trial(subject, block, document_us=30, start_ms=1)
    cost = replace(made[CostSummary], verified=None, caught=None, json_parser=None)
    unchecked = {"validity": Validity.UNVERIFIED, "validity_reason": UNCHECKED, "language": "C", "method": subject}
    return replace(made.having(cost), tally=Tally(unverified=10_000), **unchecked | changes)
