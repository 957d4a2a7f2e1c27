"""Comparisons of subjects and of runs by a metric, and thresholds on them."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from httpdyno.errors import InvalidValue, UnknownName, suggestion
from httpdyno.judge.rankable import figures_by_block, grouped
from httpdyno.model import Comparison, Difference, Direction, Metric, Trial, current_name, format_exact
from httpdyno.stats import Effect, compare_all_pairs, holm, paired_effect, unpaired_effect


def find_metric(metrics: Iterable[Metric], name: str) -> Metric:
    """Find a metric by its name, or by its name in version 0.1."""
    known = {metric.name: metric for metric in metrics}
    if (current := current_name(name, known)) in known:
        return known[current]
    raise UnknownName(f"there is no metric {name!r}; {suggestion(name, known)}")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sets of values to compare, with their effect before correction."""

    subject: str
    baseline: str
    condition: str
    effect: Effect
    blocks: int
    paired: bool


def pair_by_blocks(
    subject: str, baseline: str, condition: str, figures: Mapping[str, Mapping[int, float]], *, level: float
) -> Pair:
    """Compare two subjects of one run over the blocks in which both have a figure.

    ``figures`` are by subject, then by block; the ratio is the subject's over the baseline's.
    """
    first, second = figures[subject], figures[baseline]
    common = sorted(first.keys() & second.keys())
    values = ([figures[block] for block in common] for figures in (first, second))
    effect = paired_effect(*(np.array(those, dtype=np.float64) for those in values), level=level)
    return Pair(subject, baseline, condition, effect, len(common), paired=True)


def corrected(
    pairs: Sequence[Pair],
    metric: Metric,
    *,
    level: float,
    figures: Mapping[str, Mapping[int, float]] | None = None,
) -> tuple[Comparison, ...]:
    """Return the comparisons of pairs, corrected for all pairs together; ``level`` is the simultaneous confidence.

    Pairs that cannot be tested are not part of the family. With ``figures``, by subject and then by block, the pairs
    must be the ``itertools.combinations`` of these subjects, and the correction is that for all pairs; else it is
    Holm's.
    """
    require_direction(metric)
    adjusted = np.array([np.nan if pair.effect.p is None else pair.effect.p for pair in pairs], dtype=np.float64)
    if figures is None:
        tested = ~np.isnan(adjusted)
        adjusted[tested] = holm(adjusted[tested])
    else:
        blocks = sorted({block for of_subject in figures.values() for block in of_subject})
        logs = np.full((len(figures), len(blocks)), np.nan)
        for row, of_subject in zip(logs, figures.values(), strict=True):
            if min(of_subject.values(), default=0) > 0:
                row[np.searchsorted(blocks, list(of_subject))] = np.log(list(of_subject.values()))
        adjusted = compare_all_pairs(logs, adjusted)
    comparisons = []
    for pair, adjusted_p in zip(pairs, adjusted.tolist(), strict=True):
        effect = pair.effect
        p_adjusted = None if effect.p is None else adjusted_p
        difference = Difference.UNDECIDED
        if p_adjusted is not None and p_adjusted <= 1 - level and effect.sign != 0:
            is_better = (effect.sign > 0) is (metric.better is Direction.HIGHER)
            difference = Difference.BETTER if is_better else Difference.WORSE
        subject_mean, baseline_mean = effect.means or (None, None)
        comparisons.append(
            Comparison(
                subject=pair.subject,
                baseline=pair.baseline,
                metric=metric.name,
                ratio=effect.ratio,
                p=effect.p,
                p_adjusted=p_adjusted,
                difference=difference,
                blocks=pair.blocks,
                paired=pair.paired,
                condition=pair.condition,
                subject_mean=subject_mean,
                baseline_mean=baseline_mean,
            )
        )
    return tuple(comparisons)


def require_direction(metric: Metric) -> None:
    """Raise ``InvalidValue`` for a metric without a direction."""
    if metric.better is Direction.NEITHER:
        raise InvalidValue(f"{metric.name} has no direction: choose a metric with a direction")


def find_rankable(metrics: Iterable[Metric], name: str) -> Metric:
    """Find a metric with a direction by its name."""
    known = tuple(metrics)
    ranking = [metric for metric in known if metric.better is not Direction.NEITHER]
    names = {metric.name for metric in ranking}
    if current_name(name, names) not in names and name in {metric.name for metric in known}:
        raise InvalidValue(f"{name} has no direction; choose from: {', '.join(m.name for m in ranking)}")
    return find_metric(ranking, name)


