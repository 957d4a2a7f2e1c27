"""Experiments of this version by their names in manifests; each is imported on demand."""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from httpdyno.errors import NotResumable, UnreadableRun

if TYPE_CHECKING:
    from httpdyno.experiments.definition import Definition
    from httpdyno.experiments.experiment import Experiment, Setting
    from httpdyno.experiments.options import Verb
    from httpdyno.judge.validity import Rule
    from httpdyno.model import Field, FigureRecord
    from httpdyno.store import WebIdentity

__all__ = [
    "definition_of",
    "experiment_names",
    "figure_columns",
    "figure_records",
    "restore_experiment",
    "validity_rules",
    "verb_names",
    "verb_of",
    "verbs",
]

_FOLDERS: Final = {
    "bench": "crawl",
    "tune": "tune",
    "load": "load",
    "capacity": "capacity",
    "cost": "cost",
    "latency": "latency",
    "service": "service",
    "conformance": "conformance",
}
"""The folder of each experiment, with its ``VERB`` in ``options.py`` and its ``DEFINITION`` in ``definition.py``."""
_WITHOUT_VERB: Final = frozenset({"load", "conformance"})
"""Experiments without a verb of that name: the engine has the one, ``subjects check`` and ``probe`` are the other."""


def experiment_names() -> tuple[str, ...]:
    """Return the names of all experiments."""
    return tuple(_FOLDERS)


def verb_names() -> tuple[str, ...]:
    """Return the names of the experiments that have a verb."""
    return tuple(name for name in _FOLDERS if name not in _WITHOUT_VERB)


def verbs() -> "tuple[Verb, ...]":
    """Return the verb of each experiment that has one, without importing what measures."""
    return tuple(verb_of(name) for name in verb_names())


def verb_of(name: str) -> "Verb":
    """Return how one experiment is typed; no other is imported."""
    verb: Verb = import_module(f"{__package__}.{_FOLDERS[name]}.options").VERB
    return verb


def definition_of(name: str) -> "Definition":
    """Find the experiment named in a run's manifest.

    Raises
    ------
    UnreadableRun
        If this version knows none of that name.
    """
    if name not in _FOLDERS:
        raise UnreadableRun(
            f"experiment {name[:60]!r} is unknown to this version of httpdyno;"
            f" known are: {', '.join(_FOLDERS)}; update it"
        )
    definition: Definition = import_module(f"{__package__}.{_FOLDERS[name]}.definition").DEFINITION
    return definition


@cache
def _definitions() -> "tuple[Definition, ...]":
    return tuple(definition_of(name) for name in _FOLDERS)


def figure_records() -> "dict[type[FigureRecord], list[str]]":
    """Return the records of figures, each with the experiments whose trials have it."""
    records: dict[type[FigureRecord], list[str]] = {}
    for definition in _definitions():
        for kind in definition.judging.figures:
            records.setdefault(kind, []).append(definition.name)
    return records


def figure_columns() -> "dict[str, Field]":
    """Return the figures of all experiments by name, as columns."""
    from httpdyno.model import figure_fields

    return {field.name: field for kind in figure_records() for field in figure_fields(kind)}


def validity_rules() -> "dict[str, tuple[Rule, ...]]":
    """Return the rules of validity of each experiment, by its name."""
    return {definition.name: definition.judging.rules for definition in _definitions()}


def restore_experiment(
    name: str, settings: "Mapping[str, Setting]", webs: "Sequence[WebIdentity]", urls: Path | None
) -> "Experiment":
    """Rebuild an experiment from the manifest of a run.

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
    restore = definition_of(name).planning.restore
    if restore is None:
        raise NotResumable(f"a run of {name} cannot be continued; begin a new run")
    return restore(settings, webs, urls)
