"""Where an experiment is begun and ended: what it is handed by whoever makes the run, and what it gives back."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from httpdyno.experiments.experiment import Experiment
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.place import Place
from httpdyno.model import Subject, Trial
from httpdyno.store import Run
from httpdyno.subjects.catalogue import Catalogue
from httpdyno.urls.source import UrlFile

__all__ = ["Beginning", "Begun", "Ended", "Tell"]

Tell = Callable[[str], None]
"""Says a line to whoever has typed the verb."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """With what an experiment is begun."""

    catalogue: Catalogue
    """All subjects, those of the user's own folders among them."""
    place: Place
    interruption: Interruption
    """Ends what is waited for."""
    tell: Tell
    install: Callable[[Sequence[Subject]], None] = lambda _: None
    """Brings what subjects need, where that was asked for."""


class Begun(NamedTuple):
    """What is to be measured."""

    experiment: Experiment
    subjects: Sequence[Subject]
    urls: UrlFile | None = None
    """The list that every subject is given, to be closed at the end; None: each condition has one of its own."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A run that has come to its end, or was stopped."""

    experiment: Experiment
    subjects: Sequence[Subject]
    place: Place
    trials: Sequence[Trial]
    run: Run
    whole: bool
    """Whether all trials are there."""
    tell: Tell
