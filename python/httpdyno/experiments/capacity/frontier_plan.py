"""The plan of a frontier: each subject searches its own, one trial a round, from what its own trials have found."""

from collections.abc import Callable, Sequence

from httpdyno.experiments.capacity.axes import Axes
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.frontier import Slice, refined, slices
from httpdyno.experiments.capacity.judge.objective import Objective, parse_objective
from httpdyno.experiments.plan import NextTrial, SearchPlan
from httpdyno.model import Condition, Outcome, Subject, Trial

__all__ = ["frontier_plan"]


def frontier_plan(
    subjects: Sequence[Subject],
    axes: Axes,
    condition: Callable[[CapacityPoint], Condition],
    *,
    objective: str,
    repeat: int = 1,
    seed: int = 1,
) -> SearchPlan:
    """Plan the search for the frontiers of several subjects.

    A subject that is not available has one trial, which says why. Up to ``repeat`` times as many trials as usual are
    made, to resolve doubt; of two sizes those in between are tried, too.
    """
    required = parse_objective(objective)
    grid = slices(refined(axes), repeat=repeat)
    most = sum(one.search.budget for one in grid) * len(subjects)

    def choose(_subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
        if any(trial.outcome is Outcome.UNAVAILABLE for trial in seen):
            return None
        chosen = next((chosen for one in grid if (chosen := _next(one, seen, required, condition))), None)
        # Who says that nobody can hold any of it shows it once.
        return chosen if chosen or seen else NextTrial(begins_with, "nothing can hold here: to see how far it gets")

    begins_with = condition(grid[0].point(0, grid[0].search.loads[0]))
    return SearchPlan(tuple(subjects), begins_with, most, choose, seed)


def _next(
    one: Slice, seen: Sequence[Trial], objective: Objective, condition: Callable[[CapacityPoint], Condition]
) -> NextTrial | None:
    step = one.search.next(one.checks(seen, objective))
    if step is None:
        return None
    point = one.point(step.column, step.load)
    again = any(trial.get(CapacityPoint) == point for trial in seen)
    return NextTrial(condition(point), "again, as what was found is in doubt" if again else "the boundary may lie here")
