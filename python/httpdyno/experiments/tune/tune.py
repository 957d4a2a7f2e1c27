"""The search for the best concurrency (``tune``): how many requests in flight give a client the most right answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from httpdyno.errors import InvalidValue
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
    """A search for the best concurrency of one client: the same web and list in all trials, one condition each."""

    file: Path
    """The list of URLs that every trial is given."""
    start: int
    """The subject's own concurrency, about which is searched."""
    web: str = WEB
    seed: int = 1
    web_digest: str | None = None
    """What the engine says of web and seed."""
    deadline_s: float = 12.0
    """When a trial is ended, whatever is left of the list."""
    highest: int = HIGHEST
    most_trials: int = MOST_TRIALS

    def __post_init__(self) -> None:
        """Refuse what no trial can be before anything is built."""
        _ = self.conditions()

    @property
    def name(self) -> str:
        """The verb."""
        return NAME

    def condition(self, concurrency: int) -> Condition:
        """Return the condition of one concurrency."""
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
            name=f"{concurrency} in flight",
        )

    def conditions(self) -> tuple[Condition]:
        """Return the condition that the search is about: that of the subject's own concurrency."""
        return (self.condition(self.start),)

    def plan(self, subjects: Sequence[Subject]) -> SearchPlan:
        """Plan a search of at most so many trials; of a subject that is not available, one that says why.

        There must be exactly one subject: each has its own search.
        """
        if len(subjects) != 1:
            raise InvalidValue(f"a search is made for one subject at a time, not for {len(subjects)}")
        return SearchPlan((subjects[0],), self.condition(self.start), self.most_trials, self._choose, self.seed)

    def webs(self) -> tuple[WebIdentity]:
        """Return the web of all trials."""
        return (WebIdentity(self.web, self.seed, self.web_digest),)

    def settings(self) -> Mapping[str, Setting]:
        """Return the options that it was made with."""
        return settings_of(self)

    def _choose(self, _subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
        if any(trial.outcome is Outcome.UNAVAILABLE for trial in seen):
            return None
        search = search_from(self.start, self.highest, self.most_trials)
        step = search.next([observed(trial) for trial in seen])
        return None if step is None else NextTrial(self.condition(step.load), step.reason.value)
