"""Interface of experiments for planning, measuring and resuming; requests and results of runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from httpdyno.experiments.plan import Plan
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.place import Place
from httpdyno.model import Condition, Subject, Trial
from httpdyno.store import Run, WebIdentity
from httpdyno.subjects.catalogue import Catalogue
from httpdyno.urls.source import UrlFile

Setting = str | int | float | bool | None
"""Value of an option in a manifest."""


class Experiment(Protocol):
    """Conditions of an experiment, and the trials of each.

    Judging and presentation are part of its definition.
    """

    @property
    def name(self) -> str:
        """Its verb: ``bench``."""

    @property
    def seed(self) -> int:
        """Seed of the order of trials."""

    def conditions(self) -> Sequence[Condition]:
        """Return the points of its grid; for a search, the point that it searches."""

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Plan the trials of these subjects; raise ``InvalidValue`` if there is no plan for them."""

    def webs(self) -> Sequence[WebIdentity]:
        """Return the webs of its conditions, as the engine identifies them."""

    def settings(self) -> Mapping[str, Setting]:
        """Return its options by name, enough to rebuild it."""


Tell = Callable[[str], None]
"""Print one line to the user."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """Inputs of a new experiment."""

    catalogue: Catalogue
    """All subjects, including those in the user's folders."""
    place: Place
    interruption: Interruption
    """Interrupts waits."""
    tell: Tell
    install: Callable[[Sequence[Subject]], None] = lambda _: None
    """Installs the requirements of subjects, if requested."""


class Begun(NamedTuple):
    """Experiment to measure."""

    experiment: Experiment
    subjects: Sequence[Subject]
    urls: UrlFile | None = None
    """The list of all subjects, to be closed at the end; None: each condition has its own list."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that ended or was stopped."""

    experiment: Experiment
    subjects: Sequence[Subject]
    place: Place
    trials: Sequence[Trial]
    run: Run
    whole: bool
    """Whether the run has all of its trials."""
    tell: Tell
