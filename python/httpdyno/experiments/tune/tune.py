"""The search for the best concurrency (``tune``): how many requests in flight give a client the most right answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.plan import NextTrial, SearchPlan
from httpdyno.experiments.restoring import restored, workload_settings
from httpdyno.experiments.tune.tuning import HIGHEST, MOST_TRIALS, observed, search_from
from httpdyno.model import Condition, Link, Outcome, Subject, Trial, Workload
from httpdyno.store import WebIdentity

__all__ = ["NAME", "Tune", "restore_tune"]

NAME: Final = "tune"


@dataclass(frozen=True, slots=True)
class Tune:
    """A search for the best concurrency of one client: the same web and list in all trials, one condition each.

    Raises
    ------
    InvalidValue
        If it has no possible condition.
    """

    workload: Workload
    start: int
    """The subject's own concurrency, about which is searched."""
    web: str = "top-sites"
    seed: int = 1
    web_digest: str | None = None
    """What the engine says of web and seed."""
    deadline_s: float = 12.0
    """When a trial is ended, whatever is left of the list."""
    memory_bytes: int | None = None
    link: str = "direct"
    """The path between subject and web, in its canonical text."""
    link_seed: int = 1
    against: str | None = None
    """The origin of another machine that plays the web; None: it is in the room."""
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
            workload=self.workload,
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

        Raises
        ------
        InvalidValue
            If there is not exactly one subject: each has its own search.
        """
        if len(subjects) != 1:
            raise InvalidValue(f"a search is made for one subject at a time, not for {len(subjects)}")
        return SearchPlan((subjects[0],), self.condition(self.start), self.most_trials, self._choose, self.seed)

    def webs(self) -> tuple[WebIdentity]:
        """Return the web of all trials."""
        return (WebIdentity(self.web, self.seed, self.web_digest),)

    def settings(self) -> Mapping[str, Setting]:
        """Return the options that it was made with."""
        return {
            "start": self.start,
            "deadline_s": self.deadline_s,
            "memory_bytes": self.memory_bytes,
            "link": self.link,
            "link_seed": self.link_seed,
            "against": self.against,
            "highest": self.highest,
            "most_trials": self.most_trials,
            **workload_settings(self.workload),
        }

    def _choose(self, _subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
        if any(trial.outcome is Outcome.UNAVAILABLE for trial in seen):
            return None
        search = search_from(self.start, self.highest, self.most_trials)
        step = search.next([observed(trial) for trial in seen])
        return None if step is None else NextTrial(self.condition(step.load), step.reason.value)


def restore_tune(settings: Mapping[str, Setting], webs: Sequence[WebIdentity], urls: Path) -> Tune:
    """Make a search again from what its manifest says.

    Parameters
    ----------
    settings : mapping
        As ``Tune.settings`` gives them; others are left alone.
    webs : sequence of WebIdentity
        As ``Tune.webs`` gives them.
    urls : Path
        The list.

    Raises
    ------
    UnreadableRun
        If a setting is missing or cannot be.
    """
    return restored(Tune, settings, webs, urls)
