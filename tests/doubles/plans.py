"""The trials of a plan, one after the other, for tests with made-up results."""

from collections.abc import Iterator, Sequence

from httpdyno.experiments.plan import Plan
from httpdyno.model import Trial, TrialPlan

__all__ = ["following"]


def following(plan: Plan, seen: Sequence[Trial]) -> Iterator[TrialPlan]:
    """Return one trial after the other; ``seen`` must have each before the next is taken."""
    while (planned := plan.next(seen)) is not None:
        yield planned
