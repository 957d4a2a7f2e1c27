"""The answer of the trials of one condition in a sentence: which subject is first, which have no rank, and why."""

from collections.abc import Iterable, Mapping, Sequence

from httpdyno.judge import placing_trials, verdict_of
from httpdyno.judge.lower_bound import lower_bounds
from httpdyno.model import Metric, Ranking, Trial, Validity
from httpdyno.report.sections.headline import headline, left_out_text
from httpdyno.stats import median

__all__ = ["not_ranked_text", "placing_medians", "ranked_headline"]


def ranked_headline(trials: Sequence[Trial], ranking: Ranking, metric: Metric, names: Mapping[str, str]) -> str:
    """Describe where the subjects of trials of one condition stand, as ``headline`` does.

    ``names`` are by subject, in the order in which they are listed.
    """
    ranked = {standing.subject for standing in ranking.standings}
    unranked = _unranked(trials, ranking, metric, names)
    bounds = {name: bound for (_, name), bound in lower_bounds(trials, metric).items() if name in unranked}
    return headline(ranking, metric, placing_medians(metric, trials, ranked), names, unranked, bounds)


def not_ranked_text(trials: Sequence[Trial], ranking: Ranking, metric: Metric, names: Mapping[str, str]) -> str:
    """Name the subjects without a rank, and why: ``A and B (crashed), C (INCORRECT)``; empty where all are ranked."""
    return left_out_text(_unranked(trials, ranking, metric, names), names)


def _unranked(trials: Sequence[Trial], ranking: Ranking, metric: Metric, names: Mapping[str, str]) -> Mapping[str, str]:
    """Return why subjects have no rank: their verdict, or that they have no such figure."""
    ranked = {standing.subject for standing in ranking.standings}
    others = {name: [trial for trial in trials if trial.subject == name] for name in names if name not in ranked}
    verdicts = {subject: verdict_of(of) for subject, of in others.items() if of}
    lacking = f"no {metric.name}"
    return {name: lacking if word in {Validity.VALID, ""} else word for name, word in verdicts.items()}


def placing_medians(metric: Metric, trials: Sequence[Trial], subjects: Iterable[str]) -> dict[str, float]:
    """Return for each subject the median of a figure over the trials that give it its place."""
    return {
        subject: median(map(metric.figure, placing_trials([t for t in trials if t.subject == subject], metric.aspect)))
        or 0.0
        for subject in subjects
    }
