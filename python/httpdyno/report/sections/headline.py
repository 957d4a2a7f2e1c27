"""The answer of a run in one sentence: the first subject, its lead, and how certain that is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from httpdyno.judge import passes_all, placing_trials, verdict_of
from httpdyno.judge.ranking import lower_bounds
from httpdyno.judge.wording import some_of
from httpdyno.model import Comparison, Difference, Direction, Interval, Metric, Note, Ranking, Trial, Validity
from httpdyno.report.cell import figure_text
from httpdyno.stats import FEWEST_BLOCKS, median

_TIMES_FROM: Final = 2.0
"""Quotient from which a difference is written as a multiple instead of in percent."""
_PROVISIONAL: Final = "provisional"
_COMMON: Final = {0: "no common block", 1: "1 common block"}
_EACH: Final = {0: "no common block", 1: "one trial each"}
_OF_MACHINE: Final = frozenset(Validity) - {Validity.INCORRECT}


def headline(
    ranking: Ranking,
    metric: Metric,
    medians: Mapping[str, float],
    names: Mapping[str, str],
    unranked: Mapping[str, str],
    at_least: Mapping[str, float] | None = None,
    *,
    after_colon: bool = False,
) -> str:
    """Name the first subject, its lead, how certain the lead is, and the subjects that are not ranked.

    One sentence, without a full stop; the subject that it names first has the best median. ``medians``, ``names`` and
    ``unranked`` are by subject; ``unranked`` has the reason: a verdict or an outcome. ``at_least`` has what some of
    those reached at least: no subject behind one of them is called first. ``after_colon``: it begins in lower case,
    unless with a name.
    """
    bounds = at_least or {}
    reasons = {
        subject: f"{reason}, at least {_figure(bounds[subject], metric)}" if subject in bounds else reason
        for subject, reason in unranked.items()
    }
    left_out, no = _listed_with_reasons(reasons, names), "no" if after_colon else "No"
    if not ranking.standings:
        return f"{no} subject is ranked: {left_out}" if unranked else f"{no}thing was measured"
    best = medians[ranking.standings[0].subject]
    ahead = [names[subject] for subject, bound in bounds.items() if bound > best]
    first = lead_text(
        ranking, metric, medians, names, after_name=": " if len(ranking.standings) == 1 else " is first: "
    )
    if ahead:
        first = f"{no} clear winner: the origin limited {some_of(ahead)}; of those ranked, {first}"
    return f"{first}; not ranked: {left_out}" if unranked else first


def lead_text(
    ranking: Ranking,
    metric: Metric,
    medians: Mapping[str, float],
    names: Mapping[str, str],
    *,
    phrase: str | None = None,
    after_name: str = ": ",
    figure: bool = True,
    bounds: bool = True,
    reason: bool = True,
) -> str:
    """Name the subject with the best median, its figure, and how far and how certainly it is ahead of the second.

    ``Rust reqwest: 234 right answers a second, 11 % more than Deno fetch (8 to 14 %): certain``. Where fewer than two
    subjects are ranked there is no comparison. If the difference may be chance the text has the reason: too few
    trials, an interval that includes 0, or the number of pairs that were compared. ``phrase`` replaces the words after
    the figure, ``after_name`` those after the name. Without ``figure`` only the difference is written:
    ``Rust reqwest, 11 % more right/s than Deno fetch (8 to 14 %): certain``. Without ``bounds`` the interval is written
    only where it is the reason. Without ``reason`` an uncertain difference is only called provisional, or one that
    may be chance.
    """
    first, *others = ranking.standings[:2]
    name = names[first.subject]
    lead = f"{name}{after_name}{_figure(medians[first.subject], metric, phrase)}"
    if not others:
        value = first.value
        spread = "in one trial"
        if value is not None:
            spread = f"({100 * value.level:.4g} %: {figure_text(value.low)} to {figure_text(value.high)})"
        return f"{lead} {spread}"
    second = others[0].subject
    pair = next(pair for pair in ranking.comparisons if {pair.subject, pair.baseline} == {first.subject, second})
    word, with_reason, interval_is_reason = _certainty(pair, ranking)
    ratio = ratio_of(pair, first.subject)
    of_what = "" if figure or not phrase else f" {phrase}"
    best, next_best = medians[first.subject], medians[second]
    if ratio is not None:
        ahead = f"{_difference(ratio.estimate, metric, of_what)} {names[second]}"
        if bounds or interval_is_reason:
            ahead += _bounds(ratio, metric)
    elif best and next_best:
        ahead = f"{_difference(best / next_best, metric, of_what)} {names[second]}"
    else:
        ahead = f"{names[second]} has {figure_text(next_best)}"
    return f"{lead if figure else name}, {ahead}: {with_reason if reason else word}"


def ratio_of(pair: Comparison, subject: str) -> Interval | None:
    """Return the ratio of a pair as that of this subject to the other; None when the pair has no ratio."""
    ratio = pair.ratio
    if ratio is None or pair.subject == subject:
        return ratio
    return Interval(1 / ratio.estimate, 1 / ratio.high, 1 / ratio.low, ratio.level)


def _difference(quotient: float, metric: Metric, of_what: str) -> str:
    """Write a quotient as a difference: ``11 % more than``, ``2.50 times``; one against the order has a sign."""
    if max(quotient, 1 / quotient) >= _TIMES_FROM:
        return f"{quotient:.2f} times"
    return f"{_percent(quotient, metric)} % {'more' if metric.better is Direction.HIGHER else 'less'}{of_what} than"


def _bounds(ratio: Interval, metric: Metric) -> str:
    if max(ratio.estimate, 1 / ratio.estimate) >= _TIMES_FROM:
        return f" ({ratio.low:.2f} to {ratio.high:.2f})"
    ends = sorted((ratio.low, ratio.high), reverse=metric.better is not Direction.HIGHER)
    return f" ({' to '.join(_percent(end, metric) for end in ends)} %)"


def _percent(quotient: float, metric: Metric) -> str:
    percent = 100 * (quotient - 1 if metric.better is Direction.HIGHER else 1 - quotient)
    digits = 0 if abs(percent) >= 1 else 1
    return f"{round(percent, digits) + 0.0:.{digits}f}"  # adding zero removes the sign of a rounded -0


def _certainty(pair: Comparison, ranking: Ranking) -> tuple[str, str, bool]:
    """Return how certain a difference is: in a word, with the reason, and whether the reason is the interval."""
    most = max(comparison.blocks for comparison in ranking.comparisons)
    interval_is_reason = False
    if pair.blocks < FEWEST_BLOCKS <= most:
        return _PROVISIONAL, f"{_PROVISIONAL} ({_COMMON.get(pair.blocks, f'{pair.blocks} common blocks')})", False
    if pair.difference is Difference.WORSE:
        return _PROVISIONAL, f"{_PROVISIONAL} (the reverse in {pair.blocks} common blocks)", False
    word = with_reason = "certain"
    if pair.difference is not Difference.BETTER:
        reason = _why_open(pair, ranking, most)
        interval_is_reason = not reason
        word = "may be chance"
        with_reason = f"{word}{reason}"
    if any(one.provisional for one in ranking.standings[:2]):
        return _PROVISIONAL, f"{_PROVISIONAL} ({with_reason})", interval_is_reason
    return word, with_reason, interval_is_reason


def _why_open(pair: Comparison, ranking: Ranking, most: int) -> str:
    """Describe why no difference was found, unless the interval includes 0. ``most``: the most blocks of a pair."""
    if most < FEWEST_BLOCKS:
        return f", {_EACH.get(most, f'{most} trials each')}"
    if pair.p is None:
        return ", 0 in some trials"
    if pair.ratio is not None and pair.ratio.low <= 1 <= pair.ratio.high:
        return ""
    tested = sum(comparison.p is not None for comparison in ranking.comparisons)
    return f", one of {tested} pairs" if pair.ratio and tested > 1 else f", {pair.blocks} trials each"


def _listed_with_reasons(unranked: Mapping[str, str], names: Mapping[str, str]) -> str:
    """List subjects by their shared reason, if any: ``A, B and 3 more (crashed), C (INCORRECT)``."""
    by_reason: dict[str, list[str]] = {}
    for subject, reason in unranked.items():
        by_reason.setdefault(reason, []).append(names[subject])
    return ", ".join(some_of(those) + (f" ({reason})" if reason else "") for reason, those in by_reason.items())


def _figure(value: float, metric: Metric, phrase: str | None = None) -> str:
    """Write a figure with the rounding of the table and its unit in words."""
    if phrase is None:
        phrase = metric.phrase or f"{metric.column.unit} of {metric.name}".removeprefix(" of ")
    rounded = metric.rounded(value)
    return f"{figure_text(rounded if isinstance(rounded, int | float) else value)} {phrase}"


def ranked_headline(
    trials: Sequence[Trial], ranking: Ranking, metric: Metric, names: Mapping[str, str], *, after_colon: bool = False
) -> str:
    """Return the headline of the trials of one condition.

    ``names`` are by subject, in the order in which they are listed. ``after_colon`` as for ``headline``.
    """
    unranked = _unranked_reasons(trials, ranking, metric, names)
    bounds = {name: bound for (_, name), bound in lower_bounds(trials, metric).items() if name in unranked}
    medians = placing_medians(metric, trials, [standing.subject for standing in ranking.standings])
    return headline(ranking, metric, medians, names, unranked, bounds, after_colon=after_colon)


def not_ranked_text(trials: Sequence[Trial], ranking: Ranking, metric: Metric, names: Mapping[str, str]) -> str:
    """Name the unranked subjects and their reasons: ``A and B (crashed), C (INCORRECT)``; empty when all are ranked."""
    return _listed_with_reasons(_unranked_reasons(trials, ranking, metric, names), names)


def _unranked_reasons(
    trials: Sequence[Trial], ranking: Ranking, metric: Metric, names: Mapping[str, str]
) -> Mapping[str, str]:
    reasons = {}
    ranked = {standing.subject for standing in ranking.standings}
    for subject in (name for name in names if name not in ranked):
        if own := [trial for trial in trials if trial.subject == subject]:
            verdict = verdict_of(own)
            reasons[subject] = f"no {metric.name}" if verdict in {Validity.VALID, ""} else verdict
    return reasons


def passed_headline(
    trials: Sequence[Trial],
    passes: Callable[[Trial], bool | None],
    names: Mapping[str, str],
    *,
    after_colon: bool = False,
) -> str:
    """Name the subjects that pass, those that fail with the reason, and those without a judgement.

    ``after_colon`` as for ``headline``.
    """
    passed: list[str] = []
    failed: dict[str, str] = {}
    unknown: dict[str, str] = {}
    for subject, name in names.items():
        own = [trial for trial in trials if trial.subject == subject]
        all_passed, verdict = passes_all(own, passes), verdict_of(own) if own else ""
        if all_passed:
            passed.append(name)
        elif own and all_passed is None:
            unknown[subject] = verdict
        elif own:  # a failure counts even on a busy machine, which cannot be its reason
            failed[subject] = "" if verdict in _OF_MACHINE else verdict
    parts = (
        f"Passed: {some_of(passed)}" if passed else f"{'no' if after_colon else 'No'} subject passed",
        f"failed: {_listed_with_reasons(failed, names)}" if failed else "",
        f"not judged: {_listed_with_reasons(unknown, names)}" if unknown else "",
    )
    return "; ".join(filter(None, parts))


def placing_medians(metric: Metric, trials: Sequence[Trial], subjects: Iterable[str]) -> dict[str, float]:
    """Return for each subject the median of a figure over its placing trials."""
    return {
        subject: median(map(metric.figure, placing_trials([t for t in trials if t.subject == subject], metric.aspect)))
        or 0.0
        for subject in subjects
    }


def bound_notes(trials: Sequence[Trial], metric: Metric, names: Mapping[str, str]) -> tuple[Note, ...]:
    """Describe the lower bound of each client that is unranked only because of the origin."""
    why = "because the origin limited it; no client with a lower figure can be called first"
    return tuple(
        Note(f"{names[subject]}{f', {condition}' if condition else ''}: at least {_figure(bound, metric)}, {why}")
        for (condition, subject), bound in lower_bounds(trials, metric).items()
    )
