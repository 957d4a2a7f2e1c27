"""Rules of validity, and their findings in a trial."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from httpdyno.model import Aspect, Trial, Validity

EVERYTHING: Final = frozenset(Aspect)
"""Every figure of a trial."""


class Evidence(StrEnum):
    """Data that a rule needs; the rule applies to experiments whose trials have it."""

    ANSWERS = "answers"
    ORIGIN = "origin"
    """The engine plays the web: a saturated subject is a result, but a saturated engine is not."""
    CEILING = "ceiling"
    """The fetcher gets the same URLs as the subjects."""
    LINK = "link"
    FREE_LINK = "free link"
    """The experiment does not measure the rate of the link; if it did, a full link would be its result."""
    MACHINE = "machine"
    PACE = "pace"
    """Answers arrive as fast as the subject can, during the whole trial."""
    GENERATOR = "generator"
    """The generator sends the load, and the subject serves."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The number that a rule reads from a trial, in per cent."""

    number: float | None
    """None: the trial has no such number."""
    detail: str = ""
    """Parts of the number, or why there is none."""
    sure: float = 0.0
    """Part of the number that only the subject can cause."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A condition that a trial must meet so that its figures describe the subject."""

    name: str
    verdict: Validity
    """Validity of a trial that breaks the rule."""
    threshold: float
    """The largest number that is allowed, in per cent."""
    unit: str
    """Unit of the number, such as ``% of the trial``."""
    meaning: str
    """Meaning of the number, in a few words."""
    reason: str
    """Sentence for a trial that breaks the rule, with placeholders ``{number}``, ``{threshold}`` and ``{detail}``."""
    read: Callable[[Trial], Reading]
    needs: Evidence
    spoils: frozenset[Aspect] = EVERYTHING
    """The figures that a trial loses if it breaks the rule."""


def rule(
    verdict: Validity,
    threshold: float,
    unit: str,
    meaning: str,
    reason: str,
    needs: Evidence,
    spoils: frozenset[Aspect] = EVERYTHING,
) -> Callable[[Callable[[Trial], Reading]], Rule]:
    """Make a rule of a function that reads a number; the arguments are the fields of ``Rule``.

    The rule is named after the function, without its leading underscore.
    """

    def make(read: Callable[[Trial], Reading]) -> Rule:
        name = read.__name__.removeprefix("_")
        return Rule(name, verdict, threshold, unit, meaning, reason, read, needs, spoils)

    return make


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of applying a rule to a trial."""

    rule: Rule
    reading: Reading

    @property
    def number(self) -> float | None:
        """The number found, in per cent; None if unknown."""
        return self.reading.number

    @property
    def threshold(self) -> float:
        """The largest number that is allowed, in per cent."""
        return self.rule.threshold

    @property
    def passed(self) -> bool | None:
        """Whether the trial meets the rule; None: not judged."""
        return None if self.number is None else self.number <= self.threshold

    @property
    def sure(self) -> bool:
        """Whether the trial certainly breaks the rule, whatever else was wrong."""
        return self.reading.sure > self.rule.threshold

    @property
    def short(self) -> str:
        """Name the rule and the number found."""
        return f"{self.rule.name} {self._number} (at most {percent(self.threshold)})"

    @property
    def _number(self) -> str:
        """The number, with enough digits to differ from the threshold if it is beyond."""
        number = self.number or 0.0
        if self.passed is False and percent(number) == percent(self.threshold):
            return f"{number:.2f} %" if number < self.threshold + 0.05 else f"{number:.1f} %"
        return percent(number)

    @property
    def text(self) -> str:
        """Describe the finding in one line, or why there is none."""
        if self.number is None:
            return f"not judged: {self.reading.detail}"
        if self.passed:
            more = f"; {self.reading.detail}" if self.reading.detail else ""
            return f"{percent(self.number)} of at most {percent(self.threshold)}{more}"
        return self.rule.reason.format(
            number=self._number, threshold=percent(self.threshold), detail=self.reading.detail
        )


def percent(number: float) -> str:
    """Write a percentage for a sentence; small ones have a decimal."""
    if 0 < number < 0.05:
        return "under 0.1 %"
    return f"{number:.0f} %" if number >= 10 or number == int(number) else f"{number:.1f} %"
