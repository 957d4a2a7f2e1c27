"""``httpdyno cost``: what 10,000 verified JSON documents cost in CPU time, memory and time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from httpdyno.cli.completion import complete_capable
from httpdyno.cli.experiment_verb import experiment_verb
from httpdyno.experiments.cost.options import CostOptions

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from httpdyno.cli.running import Beginning
    from httpdyno.runs.pending import PendingRun

__all__ = ["cost"]


def _begin(
    beginning: "Beginning", names: Sequence[str] | None, options: CostOptions
) -> "AbstractContextManager[PendingRun]":
    from httpdyno.cli.terminal import tell
    from httpdyno.experiments.companion import find_peer
    from httpdyno.experiments.cost.beginning import choose_subjects, make_cost

    server = find_peer(beginning.catalogue, options.peer, "json")
    chosen = choose_subjects(beginning.catalogue, names, options.preset)
    beginning.install(*chosen.subjects, server)
    experiment = make_cost(options, chosen, server, beginning.place.engine, tell)
    for subject, reason in chosen.left_out.items():
        tell(f"{subject} is left out: it {reason}")
    return beginning.run(experiment, chosen.subjects)


cost = experiment_verb(
    CostOptions,
    _begin,
    help="Measure what each subject spends on JSON documents that it fetches, parses and checks one after another.",
    names="Clients, and tools beside them. Default: the eleven of the published crawl's table, ab and httperf.",
    complete_names=complete_capable,
)
