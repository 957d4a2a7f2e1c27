"""What an experiment's results mean: its question, its metrics, the one that ranks, and its table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from httpdyno.experiments.experiment import Setting
from httpdyno.judge import Judge, find_metric, judge_crawl, trial_table
from httpdyno.model import Column, Metric, Table, Trial

__all__ = ["Definition"]


@dataclass(frozen=True, slots=True)
class Definition:
    """How one kind of experiment is judged and shown, whatever its trials were given.

    Raises
    ------
    UnknownName
        If it is ranked by a metric that it does not have.
    """

    name: str
    """The verb, as manifests carry it: ``bench``."""
    question: str
    """What it answers, in one sentence."""
    metrics: tuple[Metric, ...]
    """The figures of its table, in their order."""
    ranked_by: str
    """Name of the metric that says who is better."""
    identity: tuple[Column, ...]
    """The columns before the figures; each is named like the field of a trial that it shows."""
    tabulate: Callable[[Sequence[Trial]], Table] | None = None
    """Makes the table of an experiment in which subjects are not what the rows are; None: a row for each subject."""
    compared_by: tuple[str, ...] = ()
    """Names of the metrics by which two runs are compared unless others are asked for; empty: the one that ranks."""
    views: Callable[[Sequence[Trial], Mapping[str, Setting]], tuple[Table, ...]] | None = None
    """Makes several tables that people read better than the one that programs get; None: they get the same.

    It is told the settings of the run, as its manifest carries them.
    """
    judge: Judge = judge_crawl
    """Makes the record of a client's trial from what it left; a tool's and a server's are made where they are run."""
    told: Callable[[Trial], str | None] | None = None
    """Says in a few words what a trial found that went well; None: how many URLs were fetched in which time."""

    def __post_init__(self) -> None:
        """Refuse to rank by what is not measured."""
        find_metric(self.metrics, self.ranked_by)

    @property
    def ranking_metric(self) -> Metric:
        """The metric that says who is better."""
        return find_metric(self.metrics, self.ranked_by)

    @property
    def compared_metrics(self) -> tuple[Metric, ...]:
        """The metrics by which two runs are compared unless others are asked for."""
        return tuple(find_metric(self.metrics, name) for name in self.compared_by or (self.ranked_by,))

    def table(self, trials: Sequence[Trial]) -> Table:
        """Put trials of this experiment into its table: as ``judge.trial_table`` does, unless it has its own way."""
        if self.tabulate is not None:
            return self.tabulate(trials)
        return trial_table(trials, self.metrics, self.ranked_by, self.identity)
