"""The crawl (``bench``): the question which client fetches a list of URLs fastest, and how many it gets right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from httpdyno.experiments.experiment import Setting
from httpdyno.judge import CRAWL_COLUMNS, crawl_notes, crawl_row
from httpdyno.model import Condition, Note, Outcome, Table, Trial, Validity, Workload
from httpdyno.stats import median
from httpdyno.store import WebIdentity

__all__ = ["NAME", "Crawl", "crawl_table"]

NAME: Final = "bench"
_BELIEVED: Final = frozenset({Validity.VALID, None})


@dataclass(frozen=True, slots=True)
class Crawl:
    """What a crawl consists of: one condition, the same list of URLs for every subject.

    Raises
    ------
    InvalidValue
        If it has no possible condition.
    """

    workload: Workload
    web: str = "top-sites"
    seed: int = 1
    web_digest: str | None = None
    """What the engine says of web and seed; None on the real internet."""
    concurrency: int | None = None
    """None: each subject's own."""
    deadline_s: float = 600.0
    memory_bytes: int | None = None
    repeat: int | None = None
    """How often each subject runs; None: as many times as is usual."""
    quick: bool = False

    def __post_init__(self) -> None:
        """Refuse what no trial can be before anything is built."""
        _ = self.condition

    @property
    def condition(self) -> Condition:
        """The single point of the grid."""
        return Condition(
            experiment=NAME,
            web=self.web,
            workload=self.workload,
            seed=self.seed,
            concurrency=self.concurrency,
            deadline_s=self.deadline_s,
            memory_bytes=self.memory_bytes,
        )

    @property
    def name(self) -> str:
        """The verb."""
        return NAME

    def conditions(self) -> tuple[Condition]:
        """Give the grid: a single point."""
        return (self.condition,)

    def webs(self) -> tuple[WebIdentity]:
        """Give the web that is crawled."""
        return (WebIdentity(self.web, self.seed, self.web_digest),)

    def settings(self) -> Mapping[str, Setting]:
        """Give the options that it was made with."""
        return {
            "concurrency": self.concurrency,
            "deadline_s": self.deadline_s,
            "memory_bytes": self.memory_bytes,
            "repeat": self.repeat,
            "quick": self.quick,
            "timeout_s": self.workload.timeout_s,
            "user_agent": self.workload.user_agent,
            "keepalive": self.workload.keepalive,
            "check": self.workload.check,
            "http_version": self.workload.http_version,
        }


def crawl_table(trials: Sequence[Trial]) -> Table:
    """Put the trials of a crawl into one row a subject.

    Rows that can be believed come first, by right answers a second; then those that cannot; then those without any
    trial that went well, by name. None is left out.

    Parameters
    ----------
    trials : sequence of Trial
        Of one condition; of any number of subjects and repeats.

    Returns
    -------
    Table
        With the columns of ``CRAWL_COLUMNS``; without rows when there are no trials.
    """
    by_subject: dict[str, list[Trial]] = {}
    for trial in trials:
        by_subject.setdefault(trial.subject, []).append(trial)
    ordered = sorted(by_subject.values(), key=_rank)
    notes = [Note(text, index) for index, group in enumerate(ordered) for text in crawl_notes(group)]
    return Table(CRAWL_COLUMNS, tuple(crawl_row(group) for group in ordered), notes=tuple(notes))


def _rank(group: Sequence[Trial]) -> tuple[int, float, str]:
    well = [trial for trial in group if trial.outcome is Outcome.OK]
    believed = len(well) == len(group) and all(trial.validity in _BELIEVED for trial in well)
    speed = median(trial.summary.right_per_s for trial in well if trial.summary)
    return (0 if believed else 1 if well else 2, -(speed or 0.0), group[0].subject)
