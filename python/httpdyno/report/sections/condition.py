"""What the charts of a report draw on: the trials of one condition, by the names of their subjects."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from httpdyno.model import Outcome, Trial

__all__ = ["ConditionTrials"]


@dataclass(frozen=True, slots=True)
class ConditionTrials:
    """The trials of one condition."""

    condition: str
    """Empty when the experiment has one only."""
    trials: Mapping[str, Sequence[Trial]]
    """By the name of their subject, in the order of the report."""
    colours: tuple[str, ...]
    """The names of all subjects of the report, in its order."""

    @property
    def well(self) -> Iterator[tuple[str, Sequence[Trial]]]:
        """Return each subject that has trials that went well, with those."""
        for name, trials in self.trials.items():
            well = [trial for trial in trials if trial.outcome is Outcome.OK]
            if well:
                yield name, well
