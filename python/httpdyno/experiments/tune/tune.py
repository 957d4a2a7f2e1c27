"""The search for the best concurrency (``tune``): how many requests in flight give a client the most right answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from httpdyno.experiments.crawl.options import WEB
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.plan import NextTrial, SearchPlan
from httpdyno.experiments.restoring import settings_of
from httpdyno.experiments.tune.options import NAME, TuneOptions
from httpdyno.experiments.tune.tuning import HIGHEST, MOST_TRIALS, observed, search_from
from httpdyno.model import Condition, Link, Outcome, Subject, Trial
from httpdyno.store import WebIdentity

__all__ = ["Tune"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tune(TuneOptions):
    """A search for the best concurrency of each client: the same web and list in all trials."""

    file: Path
    """The list of URLs that every trial is given."""
    web: str = WEB
    seed: int = 1
    web_digest: str | None = None
    """What the engine says of web and seed."""
    deadline_s: float = 12.0
    """When a trial is ended, whatever is left of the list."""
    highest: int = HIGHEST
    most_trials: int = MOST_TRIALS
    """Of each client."""

    def __post_init__(self) -> None:
        """Refuse what no trial can be before anything is built."""
        _ = self.conditions()

    @property
    def name(self) -> str:
        """The verb."""
        return NAME

    def condition(self, concurrency: int | None) -> Condition:
        """Return the condition of one concurrency; None: each subject's own."""
        return Condition(
            experiment=NAME,
            web=self.web,
            workload=self.workload(self.file),
            seed=self.seed,
            concurrency=concurrency,
            deadline_s=self.deadline_s,
            memory_bytes=self.memory_bytes,
            link=Link.parse(self.link),
            link_seed=self.link_seed,
            against=self.against,
            name="" if concurrency is None else f"{concurrency} in flight",
        )

    def conditions(self) -> tuple[Condition]:
        """Return the condition that the search is about: that of a subject's own concurrency."""
        return (self.condition(None),)

    def plan(self, subjects: Sequence[Subject]) -> SearchPlan:
        """Plan a search for each subject, in turns; of one that is not available, a trial that says why."""
        most = self.most_trials * len(subjects)
        return SearchPlan(tuple(subjects), self.condition(None), most, self._choose, self.seed)

    def webs(self) -> tuple[WebIdentity]:
        """Return the web of all trials."""
        return (WebIdentity(self.web, self.seed, self.web_digest),)

    def settings(self) -> Mapping[str, Setting]:
        """Return the options that it was made with."""
        return settings_of(self)

    def _choose(self, subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
        if any(trial.outcome is Outcome.UNAVAILABLE for trial in seen):
            return None
        search = search_from(subject.concurrency, self.highest, self.most_trials)
        step = search.next([observed(trial) for trial in seen])
        return None if step is None else NextTrial(self.condition(step.load), step.reason.value)
