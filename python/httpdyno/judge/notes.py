"""What has to be said about trials: why they failed, are not valid, have wrong answers explained, or no limit."""

import re
from collections.abc import Sequence
from typing import Final

from httpdyno.judge.validity import ALSO
from httpdyno.model import INSTALL_WITH, Outcome, Trial, Validity, format_size

__all__ = ["missing_notes", "trial_notes", "unlimited_notes", "unverified_notes"]

_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")


def trial_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Describe why trials of a subject failed, are not valid, or have wrong answers that are explained: one line each.

    The same reason in several trials is one line, also where its numbers, or what else was found, differ from trial to
    trial: then the line has those of the first. Trials that went well have none. ``unverified_notes`` says
    once for a whole table that answers could not be checked.
    """
    reasons: dict[str, list[str]] = {}
    for trial in trials:
        for label, reason in ((trial.outcome, trial.reason), (trial.validity, trial.validity_reason)):
            # Why a trial was refused is the reason of its validity, too.
            if reason and label not in {Validity.UNVERIFIED, Outcome.REFUSED}:
                text = f"{label}: {reason}"
                reasons.setdefault(_NUMBER.sub("0", text.partition(ALSO)[0]), []).append(text)
    notes = [_note(texts, len(trials)) for texts in reasons.values()]
    return (*notes, *_explanations(trials))


def unverified_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Name each reason for which the answers of trials could not be checked, one line for each."""
    reasons = [trial.validity_reason for trial in trials if trial.validity is Validity.UNVERIFIED]
    return tuple(f"{Validity.UNVERIFIED}: {reason}; no client is ranked" for reason in dict.fromkeys(reasons))


def missing_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """State how several subjects that lack a program or a library get it at once: each row says what it lacks."""
    lacking = {
        trial.subject
        for trial in trials
        if trial.outcome is Outcome.UNAVAILABLE and INSTALL_WITH in (trial.reason or "")
    }
    if len(lacking) < 2:
        return ()
    return (f"{len(lacking)} lack what a package has: the same command with --install brings it first",)


def unlimited_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """State that the memory of trials was not limited though that was asked for, and why: one line for each reason.

    Reasons that differ in their numbers only are one, told as it was the first time.
    """
    asked = [trial.counters for trial in trials if trial.counters.memory_limit_bytes is not None]
    reasons: dict[tuple[str, str], list[str]] = {}
    for counters in asked:
        if counters.memory_limit_bytes is not None and counters.memory_limit_reason:
            reason, size = counters.memory_limit_reason, format_size(counters.memory_limit_bytes)
            reasons.setdefault((size, _NUMBER.sub("0", reason)), []).append(reason)
    notes = []
    for (size, _), told in reasons.items():
        share = "" if len(told) == len(asked) else f" in {len(told)} of {len(asked)} trials"
        notes.append(f"memory was not limited to {size}{share}: {told[0]}; see: httpdyno doctor")
    return tuple(notes)


def _note(texts: Sequence[str], trials: int) -> str:
    if trials == 1:
        return texts[0]
    similar = "" if len(set(texts)) == 1 else ", or similar"
    return f"{texts[0]}{similar} ({len(texts)} of {trials} trials)"


def _explanations(trials: Sequence[Trial]) -> list[str]:
    """One line for each known failure that explains wrong answers, with the most that it explains in one trial."""
    cases = [case for trial in trials if trial.tally for case in trial.tally.explained_cases]
    most = {case.case: max(other.count for other in cases if other.case == case.case) for case in cases}
    told = {case.case: f"{case.reason} ({case.issue})" if case.issue else case.reason for case in cases}
    return [
        f"known failure {name}: {told[name]}: explains {count} wrong answer{'' if count == 1 else 's'}"
        for name, count in most.items()
    ]
