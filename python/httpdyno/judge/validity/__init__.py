"""Whether the figures of a trial say something about its subject."""

from collections.abc import Sequence
from dataclasses import replace

from httpdyno.judge.validity.rule import Evidence, Finding, Reading, Rule
from httpdyno.judge.validity.rules import RULES, rules_for
from httpdyno.model import Outcome, Trial, Validity

__all__ = [
    "RULES",
    "Evidence",
    "Finding",
    "Reading",
    "Rule",
    "findings",
    "judge_validity",
    "rules_for",
    "with_validity",
]


def findings(trial: Trial, rules: Sequence[Rule] = RULES) -> tuple[Finding, ...]:
    """Hold a trial against rules, in the order of their weight; of one that failed nothing is found.

    Its record is all that is looked at, so that it can be done again years later.
    """
    if trial.outcome is not Outcome.OK:
        return ()
    return tuple(Finding(rule, rule.read(trial)) for rule in rules)


def judge_validity(trial: Trial, rules: Sequence[Rule] = RULES) -> tuple[Validity | None, str | None]:
    """Return the validity of a trial, and in one line why it is not ``VALID``.

    Both are None of a trial that failed. What was refused stays what it is.
    """
    if trial.outcome is Outcome.REFUSED:
        return trial.validity, trial.validity_reason
    if trial.outcome is not Outcome.OK:
        return None, None
    for finding in findings(trial, rules):
        if finding.passed is False:
            return finding.rule.verdict, finding.text
    return Validity.VALID, None


def with_validity(trial: Trial, rules: Sequence[Rule] = RULES) -> Trial:
    """Record in a trial what its validity is, by everything else that it records."""
    validity, reason = judge_validity(trial, rules)
    return replace(trial, validity=validity, validity_reason=reason)
