"""``httpdyno latency``: what one call costs in a warm process, alone and 20 at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from httpdyno.cli.completion import complete_clients
from httpdyno.cli.experiment_verb import experiment_verb
from httpdyno.experiments.latency.options import LatencyOptions

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from httpdyno.cli.running import Beginning
    from httpdyno.runs.pending import PendingRun

__all__ = ["latency"]


def _begin(
    beginning: "Beginning", names: Sequence[str] | None, options: LatencyOptions
) -> "AbstractContextManager[PendingRun]":
    from httpdyno.cli.terminal import tell
    from httpdyno.experiments.latency.beginning import choose_subjects, make_latency, peer_of

    server = peer_of(beginning.catalogue, options)
    chosen = choose_subjects(beginning.catalogue, names, options.preset)
    beginning.install(*chosen, server)
    return beginning.run(make_latency(options, chosen, server, beginning.place.engine, tell), chosen)


latency = experiment_verb(
    LatencyOptions,
    _begin,
    help="Measure what one call costs in a warm process, as Python's timeit does, and whose time that is.",
    names="Clients. Default: the three of the published figures, and those of --subjects.",
    complete_names=complete_clients,
)
