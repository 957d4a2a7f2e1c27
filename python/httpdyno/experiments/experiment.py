"""What an experiment is: all that planning, measuring and resuming know of one."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from httpdyno.experiments.plan import Plan
from httpdyno.model import Condition, Subject
from httpdyno.store import WebIdentity

__all__ = ["Experiment", "Setting"]

Setting = str | int | float | bool | None
"""What one option can be in a manifest."""


class Experiment(Protocol):
    """A question, as the conditions in which subjects are measured, and the trials that this takes.

    Nothing about its judging or its table: that is its definition.
    """

    @property
    def name(self) -> str:
        """Its verb: ``bench``."""

    @property
    def seed(self) -> int:
        """Decides the order of trials."""

    def conditions(self) -> Sequence[Condition]:
        """Return the points of its grid; of one that is searched, the point that the search is about."""

    def plan(self, subjects: Sequence[Subject]) -> Plan:
        """Plan its trials.

        Parameters
        ----------
        subjects : sequence of Subject
            Who is asked.

        Raises
        ------
        InvalidValue
            If it cannot be planned for them.
        """

    def webs(self) -> Sequence[WebIdentity]:
        """Return the webs of its conditions, as the engine identifies them."""

    def settings(self) -> Mapping[str, Setting]:
        """Return the options that it was made with, by name: enough to make it again."""
