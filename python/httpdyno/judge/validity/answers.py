"""Readings of the subject's answers: how many are wrong, how many nobody can verify."""

from typing import Final

from httpdyno.judge.validity.rule import Reading
from httpdyno.model import Trial

__all__ = ["NO_ANSWERS", "unverified", "wrong"]

NO_ANSWERS: Final = "there are no answers"
_KINDS: Final = ("wrong_status", "wrong_length", "late", "false_error", "missed_error", "wrong_time")


def wrong(trial: Trial) -> Reading:
    """Return the wrong answers that no known failure explains; URLs that were not reached are no answers.

    Those are sure that no load on the machine can make (``Tally.surely_wrong``).
    """
    tally = trial.tally
    answers = tally.right + tally.wrong_in_all if tally else 0
    if tally is None or not answers:
        return Reading(None, NO_ANSWERS)
    kinds = {name: getattr(tally, name) for name in _KINDS}
    most = max(kinds, key=lambda name: kinds[name])
    detail = f"{tally.wrong} of {answers}" + (f", most of them {most}" if tally.wrong else "")
    return Reading(100 * tally.wrong / answers, detail, 100 * (tally.surely_wrong or 0) / answers)


def unverified(trial: Trial) -> Reading:
    """Return the answers that nobody knows to be right or wrong."""
    tally = trial.tally
    answers = tally.right + tally.wrong_in_all + tally.unverified if tally else 0
    if tally is None or not answers:
        return Reading(None, NO_ANSWERS)
    return Reading(100 * tally.unverified / answers)
