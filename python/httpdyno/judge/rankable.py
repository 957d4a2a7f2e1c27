"""Which trials of a subject count for a figure: those that are compared and ranked, and those that are only shown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from httpdyno.judge.disturbance import crowded, disturbed
from httpdyno.judge.validity import spoiled_aspects
from httpdyno.model import Aspect, Outcome, Trial, Validity

__all__ = ["counting_trials", "placing_trials", "rankable", "rankable_trials", "verdict_of", "worst_validity"]

_NOT_ITS_FAULT: Final = frozenset({Outcome.OK, Outcome.INTERRUPTED, Outcome.REFUSED})
"""How a trial may end without its subject being at fault."""
_AGAINST_ALL: Final = frozenset({Validity.INCORRECT, Validity.UNVERIFIED})
"""What one trial says about all of the subject's: its answers were wrong, or nobody knows what is right."""


def rankable_trials(trials: Sequence[Trial], aspect: Aspect = Aspect.PACE) -> tuple[Trial, ...]:
    """Return the trials that count for figures of an aspect: they went well, and no broken rule spoils the aspect.

    A trial that was disturbed is repeated in its block: of several trials of one block and condition the last that
    counts is returned.
    """
    return _last_of_blocks(trial for trial in trials if _counts(trial, aspect))


def rankable(trials: Sequence[Trial], aspect: Aspect = Aspect.PACE) -> bool:
    """Return whether a subject may be ranked by those of its trials that count.

    It may not when one trial failed or was incorrect: to leave out what a subject did badly would flatter it. It may
    when the machine spoiled some of its trials (a busy origin, a drifting speed, an interruption), as long as more than
    half of its blocks have one that counts. ``trials`` are all that it has under one condition.
    """
    return _blameless(trials) and _in_most_blocks(rankable_trials(trials, aspect), trials)


def placing_trials(trials: Sequence[Trial], aspect: Aspect = Aspect.PACE) -> tuple[Trial, ...]:
    """Return the trials that give a subject its place in a provisional order; empty where it has none.

    Those that count where it may be ranked by them. Where too few do because other programs disturbed them, or the
    origin had to share its CPU, and for nothing else, also these, in blocks without a trial that counts.
    """
    count = rankable_trials(trials, aspect)
    if rankable(trials, aspect):
        return count
    if not _blameless(trials):
        return ()
    blocks = {(trial.condition, trial.block) for trial in count}
    spoiled = [t for t in trials if (t.condition, t.block) not in blocks and (disturbed(t) or crowded(t))]
    found = _last_of_blocks(sorted([*count, *spoiled], key=lambda trial: trial.trial))
    return found if _in_most_blocks(found, trials) else ()


def counting_trials(
    trials: Sequence[Trial], aspect: Aspect = Aspect.PACE, *, disturbed: bool = False
) -> Sequence[Trial]:
    """Return the trials that the figures of a subject come from: those that count, else all that went well.

    ``disturbed``: a provisional order also has room for trials that other programs disturbed.
    """
    if disturbed and (placing := placing_trials(trials, aspect)):
        return placing
    if rankable(trials, aspect):
        return rankable_trials(trials, aspect)
    return [trial for trial in trials if trial.outcome is Outcome.OK]


def verdict_of(trials: Sequence[Trial], *, disturbed: bool = False) -> str:
    """Return in a word how the trials of a subject failed, if they did; else the worst validity behind its rates.

    Empty if there are none. ``disturbed``: as for ``counting_trials``.
    """
    failed = [(trial.validity or trial.outcome).value for trial in trials if trial.outcome is not Outcome.OK]
    if failed and not rankable(trials):
        return Counter(failed).most_common(1)[0][0]
    return worst_validity(counting_trials(trials, disturbed=disturbed)) or ""


def worst_validity(trials: Iterable[Trial]) -> Validity | None:
    """Return the worst validity of trials; None if none has any. What is worse stands further down in its list."""
    order = list(Validity)
    found = [trial.validity for trial in trials if trial.validity]
    return max(found, key=order.index) if found else None


def _counts(trial: Trial, aspect: Aspect) -> bool:
    return trial.outcome is Outcome.OK and aspect not in spoiled_aspects(trial)


def _last_of_blocks(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    return tuple({(trial.condition, trial.block): trial for trial in trials}.values())


def _in_most_blocks(some: Iterable[Trial], trials: Iterable[Trial]) -> bool:
    blocks, every = ({(trial.condition, trial.block) for trial in those} for those in (some, trials))
    return 2 * len(blocks) > len(every)


def _blameless(trials: Iterable[Trial]) -> bool:
    return all(trial.outcome in _NOT_ITS_FAULT and trial.validity not in _AGAINST_ALL for trial in trials)
