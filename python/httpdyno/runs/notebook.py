"""A run for notebooks: its records as frames, and the table, ranking and comparisons of the commands."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import polars as pl

from httpdyno.experiments.definition import Presentation
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import rank_conditions, rank_note
from httpdyno.judge.comparison import find_rankable
from httpdyno.model import ColumnKind, Metric, Table, Trial
from httpdyno.report.sections.reservation import table_reservations
from httpdyno.runs.comparison import compare_two_runs, compare_within_run
from httpdyno.store import Manifest, Run

_NUMBER, _INTEGER, _TEXT = pl.Float64(), pl.Int64(), pl.String()
_TYPES: Final[dict[ColumnKind, pl.DataType]] = {
    ColumnKind.TEXT: _TEXT,
    ColumnKind.INTEGER: _INTEGER,
    ColumnKind.BOOLEAN: pl.Boolean(),
}
_STANDING: Final[dict[str, pl.DataType]] = {
    **{"rank": _INTEGER, "rank_note": _TEXT, "subject": _TEXT},
    **dict.fromkeys(("median", "low", "high", "level"), _NUMBER),
    **{"best": _INTEGER, "worst": _INTEGER, "condition": _TEXT},
}
_FOR_PEOPLE: Final = ("change", "broken")
"""Redundant columns of a comparison."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class LoadedRun:
    """A run that was read from disk; get one with ``httpdyno.load_run``.

    Frames are those of polars. ``frame.to_pandas()`` makes a pandas frame of any; it needs the extra ``pandas``.

    Attributes
    ----------
    folder : Path
        The folder of the run.
    manifest : Manifest
        Machine, webs and settings of the run: ``manifest.machine``, ``manifest.webs``, ``manifest.settings``, ...
    trials : pl.DataFrame
        One row for each trial of a subject: ``docs/reference/records.md``.
    ceilings : pl.DataFrame
        The trial that measured the web's ceiling, with the same columns; empty without one.
    """

    folder: Path
    manifest: Manifest
    trials: pl.DataFrame
    ceilings: pl.DataFrame

    @property
    def samples(self) -> pl.LazyFrame:
        """One row for each request, with the subject and the condition of its trial; read when it is collected.

        Raises
        ------
        UnreadableRun
            If the files cannot be read or lack a column.
        """
        subjects = self.trials.lazy().select("trial", "subject", "condition")
        return self._run.samples().join(subjects, on="trial", how="left", maintain_order="left")

    @property
    def records(self) -> tuple[Trial, ...]:
        """The trials as objects.

        Raises
        ------
        UnreadableRun
            If a trial lacks a required value.
        """
        return self._run.records()

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the figures that each trial has: the columns of ``figures`` and of ``table``."""
        return tuple(metric.name for metric in self._presentation.metrics)

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes under the table: failures, invalid trials and reservations."""
        return tuple(note.text for note in self._table.notes)

    def table(self) -> pl.DataFrame:
        """Return the table that the experiment prints: a row a subject, the best first; times in ms, sizes in bytes."""
        return _frame(self._table)

    def figures(self) -> pl.DataFrame:
        """Return the metrics of each trial, in the units of the table, with the trial's block, subject and condition.

        ``outcome`` and ``validity`` say whether they count.
        """
        records, names = self.records, ("trial", "block", "condition", "subject", "outcome", "validity")
        figures = (
            pl.Series(metric.name, [metric.figure(trial) for trial in records], pl.Float64(), strict=False)
            for metric in self._presentation.metrics
        )
        return self.trials.sort("trial").select(names).with_columns(*figures)

    def ranking(self, metric: str | None = None) -> pl.DataFrame:
        """Rank the valid subjects: a row each, the best first, grouped by condition.

        ``rank`` is the place by the median; ``rank_note`` says where it may be chance or is provisional, ``best`` and
        ``worst`` are the first and the last possible rank. ``median`` is given with the interval from ``low``
        to ``high`` that holds it with the confidence ``level``. With fewer than two trials these are null.

        Parameters
        ----------
        metric : str, optional
            The metric; None: the one that the experiment ranks by.

        Raises
        ------
        UnknownName
            If there is no such metric; the message lists them.
        InvalidValue
            If it has no direction.
        """
        rows = []
        for condition, ranking in rank_conditions(self.records, self._metric(metric)).items():
            for standing in ranking.standings:
                value = standing.value
                interval = (value.estimate, value.low, value.high, value.level) if value else (None,) * 4
                names = (standing.rank, rank_note(standing), standing.subject)
                rows.append((*names, *interval, standing.best, standing.worst, condition))
        return pl.DataFrame(rows, schema=_STANDING, orient="row")

    def comparisons(self, metric: str | None = None, *, baseline: str | None = None) -> pl.DataFrame:
        """Compare the subjects with each other, paired by block, as ``httpdyno compare RUN`` does.

        Parameters
        ----------
        metric : str, optional
            The metric; None: the one that the experiment ranks by.
        baseline : str, optional
            Compare all others with this subject; None: each pair.

        Raises
        ------
        UnknownName
            If there is no such metric or subject.
        InvalidValue
            If the metric has no direction.
        """
        compared = compare_within_run(self._run, [self._metric(metric)], (), baseline=baseline)
        return _frame(compared.table).drop(_FOR_PEOPLE)

    def compare(self, baseline: "LoadedRun", metric: str | None = None, *, anyway: bool = False) -> pl.DataFrame:
        """Compare this run with an earlier one, subject by subject, as ``httpdyno compare BASELINE RUN`` does.

        Parameters
        ----------
        baseline : LoadedRun
            The run that this one is compared with.
        metric : str, optional
            The metric; None: the one that the experiment ranks by.
        anyway : bool
            Compare also when machines, webs or settings differ.

        Raises
        ------
        UsageError
            If the two are one run, or of different experiments; without ``anyway`` if they are not comparable.
        UnknownName
            If there is no such metric.
        InvalidValue
            If the metric has no direction.
        """
        compared = compare_two_runs(baseline._run, self._run, [self._metric(metric)], (), anyway=anyway)
        return _frame(compared.table).drop(_FOR_PEOPLE)

    def __repr__(self) -> str:
        subjects = self.trials["subject"].n_unique()
        return (
            f"<run {self.folder.name}: {self.manifest.experiment}, {self.manifest.state},"
            f" {len(self.trials)} of {self.manifest.trials_planned} trials of {subjects} subjects>"
        )

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    @property
    def _run(self) -> Run:
        return Run(self.folder, self.manifest, self.trials, self.ceilings)

    @property
    def _presentation(self) -> Presentation:
        return definition_of(self.manifest.experiment).presentation.for_run(self.manifest.settings)

    @property
    def _table(self) -> Table:
        records = self.records
        table = self._presentation.table(records)
        return replace(table, notes=(*table.notes, *table_reservations(self.manifest, records)))

    def _metric(self, name: str | None) -> Metric:
        presentation = self._presentation
        return presentation.ranking_metric if name is None else find_rankable(presentation.metrics, name)


def _frame(table: Table) -> pl.DataFrame:
    types = {column.name: _TYPES.get(column.kind, _NUMBER) for column in table.columns}
    return pl.DataFrame(list(table.rows), schema=types, orient="row", strict=False)
