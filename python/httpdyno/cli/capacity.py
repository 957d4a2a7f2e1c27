"""``httpdyno capacity``: up to which size, delay, distance, bandwidth and concurrency a subject holds a rate."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from httpdyno.cli.completion import complete_capable, complete_loops
from httpdyno.cli.experiment_verb import experiment_verb
from httpdyno.experiments.capacity.options import CapacityOptions

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from httpdyno.cli.running import Beginning
    from httpdyno.experiments.capacity.capacity import Capacity
    from httpdyno.model import Subject
    from httpdyno.runs.pending import PendingRun
    from httpdyno.store import Run

__all__ = ["capacity"]


def _begin(
    beginning: "Beginning", names: Sequence[str] | None, options: CapacityOptions
) -> "AbstractContextManager[PendingRun]":
    from httpdyno.cli.terminal import tell
    from httpdyno.experiments.capacity.beginning import choose_subjects, make_capacity

    chosen = choose_subjects(beginning.catalogue, names, options.preset)
    experiment = make_capacity(options, chosen, beginning.place.engine, tell)
    _check_extent(experiment, chosen, agreed=options.yes)
    beginning.install(*chosen)
    return beginning.run(experiment, chosen)


def _check_extent(experiment: "Capacity", subjects: "Sequence[Subject]", *, agreed: bool) -> None:
    """Refuse what takes hours, unless somebody has agreed to it."""
    from httpdyno.experiments.capacity.extent import extent_of

    extent = extent_of(
        experiment.axes, subjects=len(subjects), repeat=experiment.repeat, duration_s=experiment.duration_s
    )
    if experiment.frontier:
        extent = extent.of(experiment.plan(subjects).most)
    extent.check(agreed=agreed)


def _beside(run: "Run") -> None:
    from httpdyno.cli.capacity_preset import write_published_form

    write_published_form(run)


capacity = experiment_verb(
    CapacityOptions,
    _begin,
    help="Find up to where each subject holds a rate: a trial for each point of a grid, or a search for the frontier.",
    names="Clients and load tools, such as go-net-http.",
    complete_names=complete_capable,
    completions={"--loop": complete_loops},
    beside=_beside,
)
