"""``httpdyno bench``: crawl the same URLs with several clients and compare them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from httpdyno.cli.completion import complete_clients, complete_webs
from httpdyno.cli.experiment_verb import experiment_verb
from httpdyno.experiments.crawl.options import BenchOptions

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from httpdyno.cli.running import Beginning
    from httpdyno.runs.pending import PendingRun

__all__ = ["bench"]


def _begin(
    beginning: "Beginning", names: Sequence[str] | None, options: BenchOptions
) -> "AbstractContextManager[PendingRun]":
    from httpdyno.cli.against import settle_against
    from httpdyno.cli.session import begin_crawl
    from httpdyno.experiments.crawl.beginning import choose_subjects

    clients, limit = choose_subjects(beginning.catalogue, names, options)
    beginning.install(*clients)
    options = settle_against(replace(options, limit=limit), beginning.place.engine)
    return begin_crawl(options, clients, beginning.place, beginning.interruption)


bench = experiment_verb(
    BenchOptions,
    _begin,
    help="Crawl the same URLs with each client, interleaved, and print the table.",
    names="Default: the eleven of the published crawl's table, and those of --subjects.",
    complete_names=complete_clients,
    completions={"--web": complete_webs},
    fetcher=True,
)
