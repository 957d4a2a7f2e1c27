"""The experiments that this version knows, by the names that manifests carry."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from httpdyno.errors import NotResumable, UnreadableRun
from httpdyno.experiments.capacity.definition import DEFINITION as CAPACITY
from httpdyno.experiments.cost.definition import DEFINITION as COST
from httpdyno.experiments.crawl.definition import DEFINITION as CRAWL
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.experiment import Experiment, Setting
from httpdyno.experiments.latency.definition import DEFINITION as LATENCY
from httpdyno.experiments.load.definition import DEFINITION as LOAD
from httpdyno.experiments.service.definition import DEFINITION as SERVICE
from httpdyno.experiments.tune.definition import DEFINITION as TUNE
from httpdyno.judge.validity import Rule
from httpdyno.model import Field, FigureRecord, figure_fields
from httpdyno.store import WebIdentity

__all__ = [
    "definition_of",
    "experiment_names",
    "figure_columns",
    "figure_records",
    "restore_experiment",
    "validity_rules",
]

_DEFINITIONS: Final = {
    definition.name: definition for definition in (CRAWL, TUNE, LOAD, CAPACITY, COST, LATENCY, SERVICE)
}


def experiment_names() -> tuple[str, ...]:
    """Return the names of all experiments."""
    return tuple(_DEFINITIONS)


def figure_records() -> dict[type[FigureRecord], list[str]]:
    """Return the records of figures, each with the experiments whose trials have it."""
    records: dict[type[FigureRecord], list[str]] = {}
    for definition in _DEFINITIONS.values():
        for kind in definition.figures:
            records.setdefault(kind, []).append(definition.name)
    return records


def figure_columns() -> dict[str, Field]:
    """Return the figures of all experiments by name, as columns."""
    return {field.name: field for kind in figure_records() for field in figure_fields(kind)}


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


def validity_rules() -> dict[str, tuple[Rule, ...]]:
    """Return the rules of validity of each experiment, by its name."""
    return {definition.name: definition.rules for definition in _DEFINITIONS.values()}


def restore_experiment(
    name: str, settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path | None
) -> Experiment:
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
    known = definition_of(name)
    if known.restore is None:
        raise NotResumable(f"a run of {name} cannot be continued; begin a new run")
    return known.restore(settings, webs, urls)
