"""Whether the figures of a trial say something about its subject."""

from dataclasses import replace

from httpdyno.judge.validity.rule import Finding, Reading, Rule
from httpdyno.judge.validity.rules import RULES
from httpdyno.model import Outcome, Trial, Validity

__all__ = ["RULES", "Finding", "Reading", "Rule", "findings", "judge_validity", "with_validity"]


def findings(trial: Trial) -> tuple[Finding, ...]:
    """Hold a trial against every rule that applies to its experiment, in the order of their weight.

    Parameters
    ----------
    trial : Trial
        Its record is all that is looked at, so that it can be done again years later.

    Returns
    -------
    tuple of Finding
        Empty for a trial that failed: nobody asks what its figures are worth.
    """
    if trial.outcome is not Outcome.OK:
        return ()
    return tuple(Finding(rule, rule.read(trial)) for rule in RULES if rule.applies_to(trial.experiment))


def judge_validity(trial: Trial) -> tuple[Validity | None, str | None]:
    """Return the validity of a trial, and in one line why it is not ``VALID``.

    Returns
    -------
    Validity or None
        ``VALID`` where nothing was found; None for a trial that failed. What was refused stays what it is.
    str or None
        What the first rule says that the trial does not meet.
    """
    if trial.outcome is Outcome.REFUSED:
        return trial.validity, trial.validity_reason
    if trial.outcome is not Outcome.OK:
        return None, None
    for finding in findings(trial):
        if finding.passed is False:
            return finding.rule.verdict, finding.text
    return Validity.VALID, None


def with_validity(trial: Trial) -> Trial:
    """Record in a trial what its validity is, by everything else that it records."""
    validity, reason = judge_validity(trial)
    return replace(trial, validity=validity, validity_reason=reason)
