"""The table of the rules in the page about validity."""

from collections.abc import Iterable, Mapping, Sequence

from httpdyno.experiments.registry import definition_of, experiment_names
from httpdyno.judge.validity.rule import EVERYTHING, Rule, percent
from httpdyno.model import Aspect
from pages.table import with_table

__all__ = ["validity_rules", "with_rules"]

_FIGURES = {Aspect.PACE: "rates and times", Aspect.CPU: "CPU time", Aspect.MEMORY: "memory"}


def validity_rules() -> dict[str, Sequence[Rule]]:
    """Return the rules of validity of each experiment, by its name."""
    return {name: definition_of(name).judging.rules for name in experiment_names()}


def with_rules(page: str, rules: Mapping[str, Sequence[Rule]]) -> str:
    """Write the table of the rules into a page, in order of precedence.

    Parameters
    ----------
    page : str
        The text of the page.
    rules : mapping
        The rules of each experiment, by its name.

    Raises
    ------
    ValueError
        If the page has no place for the table.
    """
    head = [
        "| rule | what is measured | at most | else the trial is | it spoils | experiments |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines = (
        _line(rule, [name for name, own in rules.items() if rule.name in {one.name for one in own}], len(rules))
        for rule in _all(rules.values())
    )
    return with_table(page, "rules", "\n".join([*head, *lines]))


def _all(rules: Iterable[Sequence[Rule]]) -> list[Rule]:
    """Merge the rules of experiments; rules of a single experiment keep their place in its order."""
    merged: list[Rule] = []
    for own in rules:
        place = 0
        for rule in own:
            names = [one.name for one in merged]
            if rule.name in names:
                place = names.index(rule.name) + 1
            else:
                merged.insert(place, rule)
                place += 1
    return merged


def _line(rule: Rule, experiments: Sequence[str], of: int) -> str:
    allowed = f"{percent(rule.threshold)}{rule.unit.removeprefix('%')}"
    spoils = "every figure" if rule.spoils == EVERYTHING else ", ".join(_FIGURES[one] for one in sorted(rule.spoils))
    used_by = "all" if len(experiments) == of else ", ".join(sorted(experiments))
    return f"| `{rule.name}` | {rule.meaning} | {allowed} | `{rule.verdict}` | {spoils} | {used_by} |"
