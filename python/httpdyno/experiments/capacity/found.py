"""What the trials of one subject at one point come to: does it hold, how much of the rate it brings, and why not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.judge.conclusion import KEPT_SHARE, counts
from httpdyno.experiments.capacity.margin import failed_by_law
from httpdyno.model import Outcome, Tone, Trial, Validity, records_of
from httpdyno.stats import median

__all__ = ["TONES", "Found", "found", "target_words"]

_NEAR: Final = 0.9
_PART: Final = 0.5
_MUCH: Final = 10
_OF_ITS_OWN: Final = frozenset({Outcome.OK, Outcome.INTERRUPTED, Outcome.UNAVAILABLE, Outcome.REFUSED})
_AGAINST_ALL: Final = frozenset({Validity.INCORRECT, Validity.UNVERIFIED})
TONES: Final = (
    (Tone.HELD, "held"),
    (Tone.DOUBTFUL, "held in some trials only"),
    (Tone.NEAR, "90 % of the rate, or more"),
    (Tone.PART, "50 to 90 %"),
    (Tone.LITTLE, "below 50 %"),
    (Tone.UNKNOWN, "not to be believed"),
)
"""What each tone says of a point."""


@dataclass(frozen=True, slots=True)
class Found:
    """One subject at one point."""

    subject: str
    point: CapacityPoint
    tone: Tone
    per_s: float | None
    """Right answers a second, the median of its trials."""
    p99_ns: float | None
    trials: int
    failed: bool
    """Whether there is a trial, to be believed or not, that did not hold."""
    why: str | None
    """Why it does not hold, or why nothing is known."""
    limit: str | None
    """What limits it there: bandwidth, window, cpu, ..."""
    limit_text: str | None = None
    """The same in one sentence, with figures."""

    @property
    def share(self) -> float | None:
        """How much of the rate it brings; None where no rate was asked for, or nothing is known."""
        if self.per_s is None or self.point.target_per_s is None:
            return None
        return self.per_s / self.point.target_per_s

    @property
    def holds(self) -> bool:
        """Whether every trial that counts held."""
        return self.tone is Tone.HELD

    @property
    def word(self) -> str:
        """Describe it in a few characters: per cent of the rate; where the rate was kept, what was not: ``slow``."""
        if self.share is None:
            return "" if self.per_s is None else f"{self.per_s:,.0f}"
        if self.share >= KEPT_SHARE and self.failed and self.tone is not Tone.DOUBTFUL:
            return "errors" if "error" in (self.why or "") else "slow"
        if self.share >= _MUCH:
            return f"{self.share:.0f}\u00d7"
        # What is not all of it is not written as such.
        return f"{min(100 * self.share, 99) if _PART < self.share < KEPT_SHARE else 100 * self.share:.0f}"


def found(trials: Iterable[Trial]) -> tuple[Found, ...]:
    """Sum up the trials of each subject at each point, in the order of the first of each."""
    groups: dict[tuple[str, CapacityPoint], list[Trial]] = {}
    for trial in trials:
        if trial.get(CapacityPoint) is not None:
            groups.setdefault((trial.subject, trial[CapacityPoint]), []).append(trial)
    return tuple(_found(subject, point, group) for (subject, point), group in groups.items())


def target_words(points: Sequence[Found]) -> str:
    """Describe what was to be held: ``2,000 requests a second``."""
    targets = sorted({one.point.target_per_s for one in points if one.point.target_per_s is not None})
    return f"{' or '.join(f'{target:,.6g}' for target in targets)} requests a second" if targets else ""


def _found(subject: str, point: CapacityPoint, trials: Sequence[Trial]) -> Found:
    counted = [
        trial for trial in trials if trial.get(CapacitySummary) is not None and (counts(trial) or _by_law(trial))
    ]
    # What cannot be believed is still shown, as such.
    shown = records_of(CapacitySummary, counted or trials)
    per_s = median(one.per_s for one in shown)
    whys = [one.why_not for one in shown if one.why_not]
    reasons = [*whys, *(trial.reason or trial.validity_reason for trial in trials)]
    limits = [(one.limit, one.limit_text) for one in shown if one.limit]
    return Found(
        subject=subject,
        point=point,
        tone=_tone(point, trials, counted, per_s),
        per_s=per_s,
        p99_ns=median(one.response_p99_ns for one in shown),
        trials=len(trials),
        failed=any(one.held is False for one in shown),
        why=next((reason for reason in reasons if reason), None),
        limit=limits[0][0] if limits else None,
        limit_text=limits[0][1] if limits else None,
    )


def _by_law(trial: Trial) -> bool:
    """Return whether a trial that was disturbed failed all the same as anybody would have."""
    return trial.outcome is Outcome.OK and trial.validity not in _AGAINST_ALL and failed_by_law(trial)


def _tone(point: CapacityPoint, trials: Sequence[Trial], counted: Sequence[Trial], per_s: float | None) -> Tone:
    if any(trial.outcome not in _OF_ITS_OWN for trial in trials):
        return Tone.LITTLE
    held = [summary.held for summary in records_of(CapacitySummary, counted) if summary.held is not None]
    if not held:
        return Tone.UNKNOWN
    if any(held):
        return Tone.HELD if all(held) else Tone.DOUBTFUL
    share = (per_s or 0.0) / (point.target_per_s or 1.0)
    return Tone.NEAR if share >= _NEAR else Tone.PART if share >= _PART else Tone.LITTLE
