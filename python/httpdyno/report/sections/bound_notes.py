"""Notes on clients that the origin slowed down: their figure is a lower bound."""

from collections.abc import Mapping, Sequence

from httpdyno.judge.lower_bound import lower_bounds
from httpdyno.model import Metric, Note, Trial
from httpdyno.report.sections.headline import bound_text

__all__ = ["bound_notes"]


def bound_notes(trials: Sequence[Trial], metric: Metric, names: Mapping[str, str]) -> tuple[Note, ...]:
    """Describe the lower bound of each client that only the origin keeps from a rank."""
    why = "because the origin set the pace; no client behind it can be called first"
    return tuple(
        Note(f"{names[subject]}{f', {condition}' if condition else ''}: {bound_text(bound, metric)}, {why}")
        for (condition, subject), bound in lower_bounds(trials, metric).items()
    )
