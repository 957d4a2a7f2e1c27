"""The subjects of one run against one of them."""

from collections.abc import Sequence

from httpdyno.errors import UnknownName
from httpdyno.judge.group import figures_by_block, grouped
from httpdyno.judge.pair import corrected, pair_by_blocks
from httpdyno.model import Comparison, Metric, Trial

__all__ = ["compare_with_baseline"]


def compare_with_baseline(
    trials: Sequence[Trial], baseline: str, metric: Metric, *, level: float = 0.95
) -> tuple[Comparison, ...]:
    """Compare each subject of a run with one of them, by the blocks that both were measured in.

    Fewer comparisons than all pairs, so that each can say more: the correction is for these alone. They come in the
    order of the trials, each with the ratio of the subject to the baseline. One is undecided and without a ratio where
    one of the two cannot be believed, or they share fewer than three blocks that count.
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
