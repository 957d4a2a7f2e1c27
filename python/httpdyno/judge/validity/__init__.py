"""Validity of a trial: whether its figures describe its subject."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from httpdyno.judge.validity.rule import EVERYTHING, Evidence, Finding, Reading, Rule
from httpdyno.judge.validity.rules import RULES, rules_for
from httpdyno.model import Aspect, Outcome, Trial, Validity

ALSO: Final = "; also: "
"""Separates the first broken rule from the others, which differ between trials."""


def findings(trial: Trial, rules: Sequence[Rule]) -> tuple[Finding, ...]:
    """Apply rules to a trial, in the order of their weight; a failed trial has no findings.

    They read the record only, so that a stored trial can be judged again years later.
    """
    if trial.outcome is not Outcome.OK:
        return ()
    return tuple(Finding(rule, rule.read(trial)) for rule in rules)


def broken_rules(trial: Trial, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Return the rules that a trial breaks, in the order of their weight."""
    return tuple(finding.rule for finding in findings(trial, rules) if finding.passed is False)


def judge_validity(trial: Trial, rules: Sequence[Rule]) -> tuple[Validity | None, str | None]:
    """Return the validity of a trial, and in one line why it is not ``VALID``: every rule that it breaks.

    The first of them determines the validity. Wrong answers come first if only the subject can be their cause. Both are
    None for a trial that failed. A refused trial keeps its validity.
    """
    if trial.outcome is Outcome.REFUSED:
        return trial.validity, trial.validity_reason
    if trial.outcome is not Outcome.OK:
        return None, None
    broken = sorted((one for one in findings(trial, rules) if one.passed is False), key=lambda one: not one.sure)
    if not broken:
        return Validity.VALID, None
    first, *others = broken
    if first.rule.verdict is Validity.UNVERIFIED:
        # Unverified answers make every other finding irrelevant.
        return first.rule.verdict, first.text
    also = f"{ALSO}{', '.join(other.short for other in others)}" if others else ""
    return first.rule.verdict, first.text + also


def spoiled_aspects(trial: Trial) -> frozenset[Aspect]:
    """Return the aspects of a trial that its broken rules spoil.

    Empty for a trial that is valid or was never judged. Where none of the usual rules explains the verdict, as with the
    rules of one experiment, every figure is spoiled.
    """
    if trial.outcome is not Outcome.OK:
        return EVERYTHING
    if trial.validity in {Validity.VALID, None}:
        return frozenset()
    broken = broken_rules(trial, RULES)
    verdicts = {rule.verdict for rule in broken}
    formerly = trial.validity in {Validity.UNSTEADY, Validity.ORIGIN_LIMITED} and Validity.DISTURBED in verdicts
    if trial.validity not in verdicts and not formerly:
        return EVERYTHING
    return frozenset().union(*(rule.spoils for rule in broken))


def with_validity(trial: Trial, rules: Sequence[Rule]) -> Trial:
    """Return the trial with its validity, which follows from its other fields."""
    validity, reason = judge_validity(trial, rules)
    return replace(trial, validity=validity, validity_reason=reason)
