"""Experiments of this version by their names in manifests; each is imported on demand."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from httpdyno.errors import NotResumable, UnreadableRun

if TYPE_CHECKING:
    from httpdyno.experiments.definition import Definition
    from httpdyno.experiments.experiment import Experiment, Setting
    from httpdyno.experiments.options import Verb
    from httpdyno.model import Field, FigureRecord
    from httpdyno.store import WebIdentity


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


def experiment_names() -> tuple[str, ...]:
    """Return the names of all experiments."""
    return tuple(_FOLDERS)


def verb_names() -> tuple[str, ...]:
    """Return the names of the experiments that have a verb."""
    # The engine has `load`; the verbs of conformance are `subjects check` and `subjects probe`.
    return tuple(name for name in _FOLDERS if name not in {"load", "conformance"})


def verb_of(name: str) -> "Verb":
    """Return the verb of one experiment, without importing measuring code."""
    verb: Verb = import_module(f"{__package__}.{_FOLDERS[name]}.options").VERB
    return verb


def definition_of(name: str) -> "Definition":
    """Return the experiment of that name; raise ``UnreadableRun`` if this version has none."""
    if name not in _FOLDERS:
        raise UnreadableRun(
            f"experiment {name[:60]!r} is unknown to this version of httpdyno; known: {', '.join(_FOLDERS)}; update it"
        )
    definition: Definition = import_module(f"{__package__}.{_FOLDERS[name]}.definition").DEFINITION
    return definition


def figure_records() -> "dict[type[FigureRecord], list[str]]":
    """Return the records of figures, each with the experiments whose trials contain it."""
    records: dict[type[FigureRecord], list[str]] = {}
    for name in _FOLDERS:
        for kind in definition_of(name).judging.figures:
            records.setdefault(kind, []).append(name)
    return records


def figure_columns() -> "dict[str, Field]":
    """Return the figures of all experiments by name, as columns."""
    from httpdyno.model import figure_fields

    return {field.name: field for kind in figure_records() for field in figure_fields(kind)}


def restore_experiment(
    name: str, settings: "Mapping[str, Setting]", webs: "Sequence[WebIdentity]", urls: Path | None
) -> "Experiment":
    """Rebuild an experiment from the manifest of a run.

    ``urls`` is the list; None if each condition has its own list.

    Raises
    ------
    NotResumable
        If runs of the experiment cannot be continued.
    UnreadableRun
        If the experiment is unknown, or a setting or the list is missing or invalid.
    """
    restore = definition_of(name).planning.restore
    if restore is None:
        raise NotResumable(f"a run of {name} cannot be continued; begin a new run")
    return restore(settings, webs, urls)
