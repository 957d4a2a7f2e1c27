"""What has to be said about a whole table: where its ranks or intervals are less sure than they look."""

from collections import Counter
from collections.abc import Iterable, Sequence

from httpdyno.judge.disturbance import crowded, disturbed
from httpdyno.judge.validity.machine import busy_programs
from httpdyno.judge.validity.origin import waiting
from httpdyno.model import OPEN_MARK, PROVISIONAL_MARK, Interval, Metric, Ranking, Trial, counted, format_span
from httpdyno.stats import FEWEST_BLOCKS

__all__ = ["crowded_notes", "disturbance_notes", "disturbed_notes", "level_notes", "rank_notes"]


def rank_notes(rankings: Iterable[Ranking]) -> tuple[str, ...]:
    """State so where too few blocks leave every rank open, and what to do about it."""
    comparisons = [comparison for ranking in rankings for comparison in ranking.comparisons]
    if not comparisons or max(comparison.blocks for comparison in comparisons) >= FEWEST_BLOCKS:
        return ()
    return (f"rank: fewer than {FEWEST_BLOCKS} blocks: the order may be chance; repeat more often",)


def disturbance_notes(rankings: Iterable[Ranking]) -> tuple[str, ...]:
    """Explain the marks behind ranks, where there are any."""
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
    """Say in how many trials client and origin were in each other's way on a CPU that they shared, and how much."""
    those = [trial for trial in trials if crowded(trial)]
    if not those:
        return ()
    shares = [reading.number for trial in those if (reading := waiting(trial)).number is not None]
    waited = f" ({min(shares):.0f} to {max(shares):.0f} % of the time)" if shares else ""
    return (
        f"one CPU for client and origin: in {len(those)} of {counted(len(trials), 'trial')} one waited for the other"
        f"{waited}: a rate is what both can together, CPU time is the client's own; with two CPUs each has its own",
    )


def disturbed_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe how many trials other programs disturbed, for how long, and which programs used most meanwhile."""
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


def level_notes(metric: Metric, intervals: Iterable[Interval], *, level: float) -> tuple[str, ...]:
    """Describe what the intervals of medians are worth that do not attain the level that is usual."""
    attained = sorted({interval.level for interval in intervals if interval.level < level}, reverse=True)
    if not attained:
        return ()
    shares = " or ".join(f"{100 * value:.4g} %" for value in attained)
    return (
        f"{metric.name}_low, {metric.name}_high: the lowest and the highest of so few trials hold the median with "
        f"{shares} confidence, not {100 * level:g} %",
    )
