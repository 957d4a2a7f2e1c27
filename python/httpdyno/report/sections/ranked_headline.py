"""The answer of the trials of one condition in a sentence: which subject is first, which have no rank, and why."""

from collections.abc import Iterable, Mapping, Sequence

from httpdyno.judge import placing_trials, verdict_of
from httpdyno.judge.lower_bound import lower_bounds
from httpdyno.model import Metric, Ranking, Trial, Validity
from httpdyno.report.sections.headline import headline
from httpdyno.stats import median

__all__ = ["placing_medians", "ranked_headline"]


def ranked_headline(trials: Sequence[Trial], ranking: Ranking, metric: Metric, names: Mapping[str, str]) -> str:
    """Describe where the subjects of trials of one condition stand, as ``headline`` does.

    A subject without a rank has its verdict for a reason, or that it has no such figure. ``names`` are by subject, in
    the order in which they are listed.
    """
    ranked = {standing.subject for standing in ranking.standings}
    others = {name: [trial for trial in trials if trial.subject == name] for name in names if name not in ranked}
    verdicts = {subject: verdict_of(of) for subject, of in others.items() if of}
    lacking = f"no {metric.name}"
    unranked = {name: lacking if word in {Validity.VALID, ""} else word for name, word in verdicts.items()}
    bounds = {name: bound for (_, name), bound in lower_bounds(trials, metric).items() if name in unranked}
    return headline(ranking, metric, placing_medians(metric, trials, ranked), names, unranked, bounds)


def placing_medians(metric: Metric, trials: Sequence[Trial], subjects: Iterable[str]) -> dict[str, float]:
    """Return for each subject the median of a figure over the trials that give it its place."""
    return {
        subject: median(map(metric.figure, placing_trials([t for t in trials if t.subject == subject], metric.aspect)))
        or 0.0
        for subject in subjects
    }
