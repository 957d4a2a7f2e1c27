"""What an experiment's results mean: its question, its metrics, the one that ranks, and its table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from httpdyno.experiments.beginning import Beginning, Begun, Ended
from httpdyno.experiments.experiment import Experiment, Setting
from httpdyno.experiments.preset_run import PresetRun
from httpdyno.judge import Word, find_metric, trial_table
from httpdyno.judge.validity import RULES, Rule
from httpdyno.lab.client_trial import CRAWL
from httpdyno.lab.executor import TrialKind
from httpdyno.model import Column, FigureRecord, Metric, Outcome, Report, SubjectKind, Table, Trial
from httpdyno.published import Circumstances, PublishedTable
from httpdyno.store import Manifest, Run, WebIdentity
from httpdyno.urls.source import UrlFile

__all__ = ["Begin", "Beside", "Definition", "has_lines"]

Settings = Mapping[str, Setting]
Begin = Callable[[Beginning, Sequence[str], Any], Begun]
"""Begins a run of those that are named, with the options as they were read."""
Beside = Callable[[Manifest, Sequence[Trial], PublishedTable, Circumstances], Table]
"""Puts trials beside a published table."""


def has_lines(trial: Trial) -> bool:
    """Return whether the client of a trial printed lines and came to its end: one that failed has no figures."""
    return trial.outcome is Outcome.OK and trial.summary is not None and trial.summary.urls > 0


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
    choose_rank: Callable[[Mapping[str, Setting]], str] | None = None
    """Returns the metric that ranks a run with these settings; None: ``ranked_by``."""
    ranks_disturbed: bool = False
    """Whether a subject that other programs disturbed too often is ranked provisionally, and marked."""
    intervals: tuple[str, ...] = ()
    """Names of metrics whose medians have intervals in the table; the one that ranks always has."""
    answer: Callable[[Sequence[Trial], Mapping[str, str], str], Sequence[str]] | None = None
    """Makes the lines of the headline from the trials of one condition, the subjects' names and the metric that ranks.

    None, or no line: the usual headline.
    """
    brief: bool = False
    """Whether people get the few notes of its view, and the others on the page and with ``--verbose``."""
    words: tuple[tuple[Column, Word], ...] = ()
    """What is said of a trial in a word, behind the figures."""
    published_columns: tuple[str, ...] = ()
    """Names of the columns that its publication has; empty: it grew out of none."""
    begin: Begin | None = None
    """Begins a run, as its verb asks for it; None: its verb does that in its own way."""
    end: Callable[[Ended], bool] = lambda _: True
    """Does what is left to do when a run has been shown; returns whether it has found what was asked."""
    sent: Callable[[Any, UrlFile, int], Sequence[str]] | None = None
    """Says what so many trials send to the real internet, to whoever has to agree; None: nothing."""
    tabulate: Callable[[Sequence[Trial]], Table] | None = None
    """Makes the table of an experiment in which subjects are not what the rows are; None: a row for each subject."""
    compared_by: tuple[str, ...] = ()
    """Names of the metrics by which two runs are compared unless others are asked for; empty: the one that ranks."""
    views: Callable[[Sequence[Trial], Mapping[str, Setting]], tuple[Table, ...]] | None = None
    """Makes several tables that people read better than the one that programs get; None: they get the same.

    It is told the settings of the run, as its manifest carries them.
    """
    figures: tuple[type[FigureRecord], ...] = ()
    """Records of what is asked for and found in a trial."""
    found: Callable[[Trial], bool] = has_lines
    """Returns whether a trial found anything; unless told otherwise: whether a client printed lines to the end."""
    trials: Mapping[SubjectKind, TrialKind] = field(default_factory=lambda: {SubjectKind.CLIENT: CRAWL})
    """How trials are executed and judged, for each kind of subject that it has."""
    restore: Callable[[Settings, Sequence[WebIdentity], Path | None], Experiment] | None = None
    """Makes the experiment again from its settings, its webs and its list; None: its runs are not continued."""
    asks_web: bool = True
    """Whether its subjects are clients, which ask a web or a peer; servers answer themselves."""
    rules: tuple[Rule, ...] = RULES
    """Rules of validity that its trials are held against, in the order of their weight."""
    amount: str | None = None
    """The setting that says how much of the same work a trial does; None: it is the same work or another."""
    start_ns: Callable[[Trial], int | None] = lambda _: None
    """Returns how long a trial took that its amount has nothing to do with."""
    report: Callable[[Run, "Definition"], Report] | None = None
    """Makes the report of a run in which subjects are not what rows and colours are; None: the usual one."""
    beside: Beside | None = None
    """Puts a run beside a published table whose rows are not subjects; None: subject by subject."""
    preset_views: Callable[[PresetRun], tuple[Table, ...]] | None = None
    """Makes what people are shown of a run of a preset; None: its tables, and what stands beside the published one."""
    preset_rows: Callable[[PresetRun, str], tuple[Table, ...]] | None = None
    """Makes what programs get of a run of a preset, in a format; None: each row with its published figures."""
    told: Callable[[Trial], str | None] | None = None
    """Says in a few words what a trial found that went well; None: how many URLs were fetched in which time."""

    def __post_init__(self) -> None:
        """Refuse to rank by what is not measured."""
        find_metric(self.metrics, self.ranked_by)

    def for_run(self, settings: Settings) -> "Definition":
        """Return the definition with the metric that ranks a run with these settings."""
        return self if self.choose_rank is None else replace(self, ranked_by=self.choose_rank(settings))

    @property
    def resumable(self) -> bool:
        """Whether its runs can be continued once they were stopped."""
        return self.restore is not None

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
        return trial_table(
            *(trials, self.metrics, self.ranked_by, self.identity, self.words),
            disturbed=self.ranks_disturbed,
            intervals=self.intervals,
        )
