"""Chooses who makes the report of a run: by its experiment."""

from collections.abc import Callable, Mapping
from typing import Final

import polars as pl

from httpdyno.errors import UnreadableRun
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.report.build import usual_report
from httpdyno.experiments.report.capacity_report import capacity_report
from httpdyno.experiments.report.cost_charts import cost_charts
from httpdyno.experiments.report.latency_report import latency_report
from httpdyno.experiments.report.load_report import load_report
from httpdyno.experiments.report.service_report import service_report
from httpdyno.experiments.report.tuning_report import tuning_report
from httpdyno.model import Report
from httpdyno.store import Run

__all__ = ["build_report"]

_REPORTS: Final[Mapping[str, Callable[[Run, Definition], Report]]] = {
    "capacity": capacity_report,
    "cost": lambda run, definition: usual_report(run, definition, cost_charts),
    "latency": latency_report,
    "load": load_report,
    "service": service_report,
    "tune": tuning_report,
}
"""Those of experiments whose rows and colours are not subjects, or that have charts of their own."""


def build_report(run: Run, definition: Definition) -> Report:
    """Say what a run says: its answer, its doubt and its evidence.

    Parameters
    ----------
    run : Run
        Whole, partial or empty.
    definition : Definition
        Of the run's experiment.

    Raises
    ------
    UnreadableRun
        If its files are damaged.
    """
    try:
        return _REPORTS.get(definition.name, usual_report)(run, definition)
    except pl.exceptions.PolarsError as error:
        # What the samples hold is read here for the first time.
        raise UnreadableRun(
            f"{run.folder}: samples.parquet is damaged: {str(error).partition(chr(10))[0]}; measure again"
        ) from error
