"""Definition of an experiment: the question, planning, judging and presentation of its runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Self

from httpdyno.errors import UsageError
from httpdyno.experiments.experiment import Beginning, Begun, Ended, Experiment, Setting
from httpdyno.judge import Word, answers_right, find_metric, pass_table, trial_table
from httpdyno.judge.validity import RULES, Evidence, Rule, rules_for
from httpdyno.lab.client_trial import CRAWL
from httpdyno.lab.executor import TrialKind
from httpdyno.model import (
    Column,
    Direction,
    FigureRecord,
    LinesSummary,
    Metric,
    Outcome,
    Report,
    SubjectKind,
    Table,
    Trial,
)
from httpdyno.published import Circumstances, PublishedTable, side_by_side, stacked
from httpdyno.store import Manifest, Run, WebIdentity
from httpdyno.urls.source import UrlFile

Settings = Mapping[str, Setting]


def has_lines(trial: Trial) -> bool:
    """Return whether the client of a trial printed lines and ended normally; failed trials have no figures."""
    return trial.outcome is Outcome.OK and trial.summary is not None and trial.summary.urls > 0


@dataclass(frozen=True, slots=True)
class PresetRun:
    """A run of a preset, with its tables."""

    run: Run
    trials: Sequence[Trial]
    table: Table
    """The table for programs."""
    views: tuple[Table, ...]
    """The tables for people."""
    published: PublishedTable
    comparison: Table
    """The comparison of measured and published figures."""
    absent: Mapping[str, str]
    """Subjects of the preset that do not exist here, and the reason for each."""


@dataclass(frozen=True, slots=True)
class Planning:
    """Start, resumption and end of a run."""

    begin: Callable[[Beginning, Sequence[str], Any], Begun] | None = None
    """Begin a run of the named subjects with the parsed options; None: the engine runs this verb itself."""
    restore: Callable[[Settings, Sequence[WebIdentity], Path | None], Experiment] | None = None
    """Rebuild an experiment from its settings, webs and list; None: its runs cannot be resumed."""
    end: Callable[[Ended], bool] = lambda _: True
    """Finish a run after its display; return whether it succeeded."""

    amount: ClassVar[str | None] = None
    """The setting with the amount of work of a trial; None: there is no such setting."""

    def start_ns(self, trial: Trial) -> int | None:
        """Return the part of a trial's duration that does not depend on its amount."""
        del trial
        return None

    def traffic(self, experiment: Experiment, urls: UrlFile, trials: int) -> Sequence[str]:
        """Describe the traffic to the real internet, which the user must confirm."""
        return (f"{experiment.name} sends {trials} trials of {urls.count} URLs to the real internet",)


WITHOUT_PACE: Final = rules_for(Evidence.ANSWERS, Evidence.ORIGIN, Evidence.LINK, Evidence.FREE_LINK, Evidence.MACHINE)
"""Rules of validity for calls one after another: no schedule and no list sets their pace."""


@dataclass(frozen=True, slots=True)
class Judging:
    """Execution and judging of trials."""

    rules: tuple[Rule, ...] = RULES
    """Rules of validity, in the order of their weight: the only source for judging and for pages."""
    figures: tuple[type[FigureRecord], ...] = (LinesSummary,)
    """Records of the conditions and results of a trial."""
    trials: Mapping[SubjectKind, TrialKind] = field(default_factory=lambda: {SubjectKind.CLIENT: CRAWL})
    """Runner of trials for each kind of subject."""
    found: Callable[[Trial], bool] = has_lines
    """Return whether a trial has a result."""


