"""The experiments that this version knows, by the names that manifests carry."""

from typing import Final

from httpdyno.errors import UnreadableRun
from httpdyno.experiments import crawl
from httpdyno.experiments.definition import Definition

__all__ = ["definition_of", "experiment_names"]

_DEFINITIONS: Final = {definition.name: definition for definition in (crawl.DEFINITION,)}


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
