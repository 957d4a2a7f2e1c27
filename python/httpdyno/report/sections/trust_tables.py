"""The tables of a report that say whether it can be believed: every rule, and every trial with its numbers."""

from collections.abc import Mapping, Sequence
from typing import Final

from httpdyno.judge import ceiling_notes
from httpdyno.judge.validity import Finding, Rule, findings
from httpdyno.model import Cell, Column, ColumnKind, Table, Trial
from httpdyno.report.sections.tables import without_empty

__all__ = ["rule_table", "trial_overview"]

_DECIMAL: Final = ColumnKind.DECIMAL
_RULES: Final = (
    Column("rule"),
    Column("asks", description="what its number is"),
    Column("at most", _DECIMAL, "%", "largest number that is allowed"),
    Column("worst", _DECIMAL, "%", "largest number that was found in any trial"),
    Column("trial", ColumnKind.INTEGER, description="where it was found"),
    Column("failed", ColumnKind.INTEGER, description="trials that do not meet the rule", limit=0),
    Column("makes it", description="what a trial is that does not meet it"),
    Column("says"),
)
_TRIALS: Final = (
    Column("trial", ColumnKind.INTEGER, description="in the order in which they ran, from 0"),
    Column("block", ColumnKind.INTEGER, description="trials of one block shared what the machine was like"),
    Column("condition"),
    Column("subject"),
    Column("outcome", description="how the trial ended"),
    Column("validity", description="whether its figures say something about the subject"),
    Column("reason", description="why it failed, or is not valid"),
)


def rule_table(trials: Sequence[Trial], rules: Sequence[Rule]) -> Table:
    """List every rule that the trials were held against, with the worst that was found.

    All trials are of one experiment; those that failed are held against no rule.
    """
    found: dict[str, list[tuple[Trial, Finding]]] = {}
    for trial in trials:
        for finding in findings(trial, rules):
            found.setdefault(finding.rule.name, []).append((trial, finding))
    return Table(_RULES, tuple(_rule(many) for many in found.values()))


def trial_overview(
    trials: Sequence[Trial], names: Mapping[str, str], ceiling: Trial | None = None, *, rules: Sequence[Rule]
) -> Table:
    """List every trial: how it ended, whether it can be believed, why not, and the number of each rule.

    Rules for which no trial has a number have no column. The trial that asked what the web can give at all stands
    first, since it came first.
    """
    rows = [(trial, names[trial.subject], trial.reason or trial.validity_reason) for trial in trials]
    if ceiling is not None:
        rows.insert(0, (ceiling, f"{ceiling.subject}, for the web's ceiling", _found(ceiling, trials)))
    numbers = [{finding.rule.name: finding for finding in findings(trial, rules)} for trial, _, _ in rows]
    measured = {
        finding.rule.name: finding.rule for found in numbers for finding in found.values() if finding.number is not None
    }
    cells = [
        (
            trial.trial,
            trial.block,
            trial.condition,
            name,
            trial.outcome.value,
            trial.validity.value if trial.validity else None,
            reason,
            *(_number(found.get(rule)) for rule in measured),
        )
        for (trial, name, reason), found in zip(rows, numbers, strict=True)
    ]
    return without_empty(Table((*_TRIALS, *map(_column, measured.values())), tuple(cells)), "condition")


def _found(ceiling: Trial, trials: Sequence[Trial]) -> str:
    """Describe what was found of the ceiling, which the trials of subjects know; else why nothing was."""
    told = ceiling_notes(trials)
    if not told:
        reason = ceiling.reason or ceiling.validity_reason or "it was too short to tell what held the fetcher up"
        return f"the web's ceiling is not known: {reason}"
    p50_ns = ceiling.summary.p50_ns if ceiling.summary else None
    median = f", p50 {p50_ns / 1e6:.0f} ms" if p50_ns else ""
    return f"{told[0]} ({ceiling.concurrency} in flight{median})"


def _rule(found: Sequence[tuple[Trial, Finding]]) -> tuple[Cell, ...]:
    rule = found[0][1].rule
    known = [(finding.number, trial, finding) for trial, finding in found if finding.number is not None]
    asks = f"{rule.meaning}, {rule.unit}"
    failed = sum(finding.passed is False for _, finding in found)
    if not known:
        return rule.name, asks, rule.threshold, None, None, failed, rule.verdict.value, found[0][1].text
    number, trial, worst = max(known, key=lambda one: one[0])
    return rule.name, asks, rule.threshold, round(number, 2), trial.trial, failed, rule.verdict.value, worst.text


def _column(rule: Rule) -> Column:
    allowed = f"at most {rule.threshold:g} {rule.unit}"
    return Column(
        rule.name, _DECIMAL, f"\u2264 {rule.threshold:g} %", f"{rule.meaning}; {allowed}", limit=rule.threshold
    )


def _number(finding: Finding | None) -> float | None:
    return None if finding is None or finding.number is None else round(finding.number, 2)
