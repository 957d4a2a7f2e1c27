"""The experiments that this version knows, by the names that manifests carry."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from httpdyno.errors import NotResumable, UnreadableRun
from httpdyno.experiments import crawl, load, tune
from httpdyno.experiments.capacity.capacity import NAME as CAPACITY
from httpdyno.experiments.capacity.capacity import restore_capacity
from httpdyno.experiments.capacity.definition import DEFINITION as CAPACITY_DEFINITION
from httpdyno.experiments.cost.cost import NAME as COST
from httpdyno.experiments.cost.cost import restore_cost
from httpdyno.experiments.cost.definition import DEFINITION as COST_DEFINITION
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.experiment import Experiment, Setting
from httpdyno.experiments.latency.definition import DEFINITION as LATENCY_DEFINITION
from httpdyno.experiments.latency.latency import NAME as LATENCY
from httpdyno.experiments.latency.latency import restore_latency
from httpdyno.experiments.service.definition import DEFINITION as SERVICE_DEFINITION
from httpdyno.experiments.service.service import NAME as SERVICE
from httpdyno.experiments.service.service import restore_service
from httpdyno.store import WebIdentity

__all__ = ["RESUMABLE", "definition_of", "experiment_names", "restore_experiment"]

_Settings = Mapping[str, Setting]
_WITH_LIST: Final[Mapping[str, Callable[[_Settings, Sequence[WebIdentity], Path], Experiment]]] = {
    crawl.NAME: crawl.restore_crawl,
    tune.NAME: tune.restore_tune,
}
_WITHOUT_LIST: Final[Mapping[str, Callable[[_Settings, Sequence[WebIdentity]], Experiment]]] = {
    CAPACITY: restore_capacity,
    COST: restore_cost,
    LATENCY: restore_latency,
    SERVICE: restore_service,
}
WITHOUT_LIST: Final = frozenset(_WITHOUT_LIST)
"""Those that have no list for all of their conditions: each condition has its own."""
WITHOUT_WEB: Final = frozenset({SERVICE})
"""Those whose subjects are servers, which answer themselves."""
RESUMABLE: Final = frozenset(_WITH_LIST) | WITHOUT_LIST
"""Those whose runs can be continued once they were stopped."""
_DEFINITIONS: Final = {
    definition.name: definition
    for definition in (
        crawl.DEFINITION,
        tune.DEFINITION,
        load.DEFINITION,
        CAPACITY_DEFINITION,
        COST_DEFINITION,
        LATENCY_DEFINITION,
        SERVICE_DEFINITION,
    )
}


def experiment_names() -> tuple[str, ...]:
    """Give the names of all experiments."""
    return tuple(_DEFINITIONS)


def definition_of(name: str) -> Definition:
    """Find an experiment by the name in a run's manifest.

    Raises
    ------
    UnreadableRun
        If this version knows none of that name.
    """
    if name not in _DEFINITIONS:
        raise UnreadableRun(
            f"experiment {name[:60]!r} is not known to this version of httpdyno;"
            f" known are: {', '.join(_DEFINITIONS)}; update it"
        )
    return _DEFINITIONS[name]


def restore_experiment(name: str, settings: _Settings, webs: Sequence[WebIdentity], urls: Path | None) -> Experiment:
    """Make an experiment again from what the manifest of a run says.

    Parameters
    ----------
    name, settings, webs
        As the manifest has them.
    urls : Path, optional
        The list; None where each condition has its own.

    Raises
    ------
    NotResumable
        If it is one whose runs cannot be continued.
    UnreadableRun
        If this version knows none of that name, or a setting or the list is missing or cannot be.
    """
    known = definition_of(name).name
    if known in _WITHOUT_LIST:
        return _WITHOUT_LIST[known](settings, webs)
    if known not in _WITH_LIST:
        raise NotResumable(f"a run of {name} cannot be continued; begin a new run")
    if urls is None:
        raise UnreadableRun(f"the run of {name} is damaged: its list of URLs is missing; begin a new run")
    return _WITH_LIST[known](settings, webs, urls)
