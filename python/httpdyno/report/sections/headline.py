"""The answer of a run in one sentence, with its doubt."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from httpdyno.judge.wording import NAMED_AT_MOST, listed, some_of
from httpdyno.model import Comparison, Difference, Interval, Metric, Ranking, Standing
from httpdyno.stats import FEWEST_BLOCKS

__all__ = ["after_colon", "best_text", "bound_text", "figure_text", "headline"]

_WHOLE_FROM: Final = 100
_OWN_BEGINNINGS: Final = ("On a first look ", "Nobody is ", "Nothing was ")


def headline(
    ranking: Ranking,
    metric: Metric,
    medians: Mapping[str, float],
    names: Mapping[str, str],
    unranked: Mapping[str, str],
    at_least: Mapping[str, float] | None = None,
) -> str:
    """Describe who is first, by how much, how sure that is, and who cannot be told apart.

    One sentence, without a full stop. ``medians``, ``names`` and ``unranked`` are by subject; ``unranked`` has the
    reason: a verdict or an outcome. ``at_least`` has what some of those reached at least: who is behind one of them is
    not called first.
    """
    bounds = at_least or {}
    reasons = {
        subject: f"{reason}, {bound_text(bounds[subject], metric)}" if subject in bounds else reason
        for subject, reason in unranked.items()
    }
    left_out = _left_out(reasons, names)
    if not ranking.standings:
        return f"Nobody is ranked: {left_out}" if unranked else "Nothing was measured"
    best = max(medians[standing.subject] for standing in ranking.standings)
    ahead = [names[subject] for subject, bound in bounds.items() if bound > best]
    if ahead:
        may = "may be faster" if metric.column.unit == "1/s" else "may have more"
        first = f"Nobody is called first, for {some_of(ahead)} {may}; of those ranked "
        first += _first(ranking, metric, medians, names, _BEHIND)
    else:
        first = _first(ranking, metric, medians, names, _LEADING)
    return "; ".join([first, *_told_of_ties(ranking, names), *([f"not ranked: {left_out}"] if unranked else [])])


def after_colon(sentence: str) -> str:
    """Return a headline as it stands after a colon: small, unless a name begins it."""
    return sentence[0].lower() + sentence[1:] if sentence.startswith(_OWN_BEGINNINGS) else sentence


def best_text(ranking: Ranking, metric: Metric, medians: Mapping[str, float], names: Mapping[str, str]) -> str:
    """Name in short who has the best figure of several, and how many times that of the next it is.

    ``Rust reqwest, 1.32 ms of CPU time a right answer, 0.71 times Go net/http``; of those who share the lead the best
    median.
    """
    best, second = (standing.subject for standing in ranking.standings[:2])
    ratio = _ratio(ranking, best, second)
    if ranking.standings[1].best > 1:
        times = _times(best, second, ranking, medians, names)
    elif ratio:
        times = f"{ratio.estimate:.2f} times {names[second]}, not for sure"
    else:
        times = f"{_multiple(best, second, medians, names)}, not for sure"
    return f"{names[best]}, {_figure(medians[best], metric)}, {times}"


def bound_text(value: float, metric: Metric) -> str:
    """Write what was reached at least: ``at least 1,806 right answers a second``."""
    return f"at least {_figure(value, metric)}"


def figure_text(value: float) -> str:
    """Write a figure with three digits that matter: ``12,967``, ``178``, ``71.7``."""
    return f"{value:,.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.3g}"


class _Words(NamedTuple):
    """How those are called who have the best figures."""

    one: str
    several: str
    at_first_sight: str


_LEADING: Final = _Words("is first", "share the lead", "On a first look {who} leads")
_BEHIND: Final = _Words("has most", "have most", "on a first look {who} has most")


def _first(
    ranking: Ranking, metric: Metric, medians: Mapping[str, float], names: Mapping[str, str], words: _Words
) -> str:
    standings = ranking.standings
    if len(standings) == 1:
        alone = standings[0]
        return f"{names[alone.subject]}: {_figure(medians[alone.subject], metric)}{_spread(alone)}"
    if max(comparison.blocks for comparison in ranking.comparisons) < FEWEST_BLOCKS:
        return _first_look(ranking, metric, medians, names, words)
    # Of three each may be surely ahead of the next, where blocks are missing: then nobody is surely first.
    leaders = [standing for standing in standings if standing.best == 1] or list(standings)
    if len(leaders) > 1:
        return _shared_lead(leaders, ranking, metric, medians, names, words)
    # Where blocks are missing, who is surely first need not have the best median.
    best = leaders[0].subject
    second = next(standing.subject for standing in standings if standing.subject != best)
    times = _times(best, second, ranking, medians, names)
    return f"{names[best]} {words.one}: {_figure(medians[best], metric)}, {times}"


def _first_look(
    ranking: Ranking, metric: Metric, medians: Mapping[str, float], names: Mapping[str, str], words: _Words
) -> str:
    best, second = (standing.subject for standing in ranking.standings[:2])
    blocks = max(comparison.blocks for comparison in ranking.comparisons)
    trials = {0: "no trials in common", 1: "one trial each"}.get(blocks, f"{blocks} trials each")
    return (
        f"{words.at_first_sight.format(who=names[best])}: {_figure(medians[best], metric)},"
        f" {_multiple(best, second, medians, names)}; with {trials} nobody can be told apart for sure"
    )


def _shared_lead(
    leaders: Sequence[Standing],
    ranking: Ranking,
    metric: Metric,
    medians: Mapping[str, float],
    names: Mapping[str, str],
    words: _Words,
) -> str:
    who = some_of([names[standing.subject] for standing in leaders])
    values = [medians[standing.subject] for standing in leaders]
    if len(values) <= NAMED_AT_MOST:
        what = listed([_shown(value, metric) for value in values])
    else:
        what = f"{_shown(min(values), metric)} to {_shown(max(values), metric)}"
    untold = any(_pair(ranking, one.subject, other.subject).p is None for one, other in combinations(leaders, 2))
    ratio = _ratio(ranking, leaders[0].subject, leaders[1].subject) if len(leaders) == 2 else None
    # A difference that is called a tie, and looks like one that is sure, needs its reason.
    why = ", for too few of their trials count" if untold else _after_correction(ranking) if ratio else ""
    sentence = f"{who} {words.several} and cannot be told apart{why}: {what} {_phrase(metric)}"
    return f"{sentence}, a ratio of {ratio.estimate:.2f} ({_bounds(ratio)})" if ratio else sentence


def _after_correction(ranking: Ranking) -> str:
    """Describe over how many pairs ranks are corrected, which the interval of one ratio is not."""
    tested = sum(comparison.p is not None for comparison in ranking.comparisons)
    return f" after correction for {tested} pairs" if tested > 1 else ""


def _times(best: str, second: str, ranking: Ranking, medians: Mapping[str, float], names: Mapping[str, str]) -> str:
    ratio = _ratio(ranking, best, second)
    if ratio is None:
        return _multiple(best, second, medians, names)
    return f"{ratio.estimate:.2f} times {names[second]} ({_bounds(ratio)})"


def _multiple(one: str, other: str, medians: Mapping[str, float], names: Mapping[str, str]) -> str:
    if not medians[other]:
        return f"{names[other]} has none"
    return f"{medians[one] / medians[other]:.2f} times {names[other]}"


def _bounds(ratio: Interval) -> str:
    return f"{100 * ratio.level:.4g} %: {ratio.low:.2f} to {ratio.high:.2f}"


def _spread(standing: Standing) -> str:
    value = standing.value
    if value is None:
        return " in one trial, which says nothing about how sure that is"
    return f" ({100 * value.level:.4g} %: {figure_text(value.low)} to {figure_text(value.high)})"


def _ratio(ranking: Ranking, subject: str, baseline: str) -> Interval | None:
    """Return how many times the figure of ``baseline`` that of ``subject`` is, whichever of them was compared first."""
    of_both = _pair(ranking, subject, baseline)
    ratio = of_both.ratio
    if ratio is None or of_both.subject == subject:
        return ratio
    return Interval(1 / ratio.estimate, 1 / ratio.high, 1 / ratio.low, ratio.level)


def _pair(ranking: Ranking, one: str, other: str) -> Comparison:
    return next(pair for pair in ranking.comparisons if {pair.subject, pair.baseline} == {one, other})


def _ties(ranking: Ranking) -> list[list[str]]:
    """Find the longest runs below the lead in which no two subjects can be told apart."""
    if not ranking.comparisons or max(comparison.blocks for comparison in ranking.comparisons) < FEWEST_BLOCKS:
        return []
    open_pairs = {
        frozenset((comparison.subject, comparison.baseline))
        for comparison in ranking.comparisons
        if comparison.difference is Difference.UNDECIDED
    }
    below = [standing.subject for standing in ranking.standings if standing.best > 1]
    runs: list[list[str]] = []
    for start in range(len(below)):
        end = start + 1
        while end < len(below) and all(
            frozenset(pair) in open_pairs for pair in combinations(below[start : end + 1], 2)
        ):
            end += 1
        run = below[start:end]
        if len(run) > 1 and not any(set(run) <= set(longer) for longer in runs):
            runs.append(run)
    return runs


def _told_of_ties(ranking: Ranking, names: Mapping[str, str]) -> list[str]:
    """Name those below the lead that cannot be told apart, if they are few; many of them are the table's matter."""
    runs = _ties(ranking)
    if not runs:
        return []
    if len(runs) == 1 and len(runs[0]) <= NAMED_AT_MOST:
        return [f"{listed([names[subject] for subject in runs[0]])} cannot be told apart"]
    below = sum(standing.best > 1 for standing in ranking.standings)
    return [f"of the {below} below, not all can be told apart"]


def _left_out(unranked: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Name those without a rank by the reason that they share: ``A, B and 3 more (crashed), C (INCORRECT)``."""
    by_reason: dict[str, list[str]] = {}
    for subject, reason in unranked.items():
        by_reason.setdefault(reason, []).append(names[subject])
    return ", ".join(f"{some_of(those)} ({reason})" for reason, those in by_reason.items())


def _figure(value: float, metric: Metric) -> str:
    return f"{_shown(value, metric)} {_phrase(metric)}"


def _shown(value: float, metric: Metric) -> str:
    """Write a figure as the table has it, which rounds what it is given: not once from all of its digits."""
    rounded = metric.rounded(value)
    return figure_text(rounded if isinstance(rounded, int | float) else value)


def _phrase(metric: Metric) -> str:
    return metric.phrase or f"{metric.column.unit} of {metric.name}".removeprefix(" of ")
