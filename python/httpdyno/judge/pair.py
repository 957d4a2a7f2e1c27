"""Pairs that are compared together: what may be said of each once all of them are taken into account."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from httpdyno.errors import InvalidValue
from httpdyno.judge.metrics import find_metric
from httpdyno.model import Comparison, Difference, Direction, Metric, current_name
from httpdyno.stats import Effect, FloatArray, compare_all_pairs, holm, paired_effect

__all__ = ["Pair", "adjust_all", "corrected", "find_rankable", "pair_by_blocks", "rankable"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sets of values that are compared, and what they say before any correction."""

    subject: str
    baseline: str
    condition: str
    effect: Effect
    blocks: int
    paired: bool


def pair_by_blocks(
    subject: str, baseline: str, condition: str, figures: Mapping[str, Mapping[int, float]], *, level: float
) -> Pair:
    """Compare two subjects of one run by the blocks that both have a figure in.

    ``figures`` are by subject, then by block; the ratio is the subject's over the baseline's.
    """
    first, second = figures[subject], figures[baseline]
    common = sorted(first.keys() & second.keys())
    effect = paired_effect(_values(first, common), _values(second, common), level=level)
    return Pair(subject, baseline, condition, effect, len(common), paired=True)


def _values(figures: Mapping[int, float], blocks: Sequence[int]) -> FloatArray:
    return np.array([figures[block] for block in blocks], dtype=np.float64)


def adjust_all(pairs: Sequence[Pair], figures: Mapping[str, Mapping[int, float]]) -> FloatArray:
    """Return the adjusted p values of all pairs of the subjects of one condition.

    Parameters
    ----------
    pairs
        In the order of ``itertools.combinations`` of the subjects of ``figures``.
    figures
        By subject, then by block.

    Returns
    -------
    FloatArray
        One for each pair; NaN where it cannot be tested.
    """
    blocks = sorted({block for of_subject in figures.values() for block in of_subject})
    logs = np.full((len(figures), len(blocks)), np.nan)
    for row, of_subject in zip(logs, figures.values(), strict=True):
        if min(of_subject.values(), default=0) > 0:
            row[np.searchsorted(blocks, list(of_subject))] = np.log(list(of_subject.values()))
    return compare_all_pairs(logs, _own_p(pairs))


def corrected(
    pairs: Sequence[Pair], metric: Metric, *, level: float, adjusted: FloatArray | None = None
) -> tuple[Comparison, ...]:
    """Return what may be said of pairs that are compared together.

    ``adjusted`` are their p values as ``adjust_all`` returns them; without it they are adjusted by Holm. Pairs that
    cannot be tested are no part of the family. ``level`` is the confidence in all that is called better or worse
    together.
    """
    rankable(metric)
    if adjusted is None:
        adjusted = _own_p(pairs)
        tested = ~np.isnan(adjusted)
        adjusted[tested] = holm(adjusted[tested])
    comparisons = []
    for pair, adjusted_p in zip(pairs, adjusted.tolist(), strict=True):
        effect = pair.effect
        p_adjusted = None if effect.p is None else adjusted_p
        subject_mean, baseline_mean = effect.means or (None, None)
        comparisons.append(
            Comparison(
                subject=pair.subject,
                baseline=pair.baseline,
                metric=metric.name,
                ratio=effect.ratio,
                p=effect.p,
                p_adjusted=p_adjusted,
                difference=_difference(effect, p_adjusted, metric, level),
                blocks=pair.blocks,
                paired=pair.paired,
                condition=pair.condition,
                subject_mean=subject_mean,
                baseline_mean=baseline_mean,
            )
        )
    return tuple(comparisons)


def _own_p(pairs: Sequence[Pair]) -> FloatArray:
    return np.array([np.nan if pair.effect.p is None else pair.effect.p for pair in pairs], dtype=np.float64)


def rankable(metric: Metric) -> None:
    """Refuse a metric without a better side."""
    if metric.better is Direction.NEITHER:
        raise InvalidValue(
            f"{metric.name} describes what was measured and is neither better nor worse when it is higher; "
            "choose a metric with a direction"
        )


def find_rankable(metrics: Iterable[Metric], name: str) -> Metric:
    """Find a metric by which two can be compared."""
    known = tuple(metrics)
    ranking = [metric for metric in known if metric.better is not Direction.NEITHER]
    names = {metric.name for metric in ranking}
    if current_name(name, names) not in names and name in {metric.name for metric in known}:
        raise InvalidValue(
            f"{name} is neither better nor worse when it is higher; choose one of: {', '.join(m.name for m in ranking)}"
        )
    return find_metric(ranking, name)


def _difference(effect: Effect, p_adjusted: float | None, metric: Metric, level: float) -> Difference:
    if p_adjusted is None or p_adjusted > 1 - level or effect.sign == 0:
        return Difference.UNDECIDED
    higher_is_better = metric.better is Direction.HIGHER
    return Difference.BETTER if (effect.sign > 0) == higher_is_better else Difference.WORSE
