"""What keeps a client from more answers a second: its requests in flight, its CPU, the origin, the link, the web."""

from enum import StrEnum
from typing import Final

from httpdyno.judge.saturation import SATURATED_SHARE
from httpdyno.judge.validity.stretch import Stretch
from httpdyno.model import Trial, Validity

__all__ = ["AS_PLANNED", "Limit", "limited_by", "own_cpu_share"]

AS_PLANNED: Final = 0.85
"""A client that gets this share of what the delays of the web allow is held up by them, and by nothing else."""


class Limit(StrEnum):
    """What held a client up."""

    CONCURRENCY = "concurrency"
    """Its requests in flight, each of which waits as long as the web plans: with more of them it had got more."""
    CPU = "CPU"
    """Its own CPU time."""
    ORIGIN = "origin"
    LINK = "link"
    WEB = "web"
    """It got as much as the fetcher got out of the same web."""


def limited_by(trial: Trial) -> Limit | None:
    """Return what held the client of a trial up; None where nothing that was counted did, or nobody can tell."""
    if trial.validity is Validity.ORIGIN_LIMITED:
        return Limit.ORIGIN
    if trial.validity is Validity.LINK_LIMITED:
        return Limit.LINK
    stretch, summary = Stretch.of(trial), trial.summary
    if summary is None or summary.right_per_s is None or stretch is None:
        return None
    if (own_cpu_share(trial, stretch) or 0.0) >= SATURATED_SHARE:
        return Limit.CPU
    planned_ns = summary.planned_mean_ns if trial.link == "direct" else None
    if planned_ns and summary.right_per_s * planned_ns * 1e-9 >= AS_PLANNED * trial.concurrency:
        return Limit.CONCURRENCY
    if trial.ceiling_per_s and summary.right_per_s >= AS_PLANNED * trial.ceiling_per_s:
        return Limit.WEB
    return None


def own_cpu_share(trial: Trial, stretch: Stretch) -> float | None:
    """Return the CPU time of a client over a stretch, as a share of its CPUs; None where nobody counted it."""
    cpu_ns, cpus = trial.counters.cpu_ns, len(trial.counters.subject_cpus)
    return None if cpu_ns is None or not cpus else cpu_ns * stretch.work / (stretch.length_ns * cpus)
