"""The figures of single trials that a query may mention: those of the tables, under the names that these print."""

from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from httpdyno.experiments.definition import Definition
from httpdyno.experiments.registry import definition_of, experiment_names
from httpdyno.model import FORMER_NAMES, Column, Trial
from httpdyno.store.query import ComputedFigures

__all__ = ["figure_descriptions", "trial_figures"]

_Compute = Callable[[Trial], str | float | None]


def trial_figures() -> ComputedFigures:
    """Return what each experiment's table shows of one trial, as columns that a query can ask for.

    Former names of columns are columns too, as long as other options accept them.
    """
    types: dict[str, pl.DataType] = {}
    for name in experiment_names():
        definition = definition_of(name)
        types |= dict.fromkeys((metric.name for metric in definition.metrics), pl.Float64())
        types |= dict.fromkeys((column.name for column, _ in definition.words), pl.String())
    types |= {FORMER_NAMES[name]: type_ for name, type_ in types.items() if name in FORMER_NAMES}
    return ComputedFigures(types, _values)


def figure_descriptions() -> dict[str, tuple[Column, tuple[str, ...]]]:
    """Return the figures by name, each with its column and the experiments whose trials have it."""
    found: dict[str, tuple[Column, tuple[str, ...]]] = {}
    for name in experiment_names():
        definition = definition_of(name)
        columns = (*(metric.column for metric in definition.metrics), *(column for column, _ in definition.words))
        for column in columns:
            first, experiments = found.get(column.name, (column, ()))
            found[column.name] = first, (*experiments, name)
    return found


_CURRENT: Final = {former: name for name, former in FORMER_NAMES.items()}


def _values(experiment: str, trials: Sequence[Trial], name: str) -> list[str | float | None]:
    """Compute one figure of each trial; None where the trials of the experiment do not have it."""
    computations = _computations(definition_of(experiment)) if experiment in experiment_names() else {}
    compute = computations.get(name) or computations.get(_CURRENT.get(name, name))
    return [compute(trial) if compute else None for trial in trials]


def _computations(definition: Definition) -> dict[str, _Compute]:
    computations: dict[str, _Compute] = {metric.name: metric.figure for metric in definition.metrics}
    return computations | {column.name: word for column, word in definition.words}
