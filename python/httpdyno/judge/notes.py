"""What has to be said about a subject: why its trials failed, are not valid, or have wrong answers explained."""

from collections import Counter
from collections.abc import Sequence

from httpdyno.model import Trial

__all__ = ["trial_notes"]


def trial_notes(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Say why trials of a subject failed, are not valid, or have wrong answers that are explained: one line each.

    The same reason in several trials is one line; trials that went well have none.
    """
    reasons = Counter(
        f"{label}: {reason}"
        for trial in trials
        for label, reason in ((trial.outcome, trial.reason), (trial.validity, trial.validity_reason))
        if reason
    )
    notes = [
        reason if len(trials) == 1 else f"{reason} ({count} of {len(trials)} trials)"
        for reason, count in reasons.items()
    ]
    return (*notes, *_explanations(trials))


def _explanations(trials: Sequence[Trial]) -> list[str]:
    """One line for each known failure that explains wrong answers, with the most that it explains in one trial."""
    cases = [case for trial in trials if trial.tally for case in trial.tally.explained_cases]
    most = {case.case: max(other.count for other in cases if other.case == case.case) for case in cases}
    told = {case.case: f"{case.reason} ({case.issue})" if case.issue else case.reason for case in cases}
    return [
        f"known failure {name}: {told[name]}: explains {count} wrong answer{'' if count == 1 else 's'}"
        for name, count in most.items()
    ]
