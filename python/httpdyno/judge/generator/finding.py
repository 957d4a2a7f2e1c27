"""Holds each figure that a generator reports against what it should have reported."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from httpdyno.judge.generator.distribution import Distribution
from httpdyno.model import ToolReport

__all__ = ["FIGURES", "LEAST_BEYOND", "RELATIVE", "Finding", "Judgement", "allowed_ns", "judge_report"]

FIGURES: Final[Mapping[str, float]] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
"""Percentiles that are held against the truth, where a tool has them."""
RELATIVE: Final = 0.05
"""A figure is right within this share of the truth, and ``allowed_ns``."""
_USUAL_NS: Final = 250_000
_FAR_NS: Final = 1_000_000
_FAR: Final = 0.999
"""From this percentile on a single interruption of the kernel's decides."""
LEAST_BEYOND: Final = 10
"""A percentile that fewer requests exceed is printed and not judged: one interruption delays as many, whoever asks."""
_LEAST_NS: Final = 1_000
"""What a factor is taken of, at least: nothing is infinitely many times as long as nothing."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure."""

    name: str
    """``mean``, ``p99``, ..., or ``sent``: how many requests."""
    reported: float
    truth: float
    low: float
    """The least that is right."""
    high: float
    """The most that is right."""

    @property
    def right(self) -> bool:
        """Whether it is what it should be, as far as that can be told."""
        return self.low <= self.reported <= self.high

    @property
    def judged(self) -> bool:
        """Whether enough requests stand behind it for it to be wrong."""
        return self.high < math.inf

    @property
    def factor(self) -> float:
        """By how much it is off, 1 or more."""
        least = 1 if self.name == "sent" else _LEAST_NS
        reported, truth = max(self.reported, least), max(self.truth, least)
        return max(reported / truth, truth / reported)

    def __str__(self) -> str:
        """Describe it in words: ``p99 9,300x too low``."""
        if self.right:
            return f"{self.name} right"
        if self.name == "sent":
            return f"sent {self.reported:,.0f} of {self.truth:,.0f} requests"
        digits = sum(self.factor < most for most in _DIGITS_BELOW)
        return f"{self.name} {self.factor:,.{digits}f}x too {'low' if self.reported < self.truth else 'high'}"


_DIGITS_BELOW: Final = (10, 2)
"""A factor below each of these is written with one more decimal."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """All figures of one run."""

    findings: tuple[Finding, ...]

    @property
    def right(self) -> bool:
        """Whether any could be judged, and every one is right."""
        return any(finding.judged for finding in self.findings) and all(finding.right for finding in self.findings)

    @property
    def worst(self) -> Finding | None:
        """The one that is off the most; None when none is off."""
        wrong = [finding for finding in self.findings if not finding.right]
        return max(wrong, key=lambda finding: finding.factor, default=None)

    def of(self, name: str) -> Finding | None:
        """Find a figure; None when the tool does not say it."""
        return next((finding for finding in self.findings if finding.name == name), None)


def allowed_ns(name: str) -> int:
    """Return how far a figure may be off beside its share: a quarter of a millisecond, and one from p99.9 on."""
    return _FAR_NS if FIGURES.get(name, 0.0) >= _FAR else _USUAL_NS


def judge_report(
    report: ToolReport, truth: Distribution, *, connections: int, sent: int | None = None, expected: int | None = None
) -> Judgement:
    """Hold a report against the truth.

    Requests that were under way at the end may be in the tool's figures or not, at most one for each connection: a
    percentile is right when it lies between the truth's at the ranks before and after by that many. One that fewer than
    ``LEAST_BEYOND`` requests exceed is right whatever it is. ``truth`` is of the times that the tool claims to have
    measured; ``sent`` and ``expected`` are given where it claims to keep a schedule.
    """
    findings = []
    if sent is not None and expected is not None:
        slack = connections + expected // 100
        findings.append(Finding("sent", sent, expected, expected - slack, expected + slack))
    latency = report.latency
    if latency is None or not truth.count:
        return Judgement(tuple(findings))
    if latency.mean_ns is not None:
        findings.append(_finding("mean", latency.mean_ns, truth.mean_ns, truth.mean_ns, truth.mean_ns))
    ranks = (min(abs(truth.count - report.requests), connections) + 1) / truth.count
    for name, share in FIGURES.items():
        reported = latency.percentiles_ns.get(round(share * 100, 6))
        if reported is not None:
            findings.append(_percentile(name, share, reported, truth, ranks))
    return Judgement(tuple(findings))


def _percentile(name: str, share: float, reported: float, truth: Distribution, ranks: float) -> Finding:
    exact = truth.quantile_ns(share)
    # Rounded: a thousand times one less 0.99 is a hair below ten.
    if round((1 - share) * truth.count, 6) < LEAST_BEYOND:
        return Finding(name, reported, exact, 0.0, math.inf)
    return _finding(name, reported, exact, truth.quantile_ns(share - ranks), truth.quantile_ns(share + ranks))


def _finding(name: str, reported: float, truth: float, low: float, high: float) -> Finding:
    allowed = allowed_ns(name)
    return Finding(name, reported, truth, low * (1 - RELATIVE) - allowed, high * (1 + RELATIVE) + allowed)