def compare_runs(
    trials_a: Sequence[Trial], trials_b: Sequence[Trial], metric: Metric, *, level: float = 0.95
) -> tuple[Comparison, ...]:
    """Compare the same subjects in two runs; the trials of the runs share no blocks.

    The state of the machine therefore differs between the sides, and counts as a difference. The comparisons are in the
    order of B, each with the ratio of B to A, the baseline. A comparison is undecided and without a ratio if one side
    is not valid or has fewer than three trials that count.
    """
    before, after = grouped(trials_a), grouped(trials_b)
    pairs = []
    for group in [group for group in after if group in before]:
        figures = (list(figures_by_block(side[group], metric).values()) for side in (after, before))
        first, second = (np.array(values, dtype=np.float64) for values in figures)
        effect = unpaired_effect(first, second, level=level)
        condition, subject = group
        pairs.append(Pair(subject, subject, condition, effect, min(len(first), len(second)), paired=False))
    return corrected(pairs, metric, level=level)


def compare_with_baseline(
    trials: Sequence[Trial], baseline: str, metric: Metric, *, level: float = 0.95
) -> tuple[Comparison, ...]:
    """Compare each subject of a run with the baseline, over the blocks that both share.

    The correction is for these comparisons only, which are fewer than all pairs, so each is more powerful. They are in
    the order of the trials, each with the ratio of the subject to the baseline. A comparison is undecided and has no
    ratio if one side is not valid, or both share fewer than three blocks that count.
    """
    groups = grouped(trials)
    subjects = dict.fromkeys(subject for _, subject in groups)
    if baseline not in subjects:
        raise UnknownName(f"there is no subject {baseline!r} in this run; it has: {', '.join(subjects)}")
    pairs = []
    for condition in dict.fromkeys(condition for condition, _ in groups):
        figures = {
            subject: figures_by_block(group, metric) for (of, subject), group in groups.items() if of == condition
        }
        figures.setdefault(baseline, {})
        pairs += [
            pair_by_blocks(subject, baseline, condition, figures, level=level)
            for subject in figures
            if subject != baseline
        ]
    return corrected(pairs, metric, level=level)


_FORM: Final = re.compile(
    r"(?P<metric>[^\s<>=]+)\s*(?P<operator>[<>])\s*(?P<percent>[+-]?\d{1,9}(\.\d{1,9})?)\s*%", re.ASCII
)
_EXAMPLES: Final = "write it like 'right_per_s < -5%' or 'p99 > +10%'"


@dataclass(frozen=True, slots=True)
class Threshold:
    """Largest change of a metric from the baseline that passes."""

    metric: Metric
    operator: Literal["<", ">"]
    percent: float
    """The change from the baseline: -5 is 5 % less."""

    def __post_init__(self) -> None:
        """Raise ``InvalidValue`` for a metric without a direction, or a change of -100 % or less."""
        require_direction(self.metric)
        if not self.percent > -100:
            raise InvalidValue(f"threshold {self.text!r} always passes: give a change above -100 %")

    @property
    def text(self) -> str:
        """Write the threshold in its shortest form: ``right_per_s < -5%``."""
        sign = "" if self.percent < 0 else "+"
        return f"{self.metric.name} {self.operator} {sign}{format_exact(self.percent)}%"

    def passed_by(self, comparison: Comparison) -> bool:
        """Return whether a change is beyond the threshold with confidence.

        The whole interval of the change must be beyond the threshold. Usually "no change" is not beyond it; then the
        change itself must also be significant after the correction for the number of comparisons: of twenty unchanged
        subjects, one interval excludes zero by chance. The comparison must use the threshold's own metric.
        """
        low, high = self._changes(comparison)
        beyond = self._beyond(high if self.operator == "<" else low)
        return beyond and (self._beyond(0.0) or comparison.difference is not Difference.UNDECIDED)

    def _beyond(self, percent: float) -> bool:
        return percent < self.percent if self.operator == "<" else percent > self.percent

    def _changes(self, comparison: Comparison) -> tuple[float, float]:
        """Return the bounds of the change in per cent; NaN, which breaks no threshold, if unknown."""
        if comparison.ratio is not None:
            return (comparison.ratio.low - 1) * 100, (comparison.ratio.high - 1) * 100
        if comparison.difference is Difference.UNDECIDED:
            return math.nan, math.nan
        # All values of one side are 0, so there is no ratio: the change is by everything, or by any factor.
        rises = (comparison.difference is Difference.BETTER) is (self.metric.better is Direction.HIGHER)
        change = math.inf if rises else -100.0
        return change, change


def parse_threshold(text: str, metrics: Iterable[Metric]) -> Threshold:
    """Parse ``METRIC < PERCENT%`` or ``METRIC > PERCENT%``; spaces are optional, and so is the sign of an increase."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InvalidValue(f"threshold {text[:60]!r} is not valid; {_EXAMPLES}")
    metric = find_rankable(metrics, match["metric"])
    # Adding zero turns -0 into 0.
    return Threshold(metric, "<" if match["operator"] == "<" else ">", float(match["percent"]) + 0.0)
