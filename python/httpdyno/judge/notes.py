"""Notes on trials and tables: failures, validity, versions of HTTP, and uncertain ranks."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from statistics import median
from typing import Final

from httpdyno.judge.rankable import crowded, disturbed
from httpdyno.judge.validity import broken_names
from httpdyno.judge.validity.readings import busy_programs
from httpdyno.judge.validity.rules import origin_waiting
from httpdyno.model import (
    OPEN_MARK,
    PROVISIONAL_MARK,
    Interval,
    Metric,
    Note,
    Outcome,
    Ranking,
    Trial,
    Validity,
    counted,
    format_size,
    format_span,
)
from httpdyno.stats import FEWEST_BLOCKS

_APART: Final = 0.05
"""Difference up to which shares of HTTP/2 count as equal: hosts offer all clients the same."""
_ERRORS_DUE: Final = {"2": ": a host without it must be reported as an error"}


def http_2_share(trial: Trial) -> float | None:
    """Return the share of a trial's requests that used HTTP/2, 0 to 1, counted by the origin; None: not counted.

    It is also None without any request.
    """
    counts = {count.name: count.count for count in trial.counters.http_versions or ()}
    requests = sum(counts.values())
    return counts.get("2", 0) / requests if requests else None


def asked_version_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe the version of HTTP that was set for the clients of a table; empty if each used its default."""
    asked = sorted({trial.http_version for trial in trials if trial.http_version})
    return tuple(f"clients were set to HTTP/{version}{_ERRORS_DUE.get(version, '')}" for version in asked)


def version_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe which subjects used which version of HTTP, if they differ.

    Trials that failed, or whose requests were not counted, are left out.
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
    return (f"HTTP versions differ, and so does the work of a client: the origin saw {said}",)


def _alike(shares: dict[str, float]) -> list[list[str]]:
    """Group subjects whose shares are close, the highest first."""
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


def trial_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe why trials of a subject failed, are invalid, or have explained wrong answers: one line each.

    Trials that ended in the same way, or break the same rule of validity first, are one line: that of the first.
    Trials that went well have none. ``unverified_notes`` has one note for a whole table on answers that could not be
    checked.
    """
    return tuple(text for _, text in labelled_notes(trials))


def labelled_notes(trials: Sequence[Trial]) -> tuple[tuple[str, str], ...]:
    """Return the lines of ``trial_notes``, each with its outcome, its validity or its known failure."""
    reasons: dict[tuple[object, ...], list[str]] = {}
    for trial in trials:
        # The reason of a refused trial is also the reason of its validity.
        if trial.reason and trial.outcome is not Outcome.REFUSED:
            counters = trial.counters
            ending = (str(trial.outcome), counters.exit_code, counters.signal, counters.out_of_memory)
            reasons.setdefault(ending, []).append(f"{trial.outcome}: {trial.reason}")
        if trial.validity_reason and trial.validity is not Validity.UNVERIFIED:
            first = next(iter(broken_names(trial)), None)
            reasons.setdefault((str(trial.validity), first), []).append(f"{trial.validity}: {trial.validity_reason}")
    notes = list[tuple[str, str]]()
    for (name, *_), texts in reasons.items():
        similar = "" if len(set(texts)) == 1 else ", or similar"
        count = "" if len(trials) == 1 else f"{similar} ({len(texts)} of {len(trials)} trials)"
        notes.append((str(name), f"{texts[0]}{count}"))
    # Each known failure, with the largest number of answers that it explains in one trial.
    explained: dict[str, tuple[str, int]] = {}
    for case in [case for trial in trials if trial.tally for case in trial.tally.explained_cases]:
        reason = f"{case.reason} ({case.issue})" if case.issue else case.reason
        explained[case.case] = (reason, max(case.count, explained.get(case.case, ("", 0))[1]))
    notes += [
        (name, f"known failure {name}: {reason}: explains {counted(count, 'wrong answer')}")
        for name, (reason, count) in explained.items()
    ]
    return tuple(notes)


def unverified_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe why answers of trials could not be checked; empty where all could be."""
    reasons = (t.validity_reason for t in trials if t.validity is Validity.UNVERIFIED and broken_names(t))
    return tuple(f"{Validity.UNVERIFIED}: {reason}; no client is ranked" for reason in islice(reasons, 1))


