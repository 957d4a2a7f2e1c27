"""Validity of a trial: whether its figures describe its subject."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from httpdyno.judge.validity.rule import EVERYTHING, Evidence, Finding, Reading, Rule
from httpdyno.judge.validity.rules import RULES, rules_for
from httpdyno.model import Aspect, Outcome, Trial, Validity


def findings(trial: Trial, rules: Sequence[Rule]) -> tuple[Finding, ...]:
    """Apply rules to a trial, in the order of their weight; a failed trial has no findings.

    Rules read only the record, so that a stored trial can be judged again years later.
    """
    if trial.outcome is not Outcome.OK:
        return ()
    return tuple(Finding(rule, rule.read(trial)) for rule in rules)


def broken(trial: Trial, rules: Sequence[Rule]) -> list[Finding]:
    """Return the rules that a trial breaks, in the order of their weight; first those that only the subject breaks."""
    return sorted((one for one in findings(trial, rules) if one.passed is False), key=lambda one: not one.sure)


def broken_names(trial: Trial, rules: Sequence[Rule] = RULES) -> tuple[str, ...]:
    """Return the names of the rules that a trial breaks, first the one that determines its validity.

    Records of older versions do not have them: ``rules`` are applied again. Empty where no rule explains the validity.
    """
    if trial.broken_rules is not None:
        return trial.broken_rules
    found = {one.rule.name: one.rule.verdict for one in broken(trial, rules)}
    formerly = trial.validity in {Validity.UNSTEADY, Validity.ORIGIN_LIMITED} and Validity.DISTURBED in found.values()
    return tuple(found) if trial.validity in found.values() or formerly else ()


def spoiled_aspects(trial: Trial) -> frozenset[Aspect]:
    """Return the aspects of a trial that its broken rules spoil.

    Empty for a trial that is valid or was never judged. A rule that only some experiments have spoils every figure, and
    so does a verdict that no rule explains.
    """
    if trial.outcome is not Outcome.OK:
        return EVERYTHING
    if trial.validity in {Validity.VALID, None}:
        return frozenset()
    spoiled = [_SPOILS.get(name, EVERYTHING) for name in broken_names(trial)]
    return frozenset().union(*spoiled) if spoiled else EVERYTHING


_SPOILS: Final = {rule.name: rule.spoils for rule in RULES}


def with_validity(trial: Trial, rules: Sequence[Rule]) -> Trial:
    """Return the trial with its validity, in one line why it is not ``VALID``, and the rules that it breaks.

    The first of them determines the validity. Wrong answers come first if only the subject can be their cause. All
    three are None for a trial that failed. A refused trial keeps its validity.
    """
    if trial.outcome is Outcome.REFUSED:
        return trial
    if trial.outcome is not Outcome.OK:
        return replace(trial, validity=None, validity_reason=None, broken_rules=None)
    found = broken(trial, rules)
    if not found:
        return replace(trial, validity=Validity.VALID, validity_reason=None, broken_rules=())
    first, *others = found
    verdict, reason = first.rule.verdict, first.text
    # Unverified answers make every other finding irrelevant.
    if others and verdict is not Validity.UNVERIFIED:
        reason += f"; also: {', '.join(other.short for other in others)}"
    names = tuple(one.rule.name for one in found)
    return replace(trial, validity=verdict, validity_reason=reason, broken_rules=names)
