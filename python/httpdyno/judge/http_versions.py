"""Which versions of HTTP were asked for, which the origin saw of each subject, and what has to be said of that."""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Final

from httpdyno.model import Outcome, Trial

__all__ = ["asked_version_notes", "http_2_share", "version_notes"]

_APART: Final = 0.05
"""Shares of HTTP/2 that differ by no more are those of clients that are told the same by the same hosts."""
_ERRORS_DUE: Final = {"2": ": a host that does not speak it has to be reported as an error"}


def http_2_share(trial: Trial) -> float | None:
    """Return the share of a trial's requests that came by HTTP/2, 0 to 1, as the origin counted; None: not counted.

    None also where no request came.
    """
    counts = {count.name: count.count for count in trial.counters.http_versions or ()}
    requests = sum(counts.values())
    return counts.get("2", 0) / requests if requests else None


def asked_version_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe which version of HTTP the clients of a table were told to speak; empty if each spoke its default."""
    asked = sorted({trial.http_version for trial in trials if trial.http_version})
    return tuple(f"HTTP/{version} alone was asked for{_ERRORS_DUE.get(version, '')}" for version in asked)


def version_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe under a table which subjects spoke which version of HTTP, where that differs from one to another.

    Trials that failed, or of which no requests were counted, are left out.
    """
    shares: dict[str, list[float]] = {}
    names: dict[str, str] = {}
    for trial in trials:
        share = http_2_share(trial)
        if trial.outcome is Outcome.OK and share is not None:
            shares.setdefault(trial.subject, []).append(share)
            names[trial.subject] = f"{trial.language} {trial.method}"
    shared = Counter(names.values())
    medians = {
        names[subject] if shared[names[subject]] == 1 else f"{names[subject]} ({subject})": median(values)
        for subject, values in shares.items()
    }
    if not medians or max(medians.values()) - min(medians.values()) <= _APART:
        return ()
    groups = _alike(medians)
    said = "; ".join(f"{_words(group, medians)} of {', '.join(group)}" for group in groups)
    return (f"HTTP versions differ, and with them what a client has to do: the origin saw {said}",)


def _alike(shares: dict[str, float]) -> list[list[str]]:
    """Put subjects together whose shares lie near each other, the highest first."""
    groups: list[list[str]] = []
    for name in sorted(shares, key=lambda name: (-shares[name], name)):
        if groups and shares[groups[-1][0]] - shares[name] <= _APART:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


def _words(group: Sequence[str], shares: dict[str, float]) -> str:
    high, low = (round(100 * shares[name]) for name in (group[0], group[-1]))
    if high == 0:
        return "no HTTP/2"
    span = f"{high} %" if high == low else f"{low} to {high} %"
    return f"HTTP/2 in {span} of the requests"
