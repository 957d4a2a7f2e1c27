"""Readings of the subject's answers: how many are wrong, how many nobody can verify."""

from typing import Final

from httpdyno.judge.validity.rule import Reading
from httpdyno.model import LoadSummary, Trial

__all__ = ["unverified", "wrong"]

_NONE: Final = "there are no answers"
_KINDS: Final = ("wrong_status", "wrong_length", "late", "false_error", "missed_error", "wrong_time")


def wrong(trial: Trial) -> Reading:
    """Return the wrong answers that no known failure explains; URLs that were not reached are no answers."""
    if trial.load is not None:
        return _checked(trial.load)
    tally = trial.tally
    answers = tally.right + tally.wrong_in_all if tally else 0
    if tally is None or not answers:
        return Reading(None, _NONE)
    kinds = {name: getattr(tally, name) for name in _KINDS}
    most = max(kinds, key=lambda name: kinds[name])
    detail = f"{tally.wrong} of {answers}" + (f", most of them {most}" if tally.wrong else "")
    return Reading(100 * tally.wrong / answers, detail)


def _checked(load: LoadSummary) -> Reading:
    """Return the answers of a load that did not meet what ``--check`` asks for."""
    checks = load.checks
    if checks is None:
        return Reading(None, "no --check says what is right")
    answers = checks.right + checks.wrong
    return Reading(100 * checks.wrong / answers, f"{checks.wrong} of {answers}") if answers else Reading(None, _NONE)


def unverified(trial: Trial) -> Reading:
    """Return the answers that nobody knows to be right or wrong."""
    if trial.load is not None:
        return Reading(None, "a load asks nobody but --check what is right")
    tally = trial.tally
    answers = tally.right + tally.wrong_in_all + tally.unverified if tally else 0
    if tally is None or not answers:
        return Reading(None, _NONE)
    return Reading(100 * tally.unverified / answers)
