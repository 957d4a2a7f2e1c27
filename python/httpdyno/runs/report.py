"""Makes the report of a run: its experiment's own, or the usual one."""

import polars as pl

from httpdyno.errors import UnreadableRun
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.usual_report import usual_report
from httpdyno.model import Report
from httpdyno.store import Run

__all__ = ["build_report"]


def build_report(run: Run, definition: Definition) -> Report:
    """Return what a run, whole, partial or empty, says: its answer, its doubt and its evidence."""
    try:
        definition = definition.for_run(run.manifest.settings)
        return (definition.report or usual_report)(run, definition)
    except pl.exceptions.PolarsError as error:
        # What the samples hold is read here for the first time.
        raise UnreadableRun(
            f"{run.folder}: samples.parquet is damaged: {str(error).partition(chr(10))[0]}; measure again"
        ) from error
