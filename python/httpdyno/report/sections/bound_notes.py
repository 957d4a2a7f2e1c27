"""What is said of subjects that the origin held up: their figure is the least that they can."""

from collections.abc import Mapping, Sequence

from httpdyno.judge.lower_bound import lower_bounds
from httpdyno.model import Metric, Note, Trial
from httpdyno.report.sections.headline import bound_text

__all__ = ["bound_notes"]


def bound_notes(trials: Sequence[Trial], metric: Metric, names: Mapping[str, str]) -> tuple[Note, ...]:
    """Describe what those reached at least whom nothing but the origin keeps from a rank, and what follows from it."""
    why = "for the origin set the pace; nobody behind it is first"
    return tuple(
        Note(f"{names[subject]}{f', {condition}' if condition else ''}: {bound_text(bound, metric)}, {why}")
        for (condition, subject), bound in lower_bounds(trials, metric).items()
    )
