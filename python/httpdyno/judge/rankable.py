"""Whether the trials of a subject can be believed: what is compared and ranked, and what is only shown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from httpdyno.judge.disturbance import crowded, disturbed
from httpdyno.model import Outcome, Trial, Validity

__all__ = ["counting_trials", "placing_trials", "rankable", "rankable_trials", "verdict_of", "worst_validity"]

_NOT_ITS_FAULT: Final = frozenset({Outcome.OK, Outcome.INTERRUPTED, Outcome.REFUSED})
"""How a trial may end without its subject being at fault."""
_AGAINST_ALL: Final = frozenset({Validity.INCORRECT, Validity.UNVERIFIED})
"""What one trial says about all of the subject's: its answers were wrong, or nobody knows what is right."""


def rankable_trials(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials that count: they went well, and nothing but the subject decided their figures."""
    return tuple(trial for trial in trials if trial.outcome is Outcome.OK and trial.validity in {Validity.VALID, None})


def rankable(trials: Sequence[Trial]) -> bool:
    """Return whether a subject may be ranked by those of its trials that count.

    It may not when one trial failed or was incorrect: to leave out what a subject did badly would flatter it. It may
    when the machine spoiled some of its trials (a busy origin, a drifting speed, an interruption), as long as more than
    half of them count. ``trials`` are all that it has under one condition.
    """
    return _blameless(trials) and 2 * len(rankable_trials(trials)) > len(trials)


def placing_trials(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials that give a subject its place in an order that is better than none; empty where it has none.

    Those that count where it may be ranked by them; where too few do because other programs disturbed them, or the
    origin had to share its CPU, and for nothing else, these, too.
    """
    if rankable(trials):
        return rankable_trials(trials)
    count = rankable_trials(trials)
    found = tuple(trial for trial in trials if trial in count or disturbed(trial) or crowded(trial))
    return found if _blameless(trials) and 2 * len(found) > len(trials) else ()


def counting_trials(trials: Sequence[Trial], *, disturbed: bool = False) -> Sequence[Trial]:
    """Return the trials that the figures of a subject come from: those that count, else all that went well.

    ``disturbed``: it has its place by trials that other programs disturbed.
    """
    if disturbed:
        return placing_trials(trials)
    return rankable_trials(trials) if rankable(trials) else [t for t in trials if t.outcome is Outcome.OK]


def verdict_of(trials: Sequence[Trial], *, disturbed: bool = False) -> str:
    """Return in a word how the trials of a subject failed, if they did; else their worst validity.

    That of those that its figures come from; empty if there are none. ``disturbed``: as ``counting_trials`` has it.
    """
    failed = [(trial.validity or trial.outcome).value for trial in trials if trial.outcome is not Outcome.OK]
    if failed and not rankable(trials):
        return Counter(failed).most_common(1)[0][0]
    return worst_validity(counting_trials(trials, disturbed=disturbed)) or ""


def worst_validity(trials: Iterable[Trial]) -> Validity | None:
    """Return the worst validity of trials; None if none has any. What is worse stands further down in its list."""
    found = {trial.validity for trial in trials}
    return next((validity for validity in reversed(Validity) if validity in found), None)


def _blameless(trials: Sequence[Trial]) -> bool:
    return all(trial.outcome in _NOT_ITS_FAULT and trial.validity not in _AGAINST_ALL for trial in trials)
