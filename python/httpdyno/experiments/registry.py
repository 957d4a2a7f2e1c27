"""The experiments that this version knows, by the names that manifests carry."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from httpdyno.errors import UnreadableRun
from httpdyno.experiments import crawl, tune
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.experiment import Experiment, Setting
from httpdyno.store import WebIdentity

__all__ = ["definition_of", "experiment_names", "restore_experiment"]

_RESTORED: Final[Mapping[str, Callable[[Mapping[str, Setting], Sequence[WebIdentity], Path], Experiment]]] = {
    crawl.NAME: crawl.restore_crawl,
    tune.NAME: tune.restore_tune,
}
_DEFINITIONS: Final = {definition.name: definition for definition in (crawl.DEFINITION, tune.DEFINITION)}


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
            f"experiment {name[:60]!r} is not known to this version of httpdyno; known are: {', '.join(_DEFINITIONS)}"
        )
    return _DEFINITIONS[name]


def restore_experiment(
    name: str, settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path
) -> Experiment:
    """Make an experiment again from what the manifest of a run says.

    Raises
    ------
    UnreadableRun
        If this version knows none of that name, or a setting is missing or cannot be.
    """
    return _RESTORED[definition_of(name).name](settings, webs, urls)
