"""``httpdyno service``: how servers hold up when every request waits for parallel work."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from httpdyno.cli.completion import complete_loops, complete_servers, complete_tools
from httpdyno.cli.experiment_verb import experiment_verb
from httpdyno.experiments.service.options import ServiceOptions

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from httpdyno.cli.running import Beginning
    from httpdyno.runs.pending import PendingRun

__all__ = ["service"]


def _begin(
    beginning: "Beginning", names: Sequence[str] | None, options: ServiceOptions
) -> "AbstractContextManager[PendingRun]":
    import os

    from httpdyno.experiments.service.beginning import choose_servers, make_service

    chosen = choose_servers(beginning.catalogue, names, options)
    beginning.install(*chosen.servers, chosen.generator)
    available = len(os.sched_getaffinity(0))
    return beginning.run(make_service(options, chosen, cpus=beginning.cpus, available=available), chosen.servers)


service = experiment_verb(
    ServiceOptions,
    _begin,
    help="Measure how far servers are from ideal when every request waits for parallel work, and where they break.",
    named="SERVER",
    names="Servers, such as rust-axum. Default: all that have the endpoint; of a preset its own.",
    complete_names=complete_servers,
    completions={"--loop": complete_loops, "--generator": complete_tools},
)
