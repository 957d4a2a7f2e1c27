"""What an experiment is: all that planning, measuring and resuming know of one."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from httpdyno.model import Condition
from httpdyno.store import WebIdentity

__all__ = ["Experiment", "Setting"]

Setting = str | int | float | bool | None
"""What one option can be in a manifest."""


class Experiment(Protocol):
    """A question, as the conditions in which subjects are measured.

    Nothing about its judging or its table: that is its definition.
    """

    @property
    def name(self) -> str:
        """Its verb: ``bench``."""

    @property
    def seed(self) -> int:
        """Decides the order of trials."""

    @property
    def repeat(self) -> int | None:
        """How often each subject runs under each condition; None: as many times as is usual."""

    @property
    def quick(self) -> bool:
        """Whether it is only a first look."""

    def conditions(self) -> Sequence[Condition]:
        """Give the points of its grid."""

    def webs(self) -> Sequence[WebIdentity]:
        """Give the webs of its conditions, as the engine identifies them."""

    def settings(self) -> Mapping[str, Setting]:
        """Give the options that it was made with, by name: enough to make it again."""
