"""The figures of trials as rows of ``figures.parquet``, and as columns beside those of the trials."""

import json
from collections.abc import Mapping
from typing import Final

import polars as pl

from httpdyno.model import Figure

__all__ = ["FIGURES_SCHEMA", "figure_rows", "with_figures"]

_KINDS: Final[dict[type, str]] = {bool: "boolean", int: "integer", float: "number", str: "text", list: "series"}
FIGURES_SCHEMA: Final[dict[str, pl.DataType]] = {
    "trial": pl.Int32(),
    "figure": pl.String(),
    "integer": pl.Int64(),
    "number": pl.Float64(),
    "boolean": pl.Boolean(),
    "text": pl.String(),
    "series": pl.String(),
}
"""One row for each figure of a trial; one of the last five has its value, a series as JSON."""


def figure_rows(trial: int, figures: Mapping[str, Figure]) -> pl.DataFrame:
    """Write the figures of a trial as rows."""
    rows = [
        {"trial": trial, "figure": name, _KINDS[type(value)]: json.dumps(value) if isinstance(value, list) else value}
        for name, value in figures.items()
    ]
    return pl.DataFrame(rows, schema=FIGURES_SCHEMA)


def with_figures(trials: pl.DataFrame, figures: pl.DataFrame) -> pl.DataFrame:
    """Put the figures beside the trials, a column for each; null where a trial does not have it.

    The trials have the column ``trial``, the figures ``FIGURES_SCHEMA``.
    """
    order = figures["figure"].unique(maintain_order=True).to_list()
    beside = figures.select(pl.col("trial").unique(maintain_order=True))
    for kind in _KINDS.values():
        some = figures.filter(pl.col(kind).is_not_null())
        if some.is_empty():
            continue
        columns = some.pivot(on="figure", index="trial", values=kind)
        if kind == "series":
            columns = columns.with_columns(
                pl.Series(name, [None if text is None else json.loads(text) for text in columns[name]])
                for name in columns.columns[1:]
            )
        # A figure may be whole in one trial and a decimal number in another.
        for name in set(columns.columns[1:]) & set(beside.columns):
            both = beside.join(columns.select("trial", pl.col(name).alias("_other")), on="trial", how="left")
            beside = both.with_columns(pl.coalesce(pl.col(name).cast(pl.Float64), "_other").alias(name)).drop("_other")
            columns = columns.drop(name)
        beside = beside.join(columns, on="trial", how="left", maintain_order="left")
    return trials.join(beside.select("trial", *order), on="trial", how="left", maintain_order="left")