def missing_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe how to install the missing packages of several subjects; each row names its own."""
    lacking = {trial.subject for trial in trials if trial.install_command or trial.install_by_hand}
    if len(lacking) < 2:
        return ()
    return (f"{len(lacking)} lack packages; to install them first, add --install",)


def unlimited_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe why the requested memory limit of trials did not apply: one line for each size, with one reason."""
    asked = [trial.counters for trial in trials if trial.counters.memory_limit_bytes is not None]
    reasons: dict[int, list[str]] = {}
    for counters in asked:
        if counters.memory_limit_bytes is not None and counters.memory_limit_reason:
            reasons.setdefault(counters.memory_limit_bytes, []).append(counters.memory_limit_reason)
    notes = []
    for size, texts in reasons.items():
        share = "" if len(texts) == len(asked) else f" in {len(texts)} of {len(asked)} trials"
        notes.append(f"memory was not limited to {format_size(size)}{share}: {texts[0]}; see: httpdyno doctor")
    return tuple(notes)


def rank_notes(rankings: Iterable[Ranking]) -> tuple[str, ...]:
    """Describe which ranks are open because there are too few blocks, and the remedy."""
    comparisons = [comparison for ranking in rankings for comparison in ranking.comparisons]
    if not comparisons or max(comparison.blocks for comparison in comparisons) >= FEWEST_BLOCKS:
        return ()
    return (f"rank: fewer than {FEWEST_BLOCKS} blocks: the order may be chance; repeat more often",)


def disturbance_notes(rankings: Iterable[Ranking]) -> tuple[str, ...]:
    """Explain the marks of provisional ranks."""
    standings = [standing for ranking in rankings for standing in ranking.standings]
    provisional = sum(standing.provisional for standing in standings)
    notes = []
    if any(standing.open and not standing.provisional for standing in standings):
        notes.append(f"{OPEN_MARK}: the difference from the row above may be chance")
    if provisional:
        notes.append(
            f"{PROVISIONAL_MARK}: {provisional} of {len(standings)} ranks are provisional: disturbed trials, or fewer "
            f"than {FEWEST_BLOCKS} blocks in common with others; repeat on a quiet machine, with a CPU for each side"
        )
    return tuple(notes)


def crowded_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe in how many trials client and origin competed for a shared CPU, and how much."""
    those = [trial for trial in trials if crowded(trial)]
    if not those:
        return ()
    shares = [reading.number for trial in those if (reading := origin_waiting.read(trial)).number is not None]
    waited = f" ({min(shares):.0f} to {max(shares):.0f} % of the time)" if shares else ""
    return (
        f"one CPU for client and origin: in {len(those)} of {counted(len(trials), 'trial')} one waited for the other"
        f"{waited}: the rate is that of both together, CPU time is the client's; two CPUs separate them",
    )


def disturbed_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe how many trials other programs disturbed, for how long, and the busiest programs."""
    those = [trial for trial in trials if disturbed(trial)]
    if not those:
        return ()
    seconds = sum(trial.counters.wall_ns or 0 for trial in those) / 1e9
    used: Counter[str] = Counter()
    for trial in those:
        used.update({program.name: program.cpu_ns for program in busy_programs(trial)})
    busiest = [f"{name} ({cpu_ns / 1e9 / seconds:.2g} CPUs)" for name, cpu_ns in used.most_common(3) if seconds]
    by = f", by {', '.join(busiest)}" if busiest else ""
    return (f"disturbed: {len(those)} of {counted(len(trials), 'trial')}, {format_span(seconds)} in all{by}",)


def level_notes(metric: Metric, intervals: Iterable[Interval], *, level: float) -> tuple[Note, ...]:
    """Describe the level of intervals of medians that is below the usual level."""
    attained = sorted({interval.level for interval in intervals if interval.level < level}, reverse=True)
    if not attained:
        return ()
    shares = " or ".join(f"{100 * value:.4g} %" for value in attained)
    bounds = (f"{metric.name}_low", f"{metric.name}_high")
    text = f"the lowest and highest of so few trials contain the median with {shares} confidence, not {100 * level:g} %"
    return (Note(f"{', '.join(bounds)}: {text}", columns=bounds),)
