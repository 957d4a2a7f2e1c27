"""The table of the rules in the page about validity."""

from httpdyno.judge.validity.rule import Rule, percent
from httpdyno.judge.validity.rules import RULES
from httpdyno.model.documentation import with_table

__all__ = ["with_rules"]


def with_rules(page: str) -> str:
    """Write the table of the rules into a page, in the order of their weight.

    Raises
    ------
    ValueError
        If the page has no place for it.
    """
    head = [
        "| rule | what is measured | at most | else the trial is | experiments |",
        "| --- | --- | --- | --- | --- |",
    ]
    return with_table(page, "rules", "\n".join([*head, *map(_line, RULES)]))


def _line(rule: Rule) -> str:
    allowed = f"{percent(rule.threshold)}{rule.unit.removeprefix('%')}"
    experiments = ", ".join(sorted(rule.experiments)) if rule.experiments else "all"
    return f"| `{rule.name}` | {rule.meaning} | {allowed} | `{rule.verdict}` | {experiments} |"