@dataclass(frozen=True, slots=True)
class Presentation:
    """The tables and pages that show a run. An experiment with further needs has a subclass.

    Raises
    ------
    UnknownName
        If it ranks by a metric that is not among its metrics.
    """

    metrics: tuple[Metric, ...]
    """The metrics of its table, in order."""
    identity: tuple[Column, ...] = (Column("subject"),)
    """The columns before the metrics; each has the name of the field of a trial that it shows."""
    ranked_by: str | None = None
    """Name of the metric that ranks subjects; None: subjects pass or fail."""
    compared_by: tuple[str, ...] = ()
    """Default metrics of a comparison of two runs; empty: the ranking metric."""
    tabulate: Callable[[Sequence[Trial]], Table] | None = None
    """Build a table whose rows are not subjects; None: one row for each subject."""
    views: Callable[[Sequence[Trial], Settings], tuple[Table, ...]] | None = None
    """Build the tables for people from trials and the settings of their run; None: the table for programs."""
    report: Callable[[Run, "Definition"], Report] | None = None
    """Build the report of a run; None: the default report, whose rows and colours are subjects."""
    preset_views: Callable[[PresetRun], tuple[Table, ...]] | None = None
    """Build the tables for people of a preset's run; None: the comparison with the publication."""
    trial_result: Callable[[Trial], str | None] | None = None
    """Describe the result of a successful trial in a few words; None: number of URLs and their time."""

    ranks_disturbed: ClassVar[bool] = False
    """Whether a subject with too many disturbed trials is ranked provisionally, and marked."""
    brief: ClassVar[bool] = False
    """Whether the terminal shows only the notes of the view; the report and ``--verbose`` show all."""
    intervals: ClassVar[tuple[str, ...]] = ()
    """Metrics whose medians have intervals in the table, in addition to the ranking metric."""
    words: ClassVar[tuple[tuple[Column, Word], ...]] = ()
    """Columns with one-word results, after the figures."""
    published_columns: ClassVar[tuple[str, ...]] = ()
    """Columns of ``--columns published``."""

    def __post_init__(self) -> None:
        """Raise if the ranking metric is not measured."""
        if self.ranked_by is not None:
            find_metric(self.metrics, self.ranked_by)

    def for_run(self, settings: Settings) -> Self:
        """Return the presentation of a run with these settings."""
        del settings
        return self

    def page(self, run: Run) -> str | None:
        """Write the page of a run as HTML; None: the page of its report."""
        del run
        return None

    @property
    def ranking_metric(self) -> Metric:
        """The ranking metric; raise ``UsageError`` if subjects pass or fail."""
        if self.ranked_by is None:
            raise UsageError("this experiment has no ranking metric, because its subjects pass or fail; name a metric")
        return find_metric(self.metrics, self.ranked_by)

    @property
    def compared_metrics(self) -> tuple[Metric, ...]:
        """The default metrics of a comparison of two runs."""
        if self.ranked_by is None and not self.compared_by:
            return tuple(metric for metric in self.metrics if metric.better is not Direction.NEITHER)
        return tuple(find_metric(self.metrics, name) for name in self.compared_by or (self.ranking_metric.name,))

    def table(self, trials: Sequence[Trial]) -> Table:
        """Build the table for programs."""
        if self.tabulate is not None:
            return self.tabulate(trials)
        if self.ranked_by is None:
            return pass_table(trials, self.metrics, self.identity, self.passes)
        return trial_table(
            *(trials, self.metrics, self.ranked_by, self.identity, self.words),
            disturbed=self.ranks_disturbed,
            intervals=self.intervals,
        )

    def passes(self, trial: Trial) -> bool | None:
        """Return whether a trial passed, in an experiment without a ranking metric; None: the trial does not decide it.

        Unless a subclass says otherwise, a subject passes if it ends normally and every answer is right.
        """
        return answers_right(trial)

    def answer(self, trials: Sequence[Trial], names: Mapping[str, str]) -> Sequence[str]:
        """Return the lines of the headline for the trials of one condition; empty: the default headline.

        ``names`` are the names of subjects.
        """
        del trials, names
        return ()

    def compare_with_published(
        self,
        manifest: Manifest,
        trials: Sequence[Trial],
        published: PublishedTable,
        here: Circumstances,
        *,
        for_programs: bool,
    ) -> Table:
        """Compare trials with a published table: one row for each subject for programs, lines for people."""
        del manifest
        return (side_by_side if for_programs else stacked)(self.table(trials), published, here)

    def preset_rows(self, of: PresetRun, format_name: str) -> tuple[Table, ...]:
        """Build the tables for programs of a preset's run: each row includes the published figures."""
        del format_name
        return (of.comparison,)


@dataclass(frozen=True, slots=True)
class Definition:
    """A kind of experiment."""

    name: str
    """The verb, as in manifests: ``bench``."""
    question: str
    """Its question in one sentence."""
    presentation: Presentation
    planning: Planning = Planning()
    judging: Judging = field(default_factory=Judging)
    own_verb: str = ""
    """The verb that resumes its runs, if it is not the name."""

    @property
    def verb(self) -> str:
        """The verb that makes and resumes its runs."""
        return self.own_verb or self.name

    def for_run(self, settings: Settings) -> "Definition":
        """Return the definition with the presentation of a run with these settings."""
        return replace(self, presentation=self.presentation.for_run(settings))
