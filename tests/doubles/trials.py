"""Trials without a measurement: a subject, a block, a value, and what became of it."""

from collections.abc import Iterable
from typing import Any

from httpdyno.model import CrawlSummary, Outcome, Tally, Trial, Validity


def trial(subject: str, block: int, right_per_s: float | None = None, **changes: Any) -> Trial:
    """Make a trial of a crawl that went well, unless ``changes`` says otherwise."""
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
        "summary": CrawlSummary(urls=10, right_per_s=right_per_s),
        "tally": Tally(right=10),
    }
    return Trial(**(fields | changes))


def trials_of(subject: str, values: Iterable[float | None], **changes: Any) -> list[Trial]:
    """Make one trial for each value, in blocks from 0; None leaves its block out."""
    return [trial(subject, block, value, **changes) for block, value in enumerate(values) if value is not None]
